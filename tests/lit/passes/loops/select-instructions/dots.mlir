// RUN: aotc-opt %s -p 'attach-target{target="x86-64-v3"},select-instructions' | filecheck %s --check-prefixes=CHECK,AVX2
// RUN: aotc-opt %s -p 'attach-target{target="x86_64-linux-gnu:alderlake"},select-instructions' | filecheck %s --check-prefixes=CHECK,VNNI
// RUN: aotc-opt %s -p 'attach-target{target="aarch64-linux-gnu:neoverse-n1"},select-instructions' | filecheck %s --check-prefix=NEON
// RUN: aotc-opt %s -p 'attach-target{target="aarch64"},select-instructions' | filecheck %s --check-prefix=PAIRWISE
// RUN: aotc-opt %s -p 'attach-target{target="wasm32-simd128"},select-instructions' | filecheck %s --check-prefix=WASM
// RUN: aotc-opt %s -p select-instructions | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target="rv64gcv"},select-instructions' | filecheck %s --check-prefix=NONE

// One instruction where there is one for the signs; else pairs of 16 bits, of elements with even and with odd numbers.
// CHECK-LABEL: func.func @unsigned
// VNNI-NEXT:     %r = aot.instruction "vpdpbusd.256" %s, %x, %w
// VNNI-NEXT:     func.return %r
// AVX2-NEXT:     %0 = vector.bitcast %x : vector<32xi8> to vector<16xi16>
// AVX2-NEXT:     %1 = arith.constant dense<255> : vector<16xi16>
// AVX2-NEXT:     %2 = arith.andi %0, %1 : vector<16xi16>
// AVX2:          aot.instruction "pmaddwd.256"
// AVX2:          arith.shrui
// AVX2:          arith.shrsi
// AVX2:          aot.instruction "pmaddwd.256"
// NEON-LABEL:  func.func @unsigned
// NEON-NOT:      aot.instruction
// NONE-LABEL:  func.func @unsigned
// NONE-NOT:      aot.instruction
// NONE-COUNT-4:  arith.muli {{.*}} : vector<8xi32>
func.func @unsigned(%x: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s {lhs_unsigned} : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}

// The factor without sign comes first.
// CHECK-LABEL: func.func @exchanged
// VNNI:          aot.instruction "vpdpbusd.256" %s, %w, %x
func.func @exchanged(%x: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s {rhs_unsigned} : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}

// Sums of pairs saturate, so there must be a promise that they fit.
// AVX2-LABEL:  func.func @narrow
// AVX2-NEXT:     %0 = aot.instruction "pmaddubsw.256" %x, %w : vector<32xi8>, vector<32xi8> -> vector<16xi16>
// AVX2-NEXT:     %1 = arith.constant dense<1> : vector<16xi16>
// AVX2-NEXT:     %2 = aot.instruction "pmaddwd.256" %0, %1 : vector<16xi16>, vector<16xi16> -> vector<8xi32>
// AVX2-NEXT:     %r = arith.addi %s, %2 : vector<8xi32>
// AVX2-NEXT:     func.return %r
func.func @narrow(%x: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s {lhs_unsigned, narrow_pairs} : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}

// Two factors without sign are none of this instruction's, whatever is promised.
// AVX2-LABEL:  func.func @no_signs
// AVX2-NOT:      aot.instruction "pmaddubsw.256"
// AVX2-LABEL:  func.func @complement
func.func @no_signs(%x: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s {lhs_unsigned, rhs_unsigned, narrow_pairs} : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}

// Magnitudes and signs of weights are written once for all that they are multiplied by.
// AVX2:          %[[BITS:.*]] = arith.constant dense<7> : vector<32xi8>
// AVX2-NEXT:     %[[SIGN:.*]] = arith.shrsi %w, %[[BITS]] : vector<32xi8>
// AVX2-NEXT:     %[[SIZE:.*]] = math.absi %w : vector<32xi8>
// AVX2-NEXT:     %[[X:.*]] = arith.xori %x, %[[SIGN]] : vector<32xi8>
// AVX2-NEXT:     aot.instruction "pmaddubsw.256" %[[SIZE]], %[[X]]
// AVX2-NOT:      math.absi
// AVX2:          %[[Y:.*]] = arith.xori %y, %[[SIGN]] : vector<32xi8>
// AVX2-NEXT:     aot.instruction "pmaddubsw.256" %[[SIZE]], %[[Y]]
func.func @complement(%x: vector<32xi8>, %y: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s {complement} : vector<32xi8>, vector<8xi32>
  %t = aot.tile_dot %y, %w, %r {complement} : vector<32xi8>, vector<8xi32>
  func.return %t : vector<8xi32>
}

// Two steps are added in 16 bits where sums of pairs are; else they follow each other.
// CHECK-LABEL: func.func @pair
// AVX2-COUNT-2:  aot.instruction "pmaddubsw.256"
// AVX2-NEXT:     arith.addi {{.*}} : vector<16xi16>
// AVX2:          aot.instruction "pmaddwd.256"
// AVX2-NOT:      aot.instruction
// VNNI:          aot.instruction "pmaddubsw.256" %x, %w
// VNNI:          aot.instruction "pmaddubsw.256" %y, %v
// VNNI-NEXT:     arith.addi {{.*}} : vector<16xi16>
// VNNI:          %r = aot.instruction "vpdpwssd.256" %s,
// NONE-LABEL:  func.func @pair
// NONE-COUNT-8:  arith.muli {{.*}} : vector<8xi32>
func.func @pair(%x: vector<32xi8>, %w: vector<32xi8>, %y: vector<32xi8>, %v: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot_pair %x, %w, %y, %v, %s {lhs_unsigned} : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}

// Registers that no instruction has: those of Arm have 128 bits.
// CHECK-LABEL: func.func @signed
// NEON-LABEL:  func.func @signed
// NEON:          %r = aot.instruction "sdot" %s, %x, %w
// PAIRWISE-LABEL: func.func @signed
// PAIRWISE:       %[[EVEN:.*]] = arith.muli {{.*}} : vector<8xi16>
// PAIRWISE-NEXT:  %[[SUM:.*]] = aot.instruction "saddlp" %[[EVEN]] : vector<8xi16> -> vector<4xi32>
// PAIRWISE-NEXT:  %[[SUMS:.*]] = arith.addi %s, %[[SUM]] : vector<4xi32>
// PAIRWISE-NOT:   arith.shli
// PAIRWISE:       aot.instruction "saddlp"
// WASM-LABEL:  func.func @signed
// WASM:          aot.instruction "i32x4.dot_i16x8_s"
// WASM-LABEL:  func.func @wide
// WASM-NOT:      aot.instruction
// NEON-LABEL:  func.func @wide
// NEON-NOT:      aot.instruction
// PAIRWISE-LABEL: func.func @wide
// PAIRWISE-NOT:   aot.instruction
func.func @signed(%x: vector<16xi8>, %w: vector<16xi8>, %s: vector<4xi32>) -> vector<4xi32> {
  %r = aot.tile_dot %x, %w, %s : vector<16xi8>, vector<4xi32>
  func.return %r : vector<4xi32>
}
func.func @wide(%x: vector<32xi8>, %w: vector<32xi8>, %s: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_dot %x, %w, %s : vector<32xi8>, vector<8xi32>
  func.return %r : vector<8xi32>
}
