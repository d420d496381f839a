// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the kernel has 2 values for 1 spatial axes, expected 1
func.func @rank(%x: tensor<1x2x8x16xf32>, %w: tensor<2x3x3x16xf32>) {
  %0 = graph.blocked_depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<2x3x3x16xf32>) -> tensor<1x2x8x16xf32>
  func.return
}

// -----

// CHECK: weight must be [2, kernel.., 16], found tensor<3x3x16xf32>
func.func @blocks(%x: tensor<1x2x8x16xf32>, %w: tensor<3x3x16xf32>) {
  %0 = graph.blocked_depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<3x3x16xf32>) -> tensor<1x2x8x16xf32>
  func.return
}

// -----

// CHECK: the bias of 2 blocks of 16 has shape [24]
func.func @bias(%x: tensor<1x2x8x16xf32>, %w: tensor<2x3x16xf32>, %b: tensor<24xf32>) {
  %0 = graph.blocked_depthwise_conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<2x3x16xf32>, tensor<24xf32>) -> tensor<1x2x8x16xf32>
  func.return
}

// -----

// CHECK: element types differ: f32, f64
func.func @types(%x: tensor<1x2x8x16xf32>, %w: tensor<2x3x16xf64>) {
  %0 = graph.blocked_depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<2x3x16xf64>) -> tensor<1x2x8x16xf32>
  func.return
}

// -----

// CHECK: weight must be [inputs > 0, 2, kernel.., 16], found tensor<2x3x16xf32>
func.func @inputs(%x: tensor<1x2x8x16xf32>, %w: tensor<2x3x16xf32>) {
  %0 = graph.blocked_lanes_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<2x3x16xf32>) -> tensor<1x2x8x16xf32>
  func.return
}

// -----

// CHECK: groups of 3 channels do not divide blocks of 16
func.func @groups(%x: tensor<1x2x8x16xf32>, %w: tensor<3x2x3x16xf32>) {
  %0 = graph.blocked_lanes_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8x16xf32>, tensor<3x2x3x16xf32>) -> tensor<1x2x8x16xf32>
  func.return
}
