// RUN: aotc-opt %s -p 'attach-target{target="x86_64-linux-gnu:icelake-server"},select-instructions' | filecheck %s --check-prefix=BYTES
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},select-instructions' | filecheck %s --check-prefix=WORDS
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},select-instructions' | filecheck %s --check-prefix=AVX2
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v2},select-instructions' | filecheck %s --check-prefix=SSE
// RUN: aotc-opt %s -p 'attach-target{target=x86-64},select-instructions' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target=aarch64},select-instructions' | filecheck %s --check-prefix=ARM
// RUN: aotc-opt %s -p 'attach-target{target=wasm32-simd128},select-instructions' | filecheck %s --check-prefix=WASM

// Two registers of two by seven bits, and the sign of the number; or pairs of bytes, and the last bit. Where nothing
// permutes so many bytes they are compared with each number.
// BYTES-LABEL: func.func @of_64
// BYTES:         %[[LOW:.*]] = aot.instruction "vpermi2b.512" %t0, %n, %t1
// BYTES-NEXT:    %[[HIGH:.*]] = aot.instruction "vpermi2b.512" %t2, %n, %t3
// BYTES-NEXT:    %[[ZERO:.*]] = arith.constant dense<0> : vector<64xi8>
// BYTES-NEXT:    %[[UPPER:.*]] = aot.tile_compare "slt" %n, %[[ZERO]]
// BYTES-NEXT:    %r = aot.tile_select %[[UPPER]], %[[HIGH]], %[[LOW]]
// BYTES-NEXT:    func.return %r
// WORDS-LABEL: func.func @of_64
// WORDS-NOT:     vpermi2b
// WORDS-COUNT-2: aot.instruction "vpermi2w.512"
// WORDS:         aot.tile_compare "ugt" {{.*}} : vector<32xi16>
// WORDS-NEXT:    aot.tile_select
// WORDS:         arith.shrui
// WORDS-COUNT-2: aot.instruction "vpermi2w.512"
// WORDS-NOT:     vpermi2w
// WORDS:         func.return %r
// AVX2-LABEL:  func.func @of_64
// AVX2-NOT:      aot.instruction
// AVX2-COUNT-255: aot.tile_select
// AVX2-NOT:      aot.tile_select
// AVX2:          func.return %r
func.func @of_64(%n: vector<64xi8>, %t0: vector<64xi8>, %t1: vector<64xi8>, %t2: vector<64xi8>, %t3: vector<64xi8>) -> vector<64xi8> {
  %r = aot.tile_lookup %n, %t0, %t1, %t2, %t3 {width = 64}
      : vector<64xi8>, vector<64xi8>, vector<64xi8>, vector<64xi8>, vector<64xi8>
  func.return %r : vector<64xi8>
}

// AVX2-LABEL:  func.func @of_32
// AVX2:          %[[ROW:.*]] = vector.shuffle %t0, %t0 [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1,
// AVX2:          %[[NEXT:.*]] = vector.shuffle %t1, %t1
// AVX2:          %[[FIRST:.*]] = aot.instruction "pshufb.256" %[[ROW]], %n
// AVX2-NEXT:     %[[N:.*]] = aot.instruction "psubsb.256" %n,
// AVX2-NEXT:     %[[MORE:.*]] = arith.xori %[[NEXT]], %[[ROW]]
// AVX2-NEXT:     %[[SECOND:.*]] = aot.instruction "pshufb.256" %[[MORE]], %[[N]]
// AVX2-NEXT:     arith.xori %[[FIRST]], %[[SECOND]]
// AVX2-COUNT-14: aot.instruction "pshufb.256"
// AVX2-NOT:      pshufb
// AVX2:          func.return %r
// SSE-LABEL:   func.func @of_32
// SSE-NOT:       aot.instruction
// SSE:           func.return %r
func.func @of_32(%n: vector<32xi8>, %t0: vector<16xi8>, %t1: vector<16xi8>, %t2: vector<16xi8>, %t3: vector<16xi8>,
    %t4: vector<16xi8>, %t5: vector<16xi8>, %t6: vector<16xi8>, %t7: vector<16xi8>, %t8: vector<16xi8>,
    %t9: vector<16xi8>, %t10: vector<16xi8>, %t11: vector<16xi8>, %t12: vector<16xi8>, %t13: vector<16xi8>,
    %t14: vector<16xi8>, %t15: vector<16xi8>) -> vector<32xi8> {
  %r = aot.tile_lookup %n, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %t8, %t9, %t10, %t11, %t12, %t13, %t14, %t15 {width = 32}
      : vector<32xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>,
        vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>,
        vector<16xi8>, vector<16xi8>, vector<16xi8>
  func.return %r : vector<32xi8>
}

// SSE-LABEL:   func.func @of_16
// SSE-NOT:       vector.shuffle
// SSE-COUNT-16:  aot.instruction "pshufb.128"
// SSE-NOT:       pshufb
// SSE:           func.return %r
// NONE-LABEL:  func.func @of_16
// NONE-NEXT:     %[[FIRST:.*]] = vector.shuffle %t0, %t0 [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
// NONE-NEXT:     %[[SECOND:.*]] = vector.shuffle %t0, %t0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
// NONE-NEXT:     %[[ONE:.*]] = arith.constant dense<1> : vector<16xi8>
// NONE-NEXT:     %[[IS_ONE:.*]] = aot.tile_compare "eq" %n, %[[ONE]]
// NONE-NEXT:     aot.tile_select %[[IS_ONE]], %[[SECOND]], %[[FIRST]]
// NONE-COUNT-254: aot.tile_select
// NONE-NOT:      aot.tile_select
// NONE-NOT:      aot.instruction
// NONE:          func.return %r
// ARM-LABEL:   func.func @of_16
// ARM-NEXT:      %[[FOUR:.*]] = aot.instruction "tbl4" %t0, %t1, %t2, %t3, %n
// ARM-NEXT:      %[[SIZE:.*]] = arith.constant dense<64> : vector<16xi8>
// ARM-NEXT:      %[[N:.*]] = arith.subi %n, %[[SIZE]]
// ARM-NEXT:      aot.instruction "tbx4" %[[FOUR]], %t4, %t5, %t6, %t7, %[[N]]
// ARM-COUNT-2:   aot.instruction "tbx4"
// ARM-NOT:       aot.instruction
// ARM:           func.return %r
// WASM-LABEL:  func.func @of_16
// WASM-NEXT:     %[[FIRST:.*]] = aot.instruction "i8x16.swizzle" %t0, %n
// WASM-NEXT:     %[[SIZE:.*]] = arith.constant dense<16> : vector<16xi8>
// WASM-NEXT:     %[[N:.*]] = arith.subi %n, %[[SIZE]]
// WASM-NEXT:     %[[SECOND:.*]] = aot.instruction "i8x16.swizzle" %t1, %[[N]]
// WASM:          arith.ori %[[FIRST]], %[[SECOND]]
// WASM-COUNT-14: arith.ori
// WASM-NOT:      aot.instruction
// WASM:          func.return %r
func.func @of_16(%n: vector<16xi8>, %t0: vector<16xi8>, %t1: vector<16xi8>, %t2: vector<16xi8>, %t3: vector<16xi8>,
    %t4: vector<16xi8>, %t5: vector<16xi8>, %t6: vector<16xi8>, %t7: vector<16xi8>, %t8: vector<16xi8>,
    %t9: vector<16xi8>, %t10: vector<16xi8>, %t11: vector<16xi8>, %t12: vector<16xi8>, %t13: vector<16xi8>,
    %t14: vector<16xi8>, %t15: vector<16xi8>) -> vector<16xi8> {
  %r = aot.tile_lookup %n, %t0, %t1, %t2, %t3, %t4, %t5, %t6, %t7, %t8, %t9, %t10, %t11, %t12, %t13, %t14, %t15 {width = 16}
      : vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>,
        vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>, vector<16xi8>,
        vector<16xi8>, vector<16xi8>, vector<16xi8>
  func.return %r : vector<16xi8>
}
