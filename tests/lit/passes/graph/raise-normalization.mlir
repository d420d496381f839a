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

// -----

// The mean of something else; f16, which sums in f32 elsewhere; an epsilon for each row, and one that adds an axis.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.normalize
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %h: tensor<4x8xf16>) -> (tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>, tensor<1x4x8xf32>) attributes {aot.entry} {
  %rows = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %ones = graph.constant dense<1.0> : tensor<1x1x1xf32>
  %other = graph.reduce %y {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %far = graph.sub %x, %other : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %far_square = graph.mul %far, %far : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %far_variance = graph.reduce %far_square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %far_root = graph.sqrt %far_variance : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = graph.div %far, %far_root : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %half_mean = graph.reduce %h {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %half = graph.sub %h, %half_mean : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
  %half_square = graph.mul %half, %half : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  %half_variance = graph.reduce %half_square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %half_root = graph.sqrt %half_variance : (tensor<4x1xf16>) -> tensor<4x1xf16>
  %1 = graph.div %half, %half_root : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %distance = graph.sub %x, %mean : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %square = graph.mul %distance, %distance : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %variance = graph.reduce %square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %by_row = graph.add %variance, %rows : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %root = graph.sqrt %by_row : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = graph.div %distance, %root : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %wide = graph.add %variance, %ones : (tensor<4x1xf32>, tensor<1x1x1xf32>) -> tensor<1x4x1xf32>
  %wide_root = graph.sqrt %wide : (tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %3 = graph.div %distance, %wide_root : (tensor<4x8xf32>, tensor<1x4x1xf32>) -> tensor<1x4x8xf32>
  func.return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xf16>, tensor<4x8xf32>, tensor<1x4x8xf32>
}

// -----

// Cubes; a power of something else; sums where means belong; means that lie along the wrong axis; none at all.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.normalize
func.func @main(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %two = graph.constant dense<2.0> : tensor<f32>
  %three = graph.constant dense<3.0> : tensor<f32>
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %distance = graph.sub %x, %mean : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %cube = graph.pow %distance, %three : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %cubes = graph.reduce %cube {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %root = graph.sqrt %cubes : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = graph.div %distance, %root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %power = graph.pow %x, %two : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %powers = graph.reduce %power {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %power_root = graph.sqrt %powers : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %1 = graph.div %distance, %power_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %sum = graph.reduce %x {kind = "sum", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %far = graph.sub %x, %sum : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %far_square = graph.mul %far, %far : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %far_sum = graph.reduce %far_square {kind = "sum", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %far_root = graph.sqrt %far_sum : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = graph.div %far, %far_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %row_mean = graph.reduce %x {kind = "mean", axes = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %across = graph.sub %x, %row_mean : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %across_square = graph.mul %across, %across : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %across_mean = graph.reduce %across_square {kind = "mean", axes = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  %across_root = graph.sqrt %across_mean : (tensor<4xf32>) -> tensor<4xf32>
  %3 = graph.div %across, %across_root : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %same = graph.reduce %x {kind = "mean", axes = array<i64>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %zeros = graph.sub %x, %same : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %zero_square = graph.mul %zeros, %zeros : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %zero_mean = graph.reduce %zero_square {kind = "mean", axes = array<i64>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %zero_root = graph.sqrt %zero_mean : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = graph.div %zeros, %zero_root : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %0, %1, %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// No distances from a mean, or no root; the root of what is no mean, or with an epsilon that is known at run time only;
// a product of something else and the distances, and powers that differ, or are known at run time only.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.normalize
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x1xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %epsilon = graph.constant dense<0.25> : tensor<f32>
  %powers = graph.constant dense<[2.0, 3.0, 2.0, 2.0]> : tensor<4xf32>
  %mean = graph.reduce %x {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %distance = graph.sub %x, %mean : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %square = graph.mul %distance, %distance : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %variance = graph.reduce %square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %root = graph.sqrt %variance : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %0 = graph.div %x, %root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %1 = graph.div %distance, %variance : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %given = graph.add %y, %epsilon : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32>
  %given_root = graph.sqrt %given : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %2 = graph.div %distance, %given_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %open = graph.add %variance, %y : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  %open_root = graph.sqrt %open : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %3 = graph.div %distance, %open_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %product = graph.mul %x, %distance : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %covariance = graph.reduce %product {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %covariance_root = graph.sqrt %covariance : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %4 = graph.div %distance, %covariance_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %mixed = graph.pow %distance, %powers : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %mixed_mean = graph.reduce %mixed {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %mixed_root = graph.sqrt %mixed_mean : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %5 = graph.div %distance, %mixed_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %power = graph.pow %distance, %y : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %power_mean = graph.reduce %power {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %power_root = graph.sqrt %power_mean : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = graph.div %distance, %power_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %far = graph.sub %x, %y : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  %far_square = graph.mul %far, %far : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %far_mean = graph.reduce %far_square {kind = "mean", axes = array<i64: 1>, keepdims = true} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  %far_root = graph.sqrt %far_mean : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %7 = graph.div %far, %far_root : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  func.return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
