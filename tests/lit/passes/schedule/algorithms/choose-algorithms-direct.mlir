// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s

// What the faster algorithms are not for, in sizes for which they would pay: groups, taps that are apart, few output
// channels, for which lanes of input channels or of positions are faster yet; columns of the left matrix, a matrix for
// each of a batch.

// CHECK-LABEL: func.func @main
// CHECK-NOT:  algorithm
func.func @main(%x: tensor<1x64x56x56xf32>, %y: tensor<1x33x56x88xf32>, %t: tensor<512x400xf32>, %b: tensor<2x400x512xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<64x32x3x3xf32>
  %1 = graph.constant dense<1.0> : tensor<64x64x3x3xf32>
  %2 = graph.constant dense<1.0> : tensor<1x64x3x3xf32>
  %3 = graph.constant dense<1.0> : tensor<512x760xf32>
  %4 = graph.constant dense<1.0> : tensor<2x512x760xf32>
  %5 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<1x64x56x56xf32>, tensor<64x32x3x3xf32>) -> tensor<1x64x56x56xf32>
  %6 = graph.conv %x, %1 {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 2, 2>, group = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x56x56xf32>
  %7 = graph.conv %x, %2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x56x56xf32>, tensor<1x64x3x3xf32>) -> tensor<1x1x56x56xf32>
  %z = graph.constant dense<1.0> : tensor<1x33x3x3xf32>
  %f = graph.conv %y, %z {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x33x56x88xf32>, tensor<1x33x3x3xf32>) -> tensor<1x1x56x88xf32>
  %8 = graph.matmul %t, %3 {transpose_lhs = true} : (tensor<512x400xf32>, tensor<512x760xf32>) -> tensor<400x760xf32>
  %9 = graph.matmul %b, %4 : (tensor<2x400x512xf32>, tensor<2x512x760xf32>) -> tensor<2x400x760xf32>
  func.return
}
