// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: weight must be [M, 2, kernel.., 16], found tensor<3x1x5x16xf32>
func.func @blocks(%x: tensor<1x2x20x16xf32>, %w: tensor<3x1x5x16xf32>) {
  %0 = graph.narrow_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x1x5x16xf32>) -> tensor<1x3x16xf32>
  func.return
}

// -----

// CHECK: bias must be [3], found tensor<4xf32>
func.func @bias(%x: tensor<1x2x20x16xf32>, %w: tensor<3x2x5x16xf32>, %b: tensor<4xf32>) {
  %0 = graph.narrow_conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf32>, tensor<4xf32>) -> tensor<1x3x16xf32>
  func.return
}

// -----

// CHECK: element types differ: f32, f64
func.func @types(%x: tensor<1x2x20x16xf32>, %w: tensor<3x2x5x16xf64>) {
  %0 = graph.narrow_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf64>) -> tensor<1x3x16xf32>
  func.return
}
