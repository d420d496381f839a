// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v4},select-instructions' | filecheck %s --check-prefix=AVX512
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},select-instructions' | filecheck %s --check-prefix=AVX2
// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v2},select-instructions' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p select-instructions | filecheck %s --check-prefix=NONE

// One instruction of AVX-512; one for either vector of 256 bits with AVX2, and the lane of the right one; else each
// number is compared with all.
// AVX512-LABEL: func.func @of_16
// AVX512-NEXT:    %r = aot.instruction "vpermi2d.512" %a, %n, %b
// AVX512-NEXT:    func.return %r
// AVX2-LABEL:   func.func @of_16
// AVX2-NOT:       aot.instruction
// AVX2-COUNT-31:  aot.tile_select
// AVX2-NOT:       aot.tile_select
func.func @of_16(%a: vector<16xi32>, %b: vector<16xi32>, %n: vector<16xi32>) -> vector<16xi32> {
  %r = aot.tile_pick %a, %b, %n : vector<16xi32>
  func.return %r : vector<16xi32>
}

// AVX512-LABEL: func.func @of_8
// AVX512-NEXT:    %r = aot.instruction "vpermi2d.256" %a, %n, %b
// AVX2-LABEL:   func.func @of_8
// AVX2-NEXT:      %[[LOW:.*]] = aot.instruction "vpermd.256" %a, %n
// AVX2-NEXT:      %[[HIGH:.*]] = aot.instruction "vpermd.256" %b, %n
// AVX2-NEXT:      %[[BITS:.*]] = arith.constant dense<28> : vector<8xi32>
// AVX2-NEXT:      %[[SIDE:.*]] = arith.shli %n, %[[BITS]]
// AVX2-NEXT:      %[[ZERO:.*]] = arith.constant dense<0> : vector<8xi32>
// AVX2-NEXT:      %[[IS_HIGH:.*]] = aot.tile_compare "slt" %[[SIDE]], %[[ZERO]]
// AVX2-NEXT:      %r = aot.tile_select %[[IS_HIGH]], %[[HIGH]], %[[LOW]]
// AVX2-NEXT:      func.return %r
func.func @of_8(%a: vector<8xi32>, %b: vector<8xi32>, %n: vector<8xi32>) -> vector<8xi32> {
  %r = aot.tile_pick %a, %b, %n : vector<8xi32>
  func.return %r : vector<8xi32>
}

// AVX512-LABEL: func.func @of_4
// AVX512-NEXT:    %r = aot.instruction "vpermi2d.128" %a, %n, %b
// NONE-LABEL:   func.func @of_4
// NONE-NEXT:      %[[MASK:.*]] = arith.constant dense<7> : vector<4xi32>
// NONE-NEXT:      %[[N:.*]] = arith.andi %n, %[[MASK]]
// NONE-NEXT:      vector.shuffle %a, %a [0, 0, 0, 0]
// NONE:           vector.shuffle %b, %b [3, 3, 3, 3]
// NONE-NEXT:      aot.tile_compare "eq" %[[N]], %[[MASK]]
// NONE-NEXT:      %r = aot.tile_select
// NONE-NEXT:      func.return %r
func.func @of_4(%a: vector<4xi32>, %b: vector<4xi32>, %n: vector<4xi32>) -> vector<4xi32> {
  %r = aot.tile_pick %a, %b, %n : vector<4xi32>
  func.return %r : vector<4xi32>
}
