// RUN: aotc-opt %s -p 'fuse-elementwise{most-operations=3}' | filecheck %s
// RUN: aotc-opt %s -p 'fuse-elementwise{most-buffers=3}' | filecheck %s --check-prefix FEW

// A chain of five operations is two kernels where one may have three. One sum of two tensors after another has as many
// buffers as the option says, its result among them; a number that stands in the kernel is none.
// CHECK-LABEL: func.func @main
// CHECK:         graph.fused
// CHECK-COUNT-2:   graph.neg
// CHECK-NEXT:      graph.yield
// CHECK:         graph.fused
// CHECK-COUNT-3:   graph.neg
// CHECK-NEXT:      graph.yield
// FEW-LABEL:   func.func @main
// FEW-NEXT:      graph.fused
// FEW-COUNT-5:     graph.neg
// FEW:         func.func @sum
// FEW-NEXT:      graph.add
// FEW-NEXT:      graph.add
// FEW-NEXT:      func.return
// FEW:         func.func @number
// FEW-NEXT:      graph.constant
// FEW-NEXT:      graph.fused
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = graph.neg %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.neg %2 : (tensor<4xf32>) -> tensor<4xf32>
  %4 = graph.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}
func.func @sum(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = graph.add %0, %z : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
func.func @number(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %c = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.mul %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
