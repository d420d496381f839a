// RUN: aotc-opt %s -p 'attach-target{target="x86_64-linux-gnu:icelake-server"},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=BYTES
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=WORDS
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=AVX2
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v2},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=SSE
// RUN: aotc-opt %s -p 'attach-target{target=x86-64},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=ONE
// RUN: aotc-opt %s -p 'attach-target{target=aarch64},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=ARM
// RUN: aotc-opt %s -p 'attach-target{target=wasm32-simd128},convert-to-llvm' -t llvm-text | filecheck %s --check-prefix=WASM

// Where nothing permutes bytes, or not so many, they are picked one by one.
// BYTES-LABEL: define i32 @of_64(
// BYTES:       [[LOW:%.+]] = call <64 x i8> @llvm.x86.avx512.vpermi2var.qi.512(<64 x i8> %t0, <64 x i8> %n, <64 x i8> %t1)
// BYTES-NEXT:  [[HIGH:%.+]] = call <64 x i8> @llvm.x86.avx512.vpermi2var.qi.512(<64 x i8> %t2, <64 x i8> %n, <64 x i8> %t3)
// BYTES-NEXT:  [[UPPER:%.+]] = icmp slt <64 x i8> %n, zeroinitializer
// BYTES-NEXT:  select <64 x i1> [[UPPER]], <64 x i8> [[HIGH]], <64 x i8> [[LOW]]
// WORDS-LABEL: define i32 @of_64(
// WORDS-NOT:   vpermi2var.qi
// WORDS-COUNT-4: call <32 x i16> @llvm.x86.avx512.vpermi2var.hi.512
// WORDS-NOT:   vpermi2var
// WORDS:       ret i32
// AVX2-LABEL:  define i32 @of_64(
// AVX2-NOT:    call
// AVX2-COUNT-64: insertelement <64 x i8>
// AVX2-NOT:    insertelement
// AVX2:        ret i32
func.func @of_64(%p: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<512xi8>
  %c0 = arith.constant 0 : index
  %t0 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 0 : i64} : memref<512xi8> -> vector<64xi8>
  %t1 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 64 : i64} : memref<512xi8> -> vector<64xi8>
  %t2 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 128 : i64} : memref<512xi8> -> vector<64xi8>
  %t3 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 192 : i64} : memref<512xi8> -> vector<64xi8>
  %n = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 256 : i64} : memref<512xi8> -> vector<64xi8>
  %found = aot.tile_lookup %n, %t0, %t1, %t2, %t3 {width = 64 : i64} : vector<64xi8>, vector<64xi8>, vector<64xi8>, vector<64xi8>, vector<64xi8>
  aot.tile_store %found, %x[%c0] {strides = array<i64: 1>} : vector<64xi8>, memref<512xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// AVX2-LABEL:  define i32 @of_32(
// AVX2:        xor <32 x i8> %n, splat (i8 -128)
// AVX2:        [[FIRST:%.+]] = call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> [[ROW:%.+]], <32 x i8> %n)
// AVX2-NEXT:   [[NEXT:%.+]] = call <32 x i8> @llvm.ssub.sat.v32i8(<32 x i8> %n, <32 x i8> splat (i8 16))
// AVX2-NEXT:   [[MORE:%.+]] = xor <32 x i8> {{%.+}}, [[ROW]]
// AVX2-NEXT:   call <32 x i8> @llvm.x86.avx2.pshuf.b(<32 x i8> [[MORE]], <32 x i8> [[NEXT]])
// AVX2-COUNT-14: call <32 x i8> @llvm.x86.avx2.pshuf.b
// AVX2-NOT:    pshuf.b
// AVX2:        ret i32
// SSE-LABEL:   define i32 @of_32(
// SSE-NOT:     pshuf
// SSE:         ret i32
func.func @of_32(%p: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<512xi8>
  %c0 = arith.constant 0 : index
  %t0 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 0 : i64} : memref<512xi8> -> vector<16xi8>
  %t1 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 16 : i64} : memref<512xi8> -> vector<16xi8>
  %t2 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 32 : i64} : memref<512xi8> -> vector<16xi8>
  %t3 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 48 : i64} : memref<512xi8> -> vector<16xi8>
  %t4 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 64 : i64} : memref<512xi8> -> vector<16xi8>
  %t5 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 80 : i64} : memref<512xi8> -> vector<16xi8>
  %t6 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 96 : i64} : memref<512xi8> -> vector<16xi8>
  %t7 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 112 : i64} : memref<512xi8> -> vector<16xi8>
  %t8 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 128 : i64} : memref<512xi8> -> vector<16xi8>
  %t9 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 144 : i64} : memref<512xi8> -> vector<16xi8>
  %t10 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 160 : i64} : memref<512xi8> -> vector<16xi8>
  %t11 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 176 : i64} : memref<512xi8> -> vector<16xi8>
  %t12 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 192 : i64} : memref<512xi8> -> vector<16xi8>
  %t13 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 208 : i64} : memref<512xi8> -> vector<16xi8>
  %t14 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 224 : i64} : memref<512xi8> -> vector<16xi8>
  %t15 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 240 : i64} : memref<512xi8> -> vector<16xi8>
  %n = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 256 : i64} : memref<512xi8> -> vector<32xi8>
  %found = aot.tile_lookup %n, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %t8, %t9, %t10, %t11, %t12, %t13, %t14, %t15 {width = 32 : i64} : vector<32xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>
  aot.tile_store %found, %x[%c0] {strides = array<i64: 1>} : vector<32xi8>, memref<512xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}

// SSE-LABEL:   define i32 @of_16(
// SSE-COUNT-16: call <16 x i8> @llvm.x86.ssse3.pshuf.b.128
// SSE-NOT:     pshuf
// SSE:         ret i32
// ONE-LABEL:   define i32 @of_16(
// ONE-NOT:     call
// ONE-COUNT-16: extractelement <256 x i8>
// ONE:         ret i32
// ARM-LABEL:   define i32 @of_16(
// ARM:         [[FOUR:%.+]] = call <16 x i8> @llvm.aarch64.neon.tbl4.v16i8(<16 x i8> %t0, <16 x i8> %t1, <16 x i8> %t2, <16 x i8> %t3, <16 x i8> %n)
// ARM-NEXT:    [[N:%.+]] = sub <16 x i8> %n, splat (i8 64)
// ARM-NEXT:    call <16 x i8> @llvm.aarch64.neon.tbx4.v16i8(<16 x i8> [[FOUR]], <16 x i8> %t4, <16 x i8> %t5, <16 x i8> %t6, <16 x i8> %t7, <16 x i8> [[N]])
// ARM-COUNT-2: call <16 x i8> @llvm.aarch64.neon.tbx4.v16i8
// WASM-LABEL:  define i32 @of_16(
// WASM:        call <16 x i8> @llvm.wasm.swizzle(<16 x i8> %t0, <16 x i8> %n)
// WASM-NEXT:   [[N:%.+]] = sub <16 x i8> %n, splat (i8 16)
// WASM-NEXT:   call <16 x i8> @llvm.wasm.swizzle(<16 x i8> %t1, <16 x i8> [[N]])
// WASM-COUNT-14: call <16 x i8> @llvm.wasm.swizzle
func.func @of_16(%p: !aot.ptr<i8>) -> i32 {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<512xi8>
  %c0 = arith.constant 0 : index
  %t0 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 0 : i64} : memref<512xi8> -> vector<16xi8>
  %t1 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 16 : i64} : memref<512xi8> -> vector<16xi8>
  %t2 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 32 : i64} : memref<512xi8> -> vector<16xi8>
  %t3 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 48 : i64} : memref<512xi8> -> vector<16xi8>
  %t4 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 64 : i64} : memref<512xi8> -> vector<16xi8>
  %t5 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 80 : i64} : memref<512xi8> -> vector<16xi8>
  %t6 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 96 : i64} : memref<512xi8> -> vector<16xi8>
  %t7 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 112 : i64} : memref<512xi8> -> vector<16xi8>
  %t8 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 128 : i64} : memref<512xi8> -> vector<16xi8>
  %t9 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 144 : i64} : memref<512xi8> -> vector<16xi8>
  %t10 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 160 : i64} : memref<512xi8> -> vector<16xi8>
  %t11 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 176 : i64} : memref<512xi8> -> vector<16xi8>
  %t12 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 192 : i64} : memref<512xi8> -> vector<16xi8>
  %t13 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 208 : i64} : memref<512xi8> -> vector<16xi8>
  %t14 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 224 : i64} : memref<512xi8> -> vector<16xi8>
  %t15 = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 240 : i64} : memref<512xi8> -> vector<16xi8>
  %n = aot.tile_load %x[%c0] {strides = array<i64: 1>, offset = 256 : i64} : memref<512xi8> -> vector<16xi8>
  %found = aot.tile_lookup %n, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %t8, %t9, %t10, %t11, %t12, %t13, %t14, %t15 {width = 16 : i64} : vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>
  aot.tile_store %found, %x[%c0] {strides = array<i64: 1>} : vector<16xi8>, memref<512xi8>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
