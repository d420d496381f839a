// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be a tensor of integers of 8 bits, found tensor<7xf32>
func.func @flip(%m: tensor<7xf32>) {
  %0 = graph.flip_sign %m : (tensor<7xf32>) -> tensor<7xf32>
  func.return
}

// -----

// CHECK: weight must be [M, C, kernel..] of integers, found tensor<8x4xf32>
func.func @bias_of_floats(%k: tensor<8x4xf32>) {
  %0 = graph.zero_point_bias %k {zero_point = 3 : i64, extents = array<i64>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x4xf32>) -> tensor<8xi32>
  func.return
}

// -----

// CHECK: bias must be [8] of i32, found tensor<4xi32>
func.func @bias_of_channels(%k: tensor<8x4xi8>, %b: tensor<4xi32>) {
  %0 = graph.zero_point_bias %k, %b {zero_point = 3 : i64, extents = array<i64>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x4xi8>, tensor<4xi32>) -> tensor<8xi32>
  func.return
}

// -----

// CHECK: the bias has 2 cases along an axis of 3
func.func @cases(%x: tensor<1x1x8x16xui8>, %w: tensor<1x1x3x4x64xi8>, %t: tensor<2x16xi32>) {
  %0 = graph.blocked_dot_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, channels = 16 : i64, outputs = 16 : i64, block = 16 : i64} : (tensor<1x1x8x16xui8>, tensor<1x1x3x4x64xi8>, tensor<2x16xi32>) -> tensor<1x1x8x16xi32>
  func.return
}

// -----

// CHECK: weight must be a tensor of i8, found tensor<1x1x3x4x64xui8>
func.func @unsigned_weight(%x: tensor<1x1x8x16xui8>, %w: tensor<1x1x3x4x64xui8>, %t: tensor<3x16xi32>) {
  %0 = graph.blocked_dot_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, channels = 16 : i64, outputs = 16 : i64, block = 16 : i64} : (tensor<1x1x8x16xui8>, tensor<1x1x3x4x64xui8>, tensor<3x16xi32>) -> tensor<1x1x8x16xi32>
  func.return
}

// -----

// CHECK: weight must be [1, kernel.., 16] of i8, found tensor<2x3x16xi8>
func.func @blocks(%x: tensor<1x1x8x16xui8>, %w: tensor<2x3x16xi8>, %t: tensor<1x16xi32>) {
  %0 = graph.blocked_pair_depthwise_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x8x16xui8>, tensor<2x3x16xi8>, tensor<1x16xi32>) -> tensor<1x1x6x16xi32>
  func.return
}

// -----

// CHECK: x must be [N, blocks, H, spatial.., B] of integers of 8 bits, found tensor<1x8x16xui8>
func.func @axes(%x: tensor<1x8x16xui8>, %w: tensor<8x16xi8>, %t: tensor<16xi32>) {
  %0 = graph.blocked_pair_depthwise_conv %x, %w, %t {strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<1x8x16xui8>, tensor<8x16xi8>, tensor<16xi32>) -> tensor<1x8x16xi32>
  func.return
}

// -----

// CHECK: weight must be [1, kernel.., 16] of i8, found tensor<1x3x16xi16>
func.func @wide_weight(%x: tensor<1x1x8x16xi8>, %w: tensor<1x3x16xi16>, %t: tensor<1x16xi32>) {
  %0 = graph.blocked_pair_depthwise_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x8x16xi8>, tensor<1x3x16xi16>, tensor<1x16xi32>) -> tensor<1x1x6x16xi32>
  func.return
}

// -----

// CHECK: weight must be [1, kernel.., 2, 64], found tensor<1x1x64xi8>
func.func @taps(%x: tensor<1x1x8x16xui8>, %w: tensor<1x1x64xi8>, %t: tensor<1x16xi32>) {
  %0 = graph.blocked_dot_depthwise_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, taps_across = 5 : i64} : (tensor<1x1x8x16xui8>, tensor<1x1x64xi8>, tensor<1x16xi32>) -> tensor<1x1x4x16xi32>
  func.return
}

// -----

// CHECK: [5, 30] and panels [1, 7, 128] of 32 columns do not multiply
func.func @panels(%r: tensor<5x30xui8>, %p: tensor<1x7x128xi8>, %b: tensor<32xi32>) {
  %0 = graph.packed_dot_matmul %r, %p, %b : (tensor<5x30xui8>, tensor<1x7x128xi8>, tensor<32xi32>) -> tensor<5x32xi32>
  func.return
}

// -----

// CHECK: stride must be at least 1, found 0
func.func @no_stride(%x: tensor<1x2x9xui8>) {
  %0 = graph.unfold_taps %x {size = 3 : i64, stride = 0 : i64, before = 0 : i64, after = 0 : i64, fill = 0 : i64} : (tensor<1x2x9xui8>) -> tensor<1x1x7x8xui8>
  func.return
}

// -----

// CHECK: -1 is not a ui8
func.func @fill(%x: tensor<1x2x9xui8>) {
  %0 = graph.unfold_taps %x {size = 3 : i64, stride = 1 : i64, before = 0 : i64, after = 0 : i64, fill = -1 : i64} : (tensor<1x2x9xui8>) -> tensor<1x1x7x8xui8>
  func.return
}

// -----

// CHECK: x must be [N, C, spatial.., W] of integers of 8 bits, found tensor<1x9xui8>
func.func @no_axes(%x: tensor<1x9xui8>) {
  %0 = graph.unfold_taps %x {size = 3 : i64, stride = 1 : i64, before = 0 : i64, after = 0 : i64, fill = 0 : i64} : (tensor<1x9xui8>) -> tensor<1x1x7x8xui8>
  func.return
}

// -----

// CHECK: complements are of signed integers, found ui8
func.func @complements_without_sign(%x: tensor<1x1x8x16xui8>, %w: tensor<1x1x3x4x64xi8>, %t: tensor<1x16xi32>) {
  %0 = graph.blocked_dot_conv %x, %w, %t {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, channels = 16 : i64, outputs = 16 : i64, block = 16 : i64, complement} : (tensor<1x1x8x16xui8>, tensor<1x1x3x4x64xi8>, tensor<1x16xi32>) -> tensor<1x1x8x16xi32>
  func.return
}

// -----

// CHECK: complements are of signed integers, found ui8
func.func @product_of_complements_without_sign(%x: tensor<5x30xui8>, %w: tensor<1x8x128xi8>, %b: tensor<32xi32>) {
  %0 = graph.packed_dot_matmul %x, %w, %b {complement} : (tensor<5x30xui8>, tensor<1x8x128xi8>, tensor<32xi32>) -> tensor<5x32xi32>
  func.return
}

// -----

// CHECK: weight must be [panels, steps, .., width] of i8, found tensor<2x4x32xui8>
func.func @types(%w: tensor<2x4x32xui8>, %b: tensor<16xi32>) {
  %0, %1, %2, %3 = graph.pair_steps %w, %b {pitches = array<i64: 4>} : (tensor<2x4x32xui8>, tensor<16xi32>) -> (tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<16xi32>)
  func.return
}

// -----

// CHECK: a weight [2, 4, 32] with pitches [4, 4]
func.func @pitches(%w: tensor<2x4x32xi8>, %b: tensor<16xi32>) {
  %0, %1, %2, %3 = graph.pair_steps %w, %b {pitches = array<i64: 4, 4>} : (tensor<2x4x32xi8>, tensor<16xi32>) -> (tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<16xi32>)
  func.return
}

// -----

// CHECK: start must be [16] of i32, found tensor<8xi32>
func.func @start(%w: tensor<2x4x32xi8>, %b: tensor<8xi32>) {
  %0, %1, %2, %3 = graph.pair_steps %w, %b {pitches = array<i64: 4>} : (tensor<2x4x32xi8>, tensor<8xi32>) -> (tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<8xi32>)
  func.return
}

// -----

// CHECK: x must be [N, blocks, spatial.., B] of integers of 8 bits, found tensor<1x2x9x8xi16>
func.func @operands(%x: tensor<1x2x9x8xi16>, %w: tensor<2x4x32xi8>, %p: tensor<2x4xi32>, %c: tensor<2x2xi32>, %b: tensor<16xi32>) {
  %0 = graph.paired_dot_conv %x, %w, %p, %c, %b {strides = array<i64: 1>, extents = array<i64: 9>, products = 16 : i64} : (tensor<1x2x9x8xi16>, tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<16xi32>) -> tensor<1x2x9x8xi32>
  func.return
}

// -----

// CHECK: operand [1, 2, 9, 8] and weight [2, 4, 32] do not fit [9, 1]
func.func @axes(%x: tensor<1x2x9x8xi8>, %w: tensor<2x4x32xi8>, %p: tensor<2x4xi32>, %c: tensor<2x2xi32>, %b: tensor<16xi32>) {
  %0 = graph.paired_dot_conv %x, %w, %p, %c, %b {strides = array<i64: 1>, extents = array<i64: 9, 1>, products = 16 : i64} : (tensor<1x2x9x8xi8>, tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<16xi32>) -> tensor<1x2x9x8xi32>
  func.return
}

// -----

// CHECK: places must be [2, 4] of i32, found tensor<2x3xi32>
func.func @tables(%x: tensor<1x2x9x8xi8>, %w: tensor<2x4x32xi8>, %p: tensor<2x3xi32>, %c: tensor<2x2xi32>, %b: tensor<16xi32>) {
  %0 = graph.paired_dot_conv %x, %w, %p, %c, %b {strides = array<i64: 1>, extents = array<i64: 9>, products = 16 : i64} : (tensor<1x2x9x8xi8>, tensor<2x4x32xi8>, tensor<2x3xi32>, tensor<2x2xi32>, tensor<16xi32>) -> tensor<1x2x9x8xi32>
  func.return
}

// -----

// CHECK: 5 positions with stride 2 do not fit an extent of 8
func.func @positions(%x: tensor<1x2x8x8xi8>, %w: tensor<2x4x32xi8>, %p: tensor<2x4xi32>, %c: tensor<2x2xi32>, %b: tensor<16xi32>) {
  %0 = graph.paired_dot_conv %x, %w, %p, %c, %b {strides = array<i64: 2>, extents = array<i64: 5>, products = 16 : i64} : (tensor<1x2x8x8xi8>, tensor<2x4x32xi8>, tensor<2x4xi32>, tensor<2x2xi32>, tensor<16xi32>) -> tensor<1x2x5x8xi32>
  func.return
}
