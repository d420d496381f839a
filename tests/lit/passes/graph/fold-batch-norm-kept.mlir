// RUN: aotc-opt %s -p fold-batch-norm | filecheck %s

// Offsets that differ along the columns are no bias.
// CHECK-LABEL: func.func @columns
// CHECK:         graph.conv %x, %w {
// CHECK:         graph.add
func.func @columns(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> attributes {aot.entry} {
  %w = graph.constant dense<[[[[2.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.add %0, %c : (tensor<1x2x4x4xf32>, tensor<4xf32>) -> tensor<1x2x4x4xf32>
  func.return %1 : tensor<1x2x4x4xf32>
}

// A factor is not known to what is added at run time, or merged with what is.
// CHECK-LABEL: func.func @run_time
// CHECK:         graph.matmul %x, %w
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.mul
func.func @run_time(%x: tensor<4x2xf32>, %b: tensor<2xf32>) -> tensor<4x2xf32> attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %f = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = graph.mul %1, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = graph.mul %2, %f : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %3 : tensor<4x2xf32>
}
// CHECK-LABEL: func.func @added
// CHECK:         graph.matmul %x, %w
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.mul
func.func @added(%x: tensor<4x2xf32>, %b: tensor<2xf32>) -> tensor<4x2xf32> attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %f = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = graph.mul %1, %f : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %2 : tensor<4x2xf32>
}
