// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 4 channels, but the weight takes 3 in each of 1 group(s)
func.func @channels(%x: tensor<1x4x8xf32>, %w: tensor<2x3x3xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x8xf32>, tensor<2x3x3xf32>) -> tensor<1x2x6xf32>
  func.return
}

// -----

// CHECK: a window of 3 with dilation 4 spans 9 elements, the padded operand has 8
func.func @span(%x: tensor<1x3x8xf32>, %w: tensor<2x3x3xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 4>, group = 1} : (tensor<1x3x8xf32>, tensor<2x3x3xf32>) -> tensor<1x2x1xf32>
  func.return
}

// -----

// CHECK: the bias of 2 channels has shape [3]
func.func @bias(%x: tensor<1x3x8xf32>, %w: tensor<2x3x3xf32>, %b: tensor<3xf32>) {
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x3x8xf32>, tensor<2x3x3xf32>, tensor<3xf32>) -> tensor<1x2x6xf32>
  func.return
}

// -----

// CHECK: strides has 2 values for 1 spatial axes, expected 1
func.func @strides(%x: tensor<1x3x8xf32>, %w: tensor<2x3x3xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x3x8xf32>, tensor<2x3x3xf32>) -> tensor<1x2x6xf32>
  func.return
}
