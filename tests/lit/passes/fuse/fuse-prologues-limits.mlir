// RUN: aotc-opt %s -p 'fuse-prologues{most-operations=3}' --split-input-file | filecheck %s

// A group of two operations takes in one more, by what its outputs read: %z is an operand that nothing in it reads.
// CHECK-LABEL: func.func @group
// CHECK:         [[R:%.*]] = graph.exp %r
// CHECK:         graph.fused
// CHECK:           graph.exp
// CHECK:           graph.matmul
// CHECK:           graph.add
// CHECK:           graph.yield
func.func @group(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %r: tensor<2x4xf32>, %z: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {aot.entry} {
  %0 = graph.exp %r : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.fused (%a = %x : tensor<2x8xf32>, %b = %w : tensor<8x4xf32>, %c = %1 : tensor<2x4xf32>, %d = %z : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %3 = graph.matmul %a, %b : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
    %4 = graph.add %3, %c : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.yield %4 : tensor<2x4xf32>
  }
  func.return %2 : tensor<2x4xf32>
}

// -----

// One operand may be fused where the other is what another kernel computes. A result that nobody reads is none of the
// group's.
// CHECK-LABEL: func.func @one
// CHECK:         [[S:%.*]] = graph.softmax %x
// CHECK:         graph.fused
// CHECK:           graph.dequantize
// CHECK:           graph.matmul
// CHECK:         graph.fused {{.*}} -> (tensor<4x2xf32>) {
// CHECK:           graph.relu
// CHECK:           graph.top_k
func.func @one(%x: tensor<2x8xf32>, %q: tensor<8x4xi8>, %y: tensor<4x8xf32>) -> (tensor<2x4xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = graph.dequantize %q, %s {to = f32} : (tensor<8x4xi8>, tensor<f32>) -> tensor<8x4xf32>
  %2 = graph.matmul %0, %1 : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %3 = graph.relu %y : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4, %5 = graph.top_k %3 {k = 2, axis = 1} : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  func.return %2, %4 : tensor<2x4xf32>, tensor<4x2xf32>
}

// -----

// A view is no part of a group.
// CHECK-LABEL: func.func @view
// CHECK-NOT:     graph.fused
func.func @view(%x: tensor<2x8xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.reshape %x {shape = array<i64: 4, 4>} : (tensor<2x8xf32>) -> tensor<4x4xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
