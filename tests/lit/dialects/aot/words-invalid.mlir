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

// CHECK: the shift must be 1 to 60, found 61
func.func @shift(%x: i32) {
  %a = aot.round_product %x, %x, %x, 61
  func.return
}
