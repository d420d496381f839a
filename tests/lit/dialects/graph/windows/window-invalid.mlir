// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the operand must be [N, C, spatial...] with 0 spatial axes, found [2, 8]
func.func @rank(%x: tensor<2x8xf32>) {
  %0 = graph.max_pool %x {kernel = array<i64>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return
}

// -----

// CHECK: pads has 1 values for 1 spatial axes, expected 2
func.func @pads(%x: tensor<1x2x8xf32>) {
  %0 = graph.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// CHECK: strides, dilations and kernel sizes must be positive
func.func @stride(%x: tensor<1x2x8xf32>) {
  %0 = graph.max_pool %x {kernel = array<i64: 2>, strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// CHECK: x must be a tensor of floats, found tensor<1x2x8xi32>
func.func @type(%x: tensor<1x2x8xi32>) {
  %0 = graph.average_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xi32>) -> tensor<1x2x4xi32>
  func.return
}

// -----

// CHECK: p must be at least 1, found 0
func.func @p(%x: tensor<1x2x8xf32>) {
  %0 = graph.lp_pool %x {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, p = 0} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  func.return
}

// -----

// Positions in a blocked tensor are none in the plain one.
// CHECK: the operand must be [N, C, spatial...] with 1 spatial axes, found [1, 2, 8, 4]
func.func @blocked_indices(%x: tensor<1x2x8x4xf32>) {
  %0 = graph.max_pool_indices %x {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8x4xf32>) -> tensor<1x2x4x4xi64>
  func.return
}
