// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: the weights must be [90], found [80]
func.func @weights(%x: tensor<1x8x18xi8>, %w: tensor<80xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<80xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: 4 channels do not divide the last axis of [1, 8, 18]
func.func @channels(%x: tensor<1x8x18xi8>, %w: tensor<180xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 4 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<180xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: operand [1, 8, 18] and kernel [3] do not fit
func.func @kernel(%x: tensor<1x8x18xi8>, %w: tensor<30xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, accumulator = i32, kernel_shape = array<i64: 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<30xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: bias must be [5], found tensor<4xi32>
func.func @bias(%l: tensor<3x18xi8>, %w: tensor<90xi8>, %b: tensor<4xi32>) {
  %0 = graph.interleaved_matmul %l, %w, %b {accumulator = i32, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<3x18xi8>, tensor<90xi8>, tensor<4xi32>) -> tensor<3x5xi32>
  func.return
}

// -----

// CHECK: x must be [N, 1, H, spatial.., C], found tensor<1x2x6x7x5xf32>
func.func @blocks(%d: tensor<1x2x6x7x5xf32>, %k: tensor<3x3x5xf32>) {
  %0 = graph.channels_last_depthwise_conv %d, %k {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x6x7x5xf32>, tensor<3x3x5xf32>) -> tensor<1x2x4x5x5xf32>
  func.return
}

// -----

// CHECK: outside is 128, i8 has -128 to 127
func.func @outside(%x: tensor<1x8x18xi8>, %w: tensor<90xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, outside = 128 : i64, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<90xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: outside is a number where integers without a zero point are summed up
func.func @outside_and_zero_point(%x: tensor<1x8x18xi8>, %w: tensor<90xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 1 : i64, outside = 3 : i64, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<90xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: a position has one patch, not one for each group
func.func @patch_of_groups(%x: tensor<1x8x18xi8>, %w: tensor<36xi8>) {
  %0, %1 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, group = 2 : i64, outputs = 4 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<36xi8>) -> (tensor<1x1x6x7x4xi32>, tensor<9xi8>)
  func.return
}

// -----

// CHECK: weights are paired for an even number of integer sums, and without a zero point
func.func @odd(%x: tensor<1x8x18xi8>, %w: tensor<54xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 3 : i64, word = 4 : i64, paired = true} : (tensor<1x8x18xi8>, tensor<54xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: weights are paired for an even number of integer sums, and without a zero point
func.func @zero_point(%x: tensor<1x8x18xi8>, %w: tensor<54xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, w_zero_point = 1 : i64, columns = 2 : i64, word = 4 : i64, paired = true} : (tensor<1x8x18xi8>, tensor<54xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: weights in bytes are i8, found ui8
func.func @unsigned(%x: tensor<1x8x18xi8>, %w: tensor<54xui8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64, paired = true} : (tensor<1x8x18xi8>, tensor<54xui8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: the weights must be [54], found [90]
func.func @pairs(%x: tensor<1x8x18xi8>, %w: tensor<90xi8>) {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64, paired = true} : (tensor<1x8x18xi8>, tensor<90xi8>) -> tensor<1x1x6x7x5xi32>
  func.return
}

// -----

// CHECK: x must be [M, ..] of i8, found tensor<4x3xi4>
func.func @nibbles(%w: tensor<4x3xi4>) {
  %0 = graph.pack_nibbles %w : (tensor<4x3xi4>) -> tensor<2x3xi8>
  func.return
}
