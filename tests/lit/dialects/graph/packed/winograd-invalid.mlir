// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: weight must be [M, C, taps > 0, taps.. > 0] of floats, found tensor<8x4xf32>
func.func @taps(%w: tensor<8x4xf32>) {
  %0 = graph.winograd_weight %w {output_tile = 4, width = 8} : (tensor<8x4xf32>) -> tensor<1x36x4x8xf32>
  func.return
}

// -----

// CHECK: some of the last 2 axes are in tiles, of 3 axes found [0, 1, 2]
func.func @three(%w: tensor<8x4x3x3x3xf32>) {
  %0 = graph.winograd_weight %w {output_tile = 4, width = 8} : (tensor<8x4x3x3x3xf32>) -> tensor<1x216x4x8xf32>
  func.return
}

// -----

// CHECK: some of the last 2 axes are in tiles, of 2 axes found []
func.func @no_axis(%w: tensor<8x4x3x3xf32>) {
  %0 = graph.winograd_weight %w {output_tile = 4, tiled_axes = array<i64>, width = 8} : (tensor<8x4x3x3xf32>) -> tensor<1x1x36x8xf32>
  func.return
}

// -----

// CHECK: axis 0 is in tiles, which takes stride 1, or 2 of integers, and dilation 1
func.func @stride(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x2x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: axis 1 is in tiles, which takes stride 1, or 2 of integers, and dilation 1
func.func @dilation(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {dilations = array<i64: 1, 2>, pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x4x2x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: axis 1 is in tiles, which takes stride 1, or 2 of integers, and dilation 1
func.func @three_apart(%x: tensor<1x1x4x7x4xi8>, %w: tensor<1x1x3x3x2x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {strides = array<i64: 2, 3>, pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x7x4xi8>, tensor<1x1x3x3x2x8xi8>) -> (tensor<1x1x2x3x4xi32>, tensor<20x3x4xi16>, tensor<20x3x4xi32>, tensor<16x4x8xi16>)
  func.return
}

// -----

// CHECK: windows of 8-bit integers have 3 x 3 taps, and both axes are in tiles
func.func @wide(%x: tensor<1x1x4x4x4xi8>, %w: tensor<1x1x3x3x2x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {kernel = array<i64: 3, 5>, pads = array<i64: 1, 2, 1, 2>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xi8>, tensor<1x1x3x3x2x8xi8>) -> (tensor<1x1x4x4x4xi32>, tensor<16x3x4xi16>, tensor<16x3x4xi32>, tensor<16x4x8xi16>)
  func.return
}

// -----

// CHECK: the output tile is one of 2, 4, found 6
func.func @size(%w: tensor<8x4x3x3xf32>) {
  %0 = graph.winograd_weight %w {output_tile = 6, width = 8} : (tensor<8x4x3x3xf32>) -> tensor<1x64x4x8xf32>
  func.return
}

// -----

// CHECK: weight must be [M, C, taps > 0, taps.. > 0] of floats, found tensor<8x4x3x3xi32>
func.func @integers(%w: tensor<8x4x3x3xi32>) {
  %0 = graph.winograd_weight %w {output_tile = 4, width = 8} : (tensor<8x4x3x3xi32>) -> tensor<1x36x4x8xi32>
  func.return
}

// -----

// CHECK: 5 channels do not fit operand [1, 1, 4, 4, 4], weight [1, 16, 5, 4]
func.func @channels(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x5x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 5, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xf32>, tensor<1x16x5x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: 4 output channels in blocks of 4 do not fit weight [1, 16, 4, 6]
func.func @panel(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x6xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x6xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x6xf32>)
  func.return
}

// -----

// CHECK: a window of 3 with dilation 1 spans 3 elements, the padded operand has 2
func.func @window(%x: tensor<1x1x2x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 0, 1, 0, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x2x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x0x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: 2 rows of tiles and 1 panels are not in 3 and 1 parts
func.func @row_parts(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1, row_parts = 3} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<48x3x4xf32>, tensor<48x3x4xf32>)
  func.return
}

// -----

// CHECK: 2 rows of tiles and 1 panels are not in 1 and 2 parts
func.func @panel_parts(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1, panel_parts = 2} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<32x3x4xf32>, tensor<32x3x4xf32>)
  func.return
}

// -----

// CHECK: 2 rows of tiles and 1 panels are not in 0 and 1 parts
func.func @no_parts(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1, row_parts = 0} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: result type is tensor<16x3x4xf32>, operands and attributes give tensor<32x3x4xf32>
func.func @shared_scratch(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x16x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1, row_parts = 2} : (tensor<1x1x4x4x4xf32>, tensor<1x16x4x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<16x3x4xf32>, tensor<16x3x4xf32>)
  func.return
}

// -----

// CHECK: weight and bias of 8-bit integers are i8 and i32, found ui8, i16
func.func @words(%x: tensor<1x1x4x4x4xui8>, %w: tensor<1x1x3x3x2x8xi16>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xui8>, tensor<1x1x3x3x2x8xi16>) -> (tensor<1x1x4x4x4xi32>, tensor<16x3x4xi16>, tensor<16x3x4xi32>, tensor<16x4x8xi16>)
  func.return
}

// -----

// CHECK: weight and bias of 8-bit integers are i8 and i32, found ui8, i8, i64
func.func @long_bias(%x: tensor<1x1x4x4x4xui8>, %w: tensor<1x1x3x3x2x8xi8>, %b: tensor<4xi64>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w, %b {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xui8>, tensor<1x1x3x3x2x8xi8>, tensor<4xi64>) -> (tensor<1x1x4x4x4xi32>, tensor<16x3x4xi16>, tensor<16x3x4xi32>, tensor<16x4x8xi16>)
  func.return
}

// -----

// CHECK: blocks of 1 channels are not pairs
func.func @single(%x: tensor<1x4x4x4x1xi8>, %w: tensor<1x1x3x3x2x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x4x4x4x1xi8>, tensor<1x1x3x3x2x8xi8>) -> (tensor<1x4x4x4x1xi32>, tensor<16x3x5xi16>, tensor<16x3x4xi32>, tensor<16x4x8xi16>)
  func.return
}

// -----

// CHECK: sums of 31 bits are not known to fit 30, which these tiles are exact for
func.func @many(%x: tensor<1x457x4x4x4xi8>, %w: tensor<1x1x3x3x914x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 1828, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x457x4x4x4xi8>, tensor<1x1x3x3x914x8xi8>) -> (tensor<1x1x4x4x4xi32>, tensor<16x3x1828xi16>, tensor<16x3x4xi32>, tensor<16x916x8xi16>)
  func.return
}

// -----

// CHECK: sums of 27 bits are not known to fit 26, which these tiles are exact for
func.func @many_in_large_tiles(%x: tensor<1x29x4x4x4xi8>, %w: tensor<1x1x3x3x58x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 116, outputs = 4, output_tile = 4, tile_rows = 1} : (tensor<1x29x4x4x4xi8>, tensor<1x1x3x3x58x8xi8>) -> (tensor<1x1x4x4x4xi32>, tensor<36x1x116xi16>, tensor<36x1x4xi32>, tensor<36x60x8xi16>)
  func.return
}

// -----

// CHECK: sums of 28 bits are not known to fit 26, which these tiles are exact for
func.func @wide(%x: tensor<1x1x4x4x4xi8>, %w: tensor<1x1x3x3x2x8xi8>) {
  %0, %1, %2, %3 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, sum_bits = 28, output_tile = 4, tile_rows = 1} : (tensor<1x1x4x4x4xi8>, tensor<1x1x3x3x2x8xi8>) -> (tensor<1x1x4x4x4xi32>, tensor<36x1x4xi16>, tensor<36x1x4xi32>, tensor<36x4x8xi16>)
  func.return
}

// -----

// CHECK: there is a scratch buffer of filters where x is of integers, and only there
func.func @unbuffered(%x: tensor<1x1x4x4x4xi8>, %w: tensor<1x1x3x3x2x8xi8>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 2, tile_rows = 1} : (tensor<1x1x4x4x4xi8>, tensor<1x1x3x3x2x8xi8>) -> (tensor<1x1x4x4x4xi32>, tensor<16x3x4xi16>, tensor<16x3x4xi32>)
  func.return
}
