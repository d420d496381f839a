// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,divide-scratch{threads=2}' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,divide-scratch{threads=1}' | filecheck %s --check-prefix NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,attach-target{target=test-m4},divide-scratch{threads=2}' | filecheck %s --check-prefix NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,attach-target{target=test-wasm},divide-scratch{threads=2}' | filecheck %s --check-prefix NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},divide-scratch{threads=2}' | filecheck %s --check-prefix NONE

// Not without threads, nor vectors, nor a schedule.
// NONE-NOT: _parts

// Fourteen rows of tiles: each thread computes half of them, with all of a weight that is no larger than the cache.

// CHECK-LABEL: func.func @rows
// CHECK:         graph.winograd_conv
// CHECK-SAME:      row_parts = 2 : i64
// CHECK-NOT:       panel_parts
// CHECK-SAME:      -> (tensor<1x8x56x56x8xf32>, tensor<72x29x72xf32>, tensor<72x29x16xf32>)
func.func @rows(%x: tensor<1x8x56x56x8xf32>, %w: tensor<4x36x64x16xf32>) attributes {aot.entry} {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 64 : i64, outputs = 64 : i64, output_tile = 4 : i64, tile_rows = 2 : i64} : (tensor<1x8x56x56x8xf32>, tensor<4x36x64x16xf32>) -> (tensor<1x8x56x56x8xf32>, tensor<36x29x72xf32>, tensor<36x29x16xf32>)
  func.return
}

// Two rows, and a weight of 38 MB, of which each thread reads half.

// CHECK-LABEL: func.func @panels
// CHECK:         graph.winograd_conv
// CHECK-NOT:       row_parts
// CHECK-SAME:      panel_parts = 2 : i64
// CHECK-SAME:      -> (tensor<1x64x7x7x8xf32>, tensor<72x5x520xf32>, tensor<72x5x16xf32>)
func.func @panels(%x: tensor<1x64x7x7x8xf32>, %w: tensor<32x36x512x16xf32>) attributes {aot.entry} {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 512 : i64, outputs = 512 : i64, output_tile = 4 : i64, tile_rows = 2 : i64} : (tensor<1x64x7x7x8xf32>, tensor<32x36x512x16xf32>) -> (tensor<1x64x7x7x8xf32>, tensor<36x5x520xf32>, tensor<36x5x16xf32>)
  func.return
}

// One row and one panel are one part, which threads share loop by loop.

// CHECK-LABEL: func.func @whole
// CHECK:         graph.winograd_conv
// CHECK-NOT:       _parts
// CHECK-SAME:      -> (tensor<1x2x4x4x8xf32>, tensor<36x1x24xf32>, tensor<36x1x16xf32>)
func.func @whole(%x: tensor<1x2x4x4x8xf32>, %w: tensor<1x36x16x16xf32>) attributes {aot.entry} {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 16 : i64, outputs = 16 : i64, output_tile = 4 : i64, tile_rows = 1 : i64} : (tensor<1x2x4x4x8xf32>, tensor<1x36x16x16xf32>) -> (tensor<1x2x4x4x8xf32>, tensor<36x1x24xf32>, tensor<36x1x16xf32>)
  func.return
}

// The rows of a block decide how results of Strassen's algorithm are rounded: they are not divided, but its panels are.

// CHECK-LABEL: func.func @strassen
// CHECK:         graph.strassen_matmul
// CHECK-SAME:      panel_parts = 2 : i64
// CHECK-SAME:      -> (tensor<64x256xf32>, tensor<14x33x144xf32>, tensor<14x33x16xf32>)
func.func @strassen(%x: tensor<64x256xf32>, %w: tensor<8x7x128x16xf32>) attributes {aot.entry} {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 256, left = 128, block_rows = 64} : (tensor<64x256xf32>, tensor<8x7x128x16xf32>) -> (tensor<64x256xf32>, tensor<7x33x144xf32>, tensor<7x33x16xf32>)
  func.return
}

// Of two blocks each thread computes one.

// CHECK-LABEL: func.func @blocks
// CHECK:         graph.strassen_matmul
// CHECK-SAME:      row_parts = 2 : i64
// CHECK-NOT:       panel_parts
// CHECK-SAME:      -> (tensor<127x256xf32>, tensor<14x33x144xf32>, tensor<14x33x16xf32>)
func.func @blocks(%x: tensor<127x256xf32>, %w: tensor<8x7x128x16xf32>) attributes {aot.entry} {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 256, left = 128, block_rows = 64} : (tensor<127x256xf32>, tensor<8x7x128x16xf32>) -> (tensor<127x256xf32>, tensor<7x33x144xf32>, tensor<7x33x16xf32>)
  func.return
}
