// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 1 indices for a buffer of rank 2
func.func @indices(%x: memref<4x10xi8>, %i: index) {
  %a = aot.word_load %x[%i] : memref<4x10xi8>
  func.return
}

// -----

// CHECK: words are made of bytes, found i16
func.func @elements(%x: memref<10xi16>, %i: index) {
  %a = aot.word_load %x[%i] : memref<10xi16>
  func.return
}

// -----

// CHECK: the shift must be 25 to 47, found 48
func.func @great_shift(%x: i32) {
  %a = aot.round_product %x, %x, %x, 48
  func.return
}

// -----

// CHECK: the shift must be 25 to 47, found 24
func.func @small_shift(%x: i32) {
  %a = aot.round_product %x, %x, %x, 24
  func.return
}

// -----

// CHECK: a run has 1 to 8 bytes, found 9
func.func @run(%x: memref<10xi8>, %i: index, %s: i32) {
  %a = aot.run_dot %x[%i], %x[%i], %s {count = 9, added = 0} : memref<10xi8>, memref<10xi8>
  func.return
}

// -----

// CHECK: 32600 and a byte do not fit 16 bits
func.func @added(%x: memref<10xi8>, %i: index, %s: i32) {
  %a = aot.run_dot %x[%i], %x[%i], %s {count = 8, added = 32600} : memref<10xi8>, memref<10xi8>
  func.return
}

// -----

// CHECK: expected vector<16xi8>, found vector<8xi8>
func.func @lanes(%x: vector<8xi8>, %s: i32) {
  %a = aot.lane_sum %x, %s : vector<8xi8>
  func.return
}

// -----

// CHECK: 4 integers make a vector<4xi32>
func.func @quad(%s: i32) {
  %a = aot.quad %s, %s : vector<4xi32>
  func.return
}

// -----

// CHECK: -1 and 255 are not bounds within 0 to 255
func.func @bounds(%x: vector<4xf32>) {
  %a = aot.quad_quantize %x {zero_point = 0, low = -1, high = 255, zero_extend} : vector<4xf32> -> vector<4xi8>
  func.return
}

// -----

// CHECK: four f32 become integers of 8 or 16 bits
func.func @quantized(%x: vector<4xf32>) {
  %a = aot.quad_quantize %x {zero_point = 0, low = 0, high = 255} : vector<4xf32> -> vector<4xi32>
  func.return
}
