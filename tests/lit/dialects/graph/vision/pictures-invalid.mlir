// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: mode must be nearest, linear or cubic, found "area"
func.func @mode(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x2xf32>) {
  %0 = graph.grid_sample %x, %g {mode = "area", padding = "zeros"} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}

// -----

// CHECK: padding must be zeros, border or reflection, found "wrap"
func.func @padding(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x2xf32>) {
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "wrap"} : (tensor<1x3x8x8xf32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xf32>
  func.return
}

// -----

// CHECK: grid must be [1, o1, o2, 2] of floats, found tensor<1x4x5x3xf32>
func.func @grid(%x: tensor<1x3x8x8xf32>, %g: tensor<1x4x5x3xf32>) {
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x3x8x8xf32>, tensor<1x4x5x3xf32>) -> tensor<1x3x4x5xf32>
  func.return
}

// -----

// CHECK: x must be [N, C, D1, ..] of floats, found tensor<1x3x8x8xi32>
func.func @integers(%x: tensor<1x3x8x8xi32>, %g: tensor<1x4x5x2xf32>) {
  %0 = graph.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x3x8x8xi32>, tensor<1x4x5x2xf32>) -> tensor<1x3x4x5xi32>
  func.return
}

// -----

// CHECK: offsets must be [1, offsets, 7, 7], found tensor<1x8x6x7xf32>
func.func @offsets(%x: tensor<1x3x8x8xf32>, %o: tensor<1x8x6x7xf32>) {
  %1 = graph.deform %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x8x6x7xf32>) -> tensor<1x3x4x7x7xf32>
  func.return
}

// -----

// CHECK: 16 offsets are not for groups of 4 taps that divide 3 channels
func.func @groups(%x: tensor<1x3x8x8xf32>, %o: tensor<1x16x7x7xf32>) {
  %1 = graph.deform %x, %o {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<1x16x7x7xf32>) -> tensor<1x3x4x7x7xf32>
  func.return
}

// -----

// CHECK: rois must be [R, 4], found tensor<5x5xf32>
func.func @regions(%x: tensor<1x3x8x8xf32>, %r: tensor<5x5xf32>, %b: tensor<5xi64>) {
  %2 = graph.roi_align %x, %r, %b {size = array<i64: 2, 2>, scale = 0.5 : f64, ratio = 2} : (tensor<1x3x8x8xf32>, tensor<5x5xf32>, tensor<5xi64>) -> tensor<5x3x2x2xf32>
  func.return
}

// -----

// CHECK: batches must be [5] of integers, found tensor<4xi64>
func.func @batches(%x: tensor<1x3x8x8xf32>, %r: tensor<5x4xf32>, %b: tensor<4xi64>) {
  %2 = graph.roi_align %x, %r, %b {size = array<i64: 2, 2>, scale = 0.5 : f64, ratio = 2} : (tensor<1x3x8x8xf32>, tensor<5x4xf32>, tensor<4xi64>) -> tensor<5x3x2x2xf32>
  func.return
}

// -----

// CHECK: x must be [N, C * 4, 9], found [1, 8, 8]
func.func @columns(%c: tensor<1x8x8xf32>) {
  %4 = graph.fold %c {image = array<i64: 4, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x8xf32>) -> tensor<1x2x4x4xf32>
  func.return
}
