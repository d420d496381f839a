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

// CHECK: vaddva.s8 is vector<16xi8>, i32 -> i32, found vector<8xi8>, i32 -> i32
func.func @lanes(%x: vector<8xi8>, %s: i32) {
  %a = aot.instruction "vaddva.s8" %x, %s : vector<8xi8>, i32 -> i32
  func.return
}

// -----

// CHECK: 4 integers make a vector<4xi32>
func.func @quad(%s: i32) {
  %a = aot.quad %s, %s : vector<4xi32>
  func.return
}

// -----

// CHECK: words are made of bytes, found i16
func.func @store(%x: memref<4xi16>, %i: index, %w: i32) {
  aot.word_store %w, %x[%i] : memref<4xi16>
  func.return
}
