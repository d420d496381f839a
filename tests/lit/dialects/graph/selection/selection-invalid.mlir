// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be a matrix, found [3, 4, 2]
func.func @rank(%x: tensor<3x4x2xf32>) {
  %2, %3, %4, %5 = graph.unique %x : (tensor<3x4x2xf32>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>)
  func.return
}

// -----

// CHECK: boxes must be [N, B, 4] and scores [N, C, B], found [1, 5, 4] and [1, 3, 6]
func.func @scores(%b: tensor<1x5x4xf32>, %s: tensor<1x3x6xf32>) {
  %6, %7, %8 = graph.suppress %b, %s {limit = 2, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x6xf32>) -> (tensor<6x3xi64>, tensor<i64>, tensor<5xi1>)
  func.return
}

// -----

// CHECK: the limit must be from 0 to 5, found 6
func.func @limit(%b: tensor<1x5x4xf32>, %s: tensor<1x3x5xf32>) {
  %6, %7, %8 = graph.suppress %b, %s {limit = 6, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x5xf32>) -> (tensor<18x3xi64>, tensor<i64>, tensor<5xi1>)
  func.return
}

// -----

// CHECK: grams must be a matrix with a length for each row, found [4, 2] for [2, 9]
func.func @grams(%i: tensor<2x9xi32>, %g: tensor<4x2xi64>, %n: tensor<3xi64>) {
  %9 = graph.count_grams %i, %g, %n {skips = 1} : (tensor<2x9xi32>, tensor<4x2xi64>, tensor<3xi64>) -> tensor<2x4xf32>
  func.return
}
