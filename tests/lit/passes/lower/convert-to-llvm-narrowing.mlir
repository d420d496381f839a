// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=V4
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=V3
// RUN: aotc-opt %s -p 'attach-target{target=aarch64},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=ARM

// V4-LABEL: define i32 @of_16(
// V4-COUNT-4: call <16 x i32> @llvm.x86.avx512.mask.cvtps2dq.512(
// V4:       call <32 x i16> @llvm.x86.avx512.packssdw.512(
// V4:       call <32 x i16> @llvm.sadd.sat.v32i16(
// V4:       call <32 x i16> @llvm.x86.avx512.packssdw.512(
// V4:       call <64 x i8> @llvm.x86.avx512.packsswb.512(
// V4:       call <64 x i8> @llvm.smax.v64i8(
// V4-NOT:   smin
// V4:       shufflevector <64 x i8> {{.*}} <i32 0, i32 1, i32 2, i32 3, i32 16,
// V4:       ret i32
// AVX2 has no such registers.
// V3-LABEL: define i32 @of_16(
// V3-NOT:   pack
// V3:       ret i32
func.func @of_16(%p: !aot.ptr<f32>, %q: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<f32> to memref<64xf32>
  %y = aot.buffer %q : !aot.ptr<i8> to memref<64xi8>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<64xf32> -> vector<16xf32>
  %b = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 16 : i64} : memref<64xf32> -> vector<16xf32>
  %c = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 32 : i64} : memref<64xf32> -> vector<16xf32>
  %d = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 48 : i64} : memref<64xf32> -> vector<16xf32>
  %r = aot.tile_narrow %a, %b, %c, %d {zero_point = 3 : i64, low = 3 : i64, high = 127 : i64} : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32> -> vector<64xi8>
  aot.tile_store %r, %y[%c0] {strides = array<i64: 1>} : vector<64xi8>, memref<64xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// V3-LABEL: define i32 @of_8(
// V3-NOT:   cvt
// V3:       call <16 x i16> @llvm.x86.avx2.packssdw(
// V3-NOT:   sadd
// V3:       call <32 x i8> @llvm.x86.avx2.packuswb(
// V3-NOT:   max
// V3:       ret i32
// ARM-LABEL: define i32 @of_8(
// ARM-NOT:   x86
// ARM-COUNT-4: call <8 x i32> @llvm.smin.v8i32(
// ARM:       ret i32
func.func @of_8(%p: !aot.ptr<i32>, %q: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i32> to memref<32xi32>
  %y = aot.buffer %q : !aot.ptr<i8> to memref<32xi8>
  %c0 = arith.constant 0 : index
  %a = aot.tile_load %x[%c0] {strides = array<i64: 1>} : memref<32xi32> -> vector<8xi32>
  %b = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 8 : i64} : memref<32xi32> -> vector<8xi32>
  %c = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 16 : i64} : memref<32xi32> -> vector<8xi32>
  %d = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 24 : i64} : memref<32xi32> -> vector<8xi32>
  %r = aot.tile_narrow %a, %b, %c, %d {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32> -> vector<32xi8>
  aot.tile_store %r, %y[%c0] {strides = array<i64: 1>} : vector<32xi8>, memref<32xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
