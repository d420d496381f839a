// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},select-instructions' | filecheck %s --check-prefix=V4
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},select-instructions' | filecheck %s --check-prefix=V3
// RUN: aotc-opt %s -p 'attach-target{target=aarch64},select-instructions' | filecheck %s --check-prefix=NEON
// RUN: aotc-opt %s -p 'attach-target{target=wasm32-simd128},select-instructions' | filecheck %s --check-prefix=WASM
// RUN: aotc-opt %s -p 'attach-target{target=rv64gcv},select-instructions' | filecheck %s --check-prefix=LANES
// RUN: aotc-opt %s -p select-instructions | filecheck %s --check-prefix=LANES

// Bytes of four registers are packed, with a zero point between two steps, and put in order at last. A bound at the end
// of the range is no operation.
// V4-LABEL: func.func @of_16
// V4-NEXT:    [[A:%.*]] = aot.instruction "cvtps2dq.512" %a : vector<16xf32> -> vector<16xi32>
// V4-NEXT:    [[B:%.*]] = aot.instruction "cvtps2dq.512" %b : vector<16xf32> -> vector<16xi32>
// V4-NEXT:    [[AB:%.*]] = aot.instruction "packssdw.512" [[A]], [[B]] : {{.*}} -> vector<32xi16>
// V4-NEXT:    [[POINT:%.*]] = arith.constant dense<3> : vector<32xi16>
// V4-NEXT:    [[LOW:%.*]] = aot.instruction "paddsw.512" [[AB]], [[POINT]]
// V4-NEXT:    [[BB:%.*]] = aot.instruction "packssdw.512" [[B]], [[B]]
// V4-NEXT:    [[HIGH:%.*]] = aot.instruction "paddsw.512" [[BB]], [[POINT]]
// V4-NEXT:    [[BYTES:%.*]] = aot.instruction "packsswb.512" [[LOW]], [[HIGH]] : {{.*}} -> vector<64xi8>
// V4-NEXT:    [[LEAST:%.*]] = arith.constant dense<3> : vector<64xi8>
// V4-NEXT:    [[CLAMPED:%.*]] = arith.maxsi [[BYTES]], [[LEAST]]
// V4-NEXT:    %r = vector.shuffle [[CLAMPED]], [[CLAMPED]] [0, 1, 2, 3, 16, 17, 18, 19, 32,
// V4-NEXT:    func.return %r
// AVX2 has no such registers.
// V3-LABEL: func.func @of_16
// V3-NOT:     aot.instruction
// V3:         func.return %r
func.func @of_16(%a: vector<16xf32>, %b: vector<16xf32>) -> vector<64xi8> {
  %r = aot.tile_narrow %a, %b, %b, %b {zero_point = 3 : i64, low = 3 : i64, high = 127 : i64} : vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32> -> vector<64xi8>
  func.return %r : vector<64xi8>
}

// Two registers, too, are clamped lane by lane.
// V3-LABEL: func.func @of_two
// V3-NOT:     aot.instruction
// V3:         func.return %r
// LANES-LABEL: func.func @of_two
// LANES-NEXT:    [[LOW:%.*]] = arith.constant dense<-3> : vector<8xi32>
// LANES-NEXT:    [[HIGH:%.*]] = arith.constant dense<252> : vector<8xi32>
// LANES-NEXT:    [[LEAST:%.*]] = arith.maxsi %a, [[LOW]]
// LANES-NEXT:    [[CLAMPED:%.*]] = arith.minsi [[LEAST]], [[HIGH]]
// LANES-NEXT:    [[POINT:%.*]] = arith.constant dense<3> : vector<8xi32>
// LANES-NEXT:    [[A:%.*]] = arith.addi [[CLAMPED]], [[POINT]]
// LANES-NEXT:    [[BYTES:%.*]] = aot.tile_convert "trunci" [[A]] : vector<8xi32> -> vector<8xi8>
// LANES:         %r = vector.shuffle [[BYTES]], {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
// LANES-NEXT:    func.return %r
func.func @of_two(%a: vector<8xi32>, %b: vector<8xi32>) -> vector<16xi8> {
  %r = aot.tile_narrow %a, %b {zero_point = 3 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<8xi32>, vector<8xi32> -> vector<16xi8>
  func.return %r : vector<16xi8>
}

// One register of 256 bits is packed in halves; integers are not rounded.
// V3-LABEL: func.func @of_8
// V3-NEXT:    [[LOW:%.*]] = vector.shuffle %a, %a [0, 1, 2, 3]
// V3-NEXT:    [[HIGH:%.*]] = vector.shuffle %a, %a [4, 5, 6, 7]
// V3-NEXT:    [[WORDS:%.*]] = aot.instruction "packssdw.128" [[LOW]], [[HIGH]] : {{.*}} -> vector<8xi16>
// V3-NEXT:    [[BYTES:%.*]] = aot.instruction "packuswb.128" [[WORDS]], [[WORDS]] : {{.*}} -> vector<16xi8>
// V3-NEXT:    %r = vector.shuffle [[BYTES]], [[BYTES]] [0, 1, 2, 3, 4, 5, 6, 7]
// V3-NEXT:    func.return %r
func.func @of_8(%a: vector<8xi32>) -> vector<8xi8> {
  %r = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<8xi32> -> vector<8xi8>
  func.return %r : vector<8xi8>
}

// One of 512 bits has an instruction once it is clamped. Floats are rounded by adding 3 * 2^22.
// V4-LABEL: func.func @of_floats
// V4-NOT:     aot.instruction
// V4:         func.return %r
// LANES-LABEL: func.func @of_floats
// LANES:         [[IS_MORE:%.*]] = aot.tile_compare "ogt" %a, [[LOW:%.*]] :
// LANES-NEXT:    [[LEAST:%.*]] = aot.tile_select [[IS_MORE]], %a, [[LOW]]
// LANES-NEXT:    [[IS_LESS:%.*]] = aot.tile_compare "olt" [[LEAST]], [[HIGH:%.*]] :
// LANES-NEXT:    [[CLAMPED:%.*]] = aot.tile_select [[IS_LESS]], [[LEAST]], [[HIGH]]
// LANES-NEXT:    [[MAGIC:%.*]] = arith.constant dense<"0x0000404B"> : vector<16xf32>
// LANES-NEXT:    [[SUM:%.*]] = arith.addf [[CLAMPED]], [[MAGIC]]
// LANES-NEXT:    [[BITS:%.*]] = vector.bitcast [[SUM]]
// LANES-NEXT:    [[ZERO:%.*]] = arith.constant dense<1262485504> : vector<16xi32>
// LANES-NEXT:    [[WHOLE:%.*]] = arith.subi [[BITS]], [[ZERO]]
// LANES-NEXT:    %r = aot.tile_convert "trunci" [[WHOLE]]
// LANES-NEXT:    func.return %r
func.func @of_floats(%a: vector<16xf32>) -> vector<16xi8> {
  %r = aot.tile_narrow %a {zero_point = 0 : i64, low = -100 : i64, high = 127 : i64} : vector<16xf32> -> vector<16xi8>
  func.return %r : vector<16xi8>
}

// Arm narrows each register to half of one, saturating as x86 does; WebAssembly packs what is clamped and rounded.
// NEON-LABEL: func.func @of_4
// NEON-NEXT:    [[WHOLE:%.*]] = aot.instruction "fcvtns" %a : vector<4xf32> -> vector<4xi32>
// NEON-NEXT:    [[HALF:%.*]] = aot.instruction "sqxtn.words" [[WHOLE]] : vector<4xi32> -> vector<4xi16>
// NEON-NEXT:    [[WORDS:%.*]] = vector.shuffle [[HALF]], [[HALF]] [0, 1, 2, 3, 4, 5, 6, 7]
// NEON-NEXT:    [[POINT:%.*]] = arith.constant dense<3> : vector<8xi16>
// NEON-NEXT:    [[SUM:%.*]] = aot.instruction "sqadd" [[WORDS]], [[POINT]]
// NEON-NEXT:    [[BYTES:%.*]] = aot.instruction "sqxtun.bytes" [[SUM]] : vector<8xi16> -> vector<8xi8>
// NEON-NEXT:    %r = vector.shuffle [[BYTES]], [[BYTES]] [0, {{.*}} 15]
// NEON-NEXT:    func.return %r
// WASM-LABEL: func.func @of_4
// WASM-COUNT-2: aot.tile_select
// WASM-NEXT:    arith.constant dense<"0x0000404B">
// WASM-NEXT:    arith.addf
// WASM:         [[WHOLE:%.*]] = arith.subi
// WASM-NEXT:    [[HALF:%.*]] = aot.instruction "i16x8.narrow_i32x4_s" [[WHOLE]], [[WHOLE]] : {{.*}} -> vector<8xi16>
// WASM-NEXT:    [[POINT:%.*]] = arith.constant dense<3> : vector<8xi16>
// WASM-NEXT:    [[SUM:%.*]] = aot.instruction "i16x8.add_sat_s" [[HALF]], [[POINT]]
// WASM-NEXT:    %r = aot.instruction "i8x16.narrow_i16x8_u" [[SUM]], [[SUM]] : {{.*}} -> vector<16xi8>
// WASM-NEXT:    func.return %r
func.func @of_4(%a: vector<4xf32>) -> vector<16xi8> {
  %r = aot.tile_narrow %a, %a, %a, %a {zero_point = 3 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32> -> vector<16xi8>
  func.return %r : vector<16xi8>
}
