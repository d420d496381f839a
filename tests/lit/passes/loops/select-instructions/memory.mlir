// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4f},select-instructions' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions' -t c | filecheck %s --check-prefix=CC
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m55},select-instructions,convert-to-llvm' | filecheck %s --check-prefix=LLVM

// Neighbouring integers are widened as they are loaded, where they were loaded, and narrowed as they are stored.
// CHECK-LABEL: func.func @moved(
// CHECK:         %w = aot.tile_load %x[%c4] {strides = array<i64: 1>, instruction = "vldrb.s32"} : memref<16xi8> -> vector<4xi32>
// CHECK-NEXT:    aot.tile_store %zero, %x[%c4]
// CHECK-NEXT:    %u = aot.tile_load %x[%c4] {strides = array<i64: 1>, valid = 3 : i64, instruction = "vldrb.u32"} : memref<16xi8> -> vector<4xi32>
// CHECK-NEXT:    %s = arith.addi %w, %u : vector<4xi32>
// CHECK-NEXT:    aot.tile_store %s, %y[%c4] {strides = array<i64: 1>, instruction = "vstrh.32"} : vector<4xi32>, memref<16xi16>
// NONE-NOT:      instruction
// CC-LABEL:  apart(int8_t *p);
// CC:          aotc_widened_signed8_u32x4(&x[4])
// CC:          aotc_narrowed16_u32x4(&y[4], w + aotc_widened_unsigned8_first3_u32x4(&x[4]));
// LLVM-LABEL: llvm.func @moved(
// LLVM:         [[X:%.+]] = llvm.load %{{.+}} -> vector<4xi8>
// LLVM-NEXT:    %w = llvm.sext [[X]] : vector<4xi8> to vector<4xi32>
// LLVM:         %u = llvm.zext %{{.+}} : vector<4xi8> to vector<4xi32>
// LLVM:         [[T:%.+]] = llvm.trunc %s : vector<4xi32> to vector<4xi16>
// LLVM:         llvm.store [[T]]
func.func @moved(%p: !aot.ptr<i8> {aot.name = "x"}, %q: !aot.ptr<i16> {aot.name = "y"}) {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<16xi8>
  %y = aot.buffer %q : !aot.ptr<i16> to memref<16xi16>
  %c4 = arith.constant 4 : index
  %zero = arith.constant dense<0> : vector<4xi8>
  %a = aot.tile_load %x[%c4] {strides = array<i64: 1>} : memref<16xi8> -> vector<4xi8>
  aot.tile_store %zero, %x[%c4] {strides = array<i64: 1>} : vector<4xi8>, memref<16xi8>
  %w = aot.tile_convert "extsi" %a : vector<4xi8> -> vector<4xi32>
  %b = aot.tile_load %x[%c4] {strides = array<i64: 1>, valid = 3 : i64} : memref<16xi8> -> vector<4xi8>
  %u = aot.tile_convert "extui" %b : vector<4xi8> -> vector<4xi32>
  %s = arith.addi %w, %u : vector<4xi32>
  %t = aot.tile_convert "trunci" %s : vector<4xi32> -> vector<4xi16>
  aot.tile_store %t, %y[%c4] {strides = array<i64: 1>} : vector<4xi16>, memref<16xi16>
  func.return
}

// Not where they are apart, are a part of a register that is stored, fill none, or are used as they are, too.
// CHECK-LABEL: func.func @apart(
// CHECK:         %a = aot.tile_load %x[%c0] {strides = array<i64: 2>} : memref<16xi8> -> vector<4xi8>
// CHECK:         %v = aot.tile_convert "extsi" %a
// CHECK-NEXT:    %b = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<16xi8> -> vector<2xi8>
// CHECK-NEXT:    %w = aot.tile_convert "extsi" %b
// CHECK-NEXT:    %c = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<16xi8> -> vector<8xi8>
// CHECK-NEXT:    %u = aot.tile_convert "extui" %c
// CHECK-NEXT:    %t = aot.tile_convert "trunci" %v : vector<4xi32> -> vector<4xi8>
// CHECK-NEXT:    aot.tile_store %t, %x[%c0] {strides = array<i64: 1>, valid = 3 : i64} : vector<4xi8>, memref<16xi8>
// CHECK-NEXT:    aot.tile_store %t, %x[%c0] {strides = array<i64: 2>} : vector<4xi8>, memref<16xi8>
// CHECK-NEXT:    func.return %w, %u, %c :
func.func @apart(%p: !aot.ptr<i8>) -> (vector<2xi32>, vector<8xi16>, vector<8xi8>) {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<16xi8>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 2>} : memref<16xi8> -> vector<4xi8>
  %v = aot.tile_convert "extsi" %a : vector<4xi8> -> vector<4xi32>
  %b = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<16xi8> -> vector<2xi8>
  %w = aot.tile_convert "extsi" %b : vector<2xi8> -> vector<2xi32>
  %c = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<16xi8> -> vector<8xi8>
  %u = aot.tile_convert "extui" %c : vector<8xi8> -> vector<8xi16>
  %t = aot.tile_convert "trunci" %v : vector<4xi32> -> vector<4xi8>
  aot.tile_store %t, %x[%c0] {strides = array<i64: 1>, valid = 3 : i64} : vector<4xi8>, memref<16xi8>
  aot.tile_store %t, %x[%c0] {strides = array<i64: 2>} : vector<4xi8>, memref<16xi8>
  func.return %w, %u, %c : vector<2xi32>, vector<8xi16>, vector<8xi8>
}
