// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s

// Small is what has a node of a small form; what is shared, and what has no name, is fast.
// CHECK-LABEL: func.func @forms
// CHECK:      graph.matmul %x, %w {{.*}} rolled
// CHECK-NEXT: graph.matmul %x, %w
// CHECK-NOT:  rolled
// CHECK:      func.return
builtin.module attributes {aot.forms = {small = ["a", "other"], shared = ["b"]}} {
func.func @forms(%x: tensor<6x32xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<32x12xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<6x32xi8>, tensor<32x12xi8>) -> tensor<6x12xi32> loc("a")
  %1 = graph.matmul %x, %w {accumulator = i32} : (tensor<6x32xi8>, tensor<32x12xi8>) -> tensor<6x12xi32> loc("b")
  %2 = graph.matmul %x, %w {accumulator = i32} : (tensor<6x32xi8>, tensor<32x12xi8>) -> tensor<6x12xi32>
  func.return
}
}
