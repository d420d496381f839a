// RUN: aotc-opt %s -p raise-normalization --split-input-file | filecheck %s

// What models write a layer normalisation with is one operation; the affine map after it stays.
// CHECK-LABEL: func.func @main(%x: tensor<4x8xf32>, %scale: tensor<8xf32>)
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    [[ROWS:%.*]] = graph.normalize %x {axes = array<i64: 1>, epsilon = 2.500000e-01 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    graph.mul [[ROWS]], %scale
func.func @main(%x: tensor<4x8xf32>, %scale: tensor<8xf32>) -> tensor<4x8xf32> attributes {aot.entry} {
  %epsilon = graph.constant dense<0.25> : tensor<f32>
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: -1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %distance = graph.sub %x, %mean : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %square = graph.mul %distance, %distance : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %variance = graph.reduce %square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %sum = graph.add %epsilon, %variance : (tensor<f32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %root = graph.sqrt %sum : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %rows = graph.div %distance, %root : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %result = graph.mul %rows, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %result : tensor<4x8xf32>
}

// -----

// A power of 2 is a square, a missing epsilon 0, and several axes are rows, too. What something else reads stays.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    graph.reduce
// CHECK-NEXT:    [[DISTANCE:%.*]] = graph.sub
// CHECK-NEXT:    [[ROWS:%.*]] = graph.normalize %x {axes = array<i64: 1, 2>, epsilon = 0.000000e+00 : f64}
// CHECK-NEXT:    func.return [[ROWS]], [[DISTANCE]]
func.func @main(%x: tensor<2x3x4xf64>) -> (tensor<2x3x4xf64>, tensor<2x3x4xf64>) attributes {aot.entry} {
  %two = graph.constant dense<2.0> : tensor<f64>
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: 1, 2>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x1xf64>
  %distance = graph.sub %x, %mean : (tensor<2x3x4xf64>, tensor<2x1x1xf64>) -> tensor<2x3x4xf64>
  %square = graph.pow %distance, %two : (tensor<2x3x4xf64>, tensor<f64>) -> tensor<2x3x4xf64>
  %variance = graph.reduce %square {kind = "mean", axes = array<i64: 1, 2>, keepdims = true} : (tensor<2x3x4xf64>) -> tensor<2x1x1xf64>
  %root = graph.sqrt %variance : (tensor<2x1x1xf64>) -> tensor<2x1x1xf64>
  %rows = graph.div %distance, %root : (tensor<2x3x4xf64>, tensor<2x1x1xf64>) -> tensor<2x3x4xf64>
  func.return %rows, %distance : tensor<2x3x4xf64>, tensor<2x3x4xf64>
}

// -----

// Not along the same axes, not of the same distances, not a mean.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.normalize
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %distance = graph.sub %x, %mean : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %square = graph.mul %distance, %distance : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %across = graph.reduce %square {kind = "mean", axes = array<i64: 0>, keepdims = true} : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %root_across = graph.sqrt %across : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %0 = graph.div %distance, %root_across : (tensor<4x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  %product = graph.mul %distance, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %covariance = graph.reduce %product {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %root = graph.sqrt %covariance : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %1 = graph.div %distance, %root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %sum = graph.reduce %square {kind = "sum", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %norm = graph.sqrt %sum : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = graph.div %distance, %norm : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  func.return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
