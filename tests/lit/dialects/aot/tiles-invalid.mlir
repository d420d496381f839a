// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: 1 indices for a buffer of rank 2
func.func @indices(%a: memref<8x64xf32>, %i: index) {
  %t = aot.tile_load %a[%i] {strides = array<i64: 1>} : memref<8x64xf32> -> vector<4xf32>
  func.return
}

// -----

// CHECK: a buffer of f32 for a tile of f64
func.func @element(%a: memref<64xf32>, %i: index) {
  %t = aot.tile_load %a[%i] {strides = array<i64: 1>} : memref<64xf32> -> vector<4xf64>
  func.return
}

// -----

// CHECK: 1 strides for a tile of rank 2
func.func @rank(%a: memref<64xf32>, %i: index) {
  %t = aot.tile_load %a[%i] {strides = array<i64: 1>} : memref<64xf32> -> vector<4x4xf32>
  func.return
}

// -----

// CHECK: 9 valid elements in a tile of shape [3, 2, 4]
func.func @valid(%a: memref<64xf32>, %i: index) {
  %t = aot.tile_load %a[%i] {strides = array<i64: 8, 4, 1>, valid = 9 : i64} : memref<64xf32> -> vector<3x2x4xf32>
  func.return
}

// -----

// CHECK: a stride of 0 would store several elements in one place
func.func @store(%a: memref<64xf32>, %i: index, %t: vector<2x4xf32>) {
  aot.tile_store %t, %a[%i] {strides = array<i64: 0, 1>} : vector<2x4xf32>, memref<64xf32>
  func.return
}

// -----

// CHECK: a part of shape [2, 4] at (1,) reaches out of a tile of shape [2, 4]
func.func @part(%t: vector<2x4xf32>) {
  %p = aot.tile_slice %t {offsets = array<i64: 1>, sizes = array<i64: 2>} : vector<2x4xf32> -> vector<2x4xf32>
  func.return
}

// -----

// CHECK: no reduction mean
func.func @reduction(%t: vector<2x4xf32>) {
  %s = aot.tile_reduce "mean" %t : vector<2x4xf32> -> f32
  func.return
}

// -----

// CHECK: 3 lanes are not a power of two
func.func @lanes(%t: vector<2x3xf32>) {
  %s = aot.tile_reduce "add" %t : vector<2x3xf32> -> f32
  func.return
}

// -----

// CHECK: a square of a power of two is transposed, found [2, 4]
func.func @transpose(%t: vector<2x4xf32>) {
  %s = aot.tile_transpose %t : vector<2x4xf32>
  func.return
}

// -----

// CHECK: no comparison less
func.func @comparison(%t: vector<2x4xf32>) {
  %s = aot.tile_compare "less" %t, %t : vector<2x4xf32> -> vector<2x4xi1>
  func.return
}

// -----

// CHECK: the condition has the operands' shape and elements i1
func.func @select(%t: vector<2x4xf32>, %c: vector<4xi1>) {
  %s = aot.tile_select %c, %t, %t : vector<4xi1>, vector<2x4xf32>
  func.return
}

// -----

// CHECK: no conversion round
func.func @conversion(%t: vector<2x4xf32>) {
  %s = aot.tile_convert "round" %t : vector<2x4xf32> -> vector<2x4xi8>
  func.return
}

// -----

// CHECK: no instruction "vldrb.s32" by which contiguous lanes are loaded
func.func @strided_instruction(%x: memref<16xi8>, %i: index) {
  %t = aot.tile_load %x[%i] {strides = array<i64: 2>, instruction = "vldrb.s32"} : memref<16xi8> -> vector<4xi32>
  func.return
}

// -----

// CHECK: no instruction "vldrb.s32" by which contiguous lanes are stored
func.func @loading_store(%x: memref<16xi8>, %i: index, %t: vector<4xi32>) {
  aot.tile_store %t, %x[%i] {strides = array<i64: 1>, instruction = "vldrb.s32"} : vector<4xi32>, memref<16xi8>
  func.return
}

// -----

// CHECK: vldrb.s32 is on s32x4, found vector<8xi32>
func.func @wide_instruction(%x: memref<16xi8>, %i: index) {
  %t = aot.tile_load %x[%i] {strides = array<i64: 1>, instruction = "vldrb.s32"} : memref<16xi8> -> vector<8xi32>
  func.return
}

// -----

// CHECK: a buffer of i16 for a tile of i8
func.func @other_memory(%x: memref<16xi16>, %i: index) {
  %t = aot.tile_load %x[%i] {strides = array<i64: 1>, instruction = "vldrb.s32"} : memref<16xi16> -> vector<4xi32>
  func.return
}
