// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be [n, m], found tensor<3x4x2xf32>
func.func @rank(%x: tensor<3x4x2xf32>) {
  %2, %3, %4, %5 = graph.unique %x : (tensor<3x4x2xf32>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>)
  func.return
}

// -----

// CHECK: scores must be [1, C, 5] of f32, found tensor<1x3x6xf32>
func.func @scores(%b: tensor<1x5x4xf32>, %s: tensor<1x3x6xf32>) {
  %6, %7, %8 = graph.suppress %b, %s {limit = 2, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x6xf32>) -> (tensor<6x3xi64>, tensor<i64>, tensor<5xi64>)
  func.return
}

// -----

// CHECK: limit must be 0 to 5, found 6
func.func @limit(%b: tensor<1x5x4xf32>, %s: tensor<1x3x5xf32>) {
  %6, %7, %8 = graph.suppress %b, %s {limit = 6, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x5xf32>) -> (tensor<18x3xi64>, tensor<i64>, tensor<5xi64>)
  func.return
}

// -----

// CHECK: lengths must be [4] of i64, found tensor<3xi64>
func.func @grams(%i: tensor<2x9xi32>, %g: tensor<4x2xi64>, %n: tensor<3xi64>) {
  %9 = graph.count_grams %i, %g, %n {skips = 1} : (tensor<2x9xi32>, tensor<4x2xi64>, tensor<3xi64>) -> tensor<2x4xf32>
  func.return
}
