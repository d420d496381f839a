// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: groups of integers that take 32 bits, of stride 0 along the lanes, are repeated
func.func @group(%x: memref<64xi8>, %i: index) {
  %a = aot.tile_load %x[%i] {strides = array<i64: 0>, group = 2 : i64} : memref<64xi8> -> vector<16xi8>
  func.return
}

// -----

// CHECK: groups of integers that take 32 bits, of stride 0 along the lanes, are repeated
func.func @group_of_stride(%x: memref<64xi8>, %i: index) {
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>, group = 4 : i64} : memref<64xi8> -> vector<16xi8>
  func.return
}

// -----

// CHECK: 5 valid elements in a group of 4
func.func @valid_of_group(%x: memref<64xi8>, %i: index) {
  %a = aot.tile_load %x[%i] {strides = array<i64: 0>, group = 4 : i64, valid = 5 : i64} : memref<64xi8> -> vector<16xi8>
  func.return
}

// -----

// CHECK: factors are integers of 8 or 16 bits, sums are i32
func.func @dot_of_floats(%a: vector<16xf32>, %s: vector<16xi32>) {
  %r = aot.tile_dot %a, %a, %s : vector<16xf32>, vector<16xi32>
  func.return
}

// -----

// CHECK: factors of shape [32] do not fit sums of shape [16]
func.func @dot_of_lanes(%a: vector<32xi8>, %s: vector<16xi32>) {
  %r = aot.tile_dot %a, %a, %s : vector<32xi8>, vector<16xi32>
  func.return
}

// -----

// CHECK: complements are of 8-bit integers, with a signed rhs
func.func @complements_by_weights_without_sign(%a: vector<64xi8>, %s: vector<16xi32>) {
  %r = aot.tile_dot %a, %a, %s {rhs_unsigned, complement} : vector<64xi8>, vector<16xi32>
  func.return
}

// -----

// CHECK: a signed lhs is multiplied by complements only
func.func @signed_pairs(%a: vector<64xi8>, %s: vector<16xi32>) {
  %r = aot.tile_dot_pair %a, %a, %a, %a, %s : vector<64xi8>, vector<16xi32>
  func.return
}

// -----

// CHECK: factors are integers of 8 bits, sums are i32
func.func @pairs_of_halves(%a: vector<32xi16>, %s: vector<16xi32>) {
  %r = aot.tile_dot_pair %a, %a, %a, %a, %s {lhs_unsigned} : vector<32xi16>, vector<16xi32>
  func.return
}

// -----

// CHECK: factors of shape [32] do not fit sums of shape [16]
func.func @pairs_of_lanes(%a: vector<32xi8>, %s: vector<16xi32>) {
  %r = aot.tile_dot_pair %a, %a, %a, %a, %s {complement} : vector<32xi8>, vector<16xi32>
  func.return
}

// -----

// CHECK: narrow pairs are pairs of 8-bit integers
func.func @narrow_halves(%a: vector<32xi16>, %s: vector<16xi32>) {
  %r = aot.tile_dot %a, %a, %s {narrow_pairs} : vector<32xi16>, vector<16xi32>
  func.return
}

// -----

// CHECK: lanes are i32, a power of two of them, found vector<16xf32>
func.func @picks(%a: vector<16xf32>) {
  %p = aot.tile_pick %a, %a, %a : vector<16xf32>
  func.return
}

// -----

// CHECK: elements are i32, found vector<16xi16>
func.func @rescales(%a: vector<16xi16>) {
  %p = aot.tile_rescale %a, %a, %a : vector<16xi16>
  func.return
}

// -----

// CHECK: elements are integers of 8 bits, found vector<16xi32>
func.func @lookup_of_words(%a: vector<16xi32>, %t: vector<16x16xi8>) {
  %r = aot.tile_lookup %a, %t {width = 16 : i64} : vector<16xi32>, vector<16x16xi8>
  func.return
}

// -----

// CHECK: a table has 256 entries in registers of one type, found 128
func.func @half_a_table(%a: vector<16xi8>, %t: vector<8x16xi8>) {
  %r = aot.tile_lookup %a, %t {width = 16 : i64} : vector<16xi8>, vector<8x16xi8>
  func.return
}

// -----

// CHECK: a table has 256 entries in registers of one type, found 256
func.func @unlike_registers(%a: vector<16xi8>, %s: vector<64xi8>, %t: vector<128xi8>) {
  %r = aot.tile_lookup %a, %s, %t, %s {width = 16 : i64} : vector<16xi8>, vector<64xi8>, vector<128xi8>, vector<64xi8>
  func.return
}

// -----

// CHECK: 24 bytes at once are not whole registers of 16
func.func @part_of_a_register(%a: vector<16xi8>, %t: vector<16x16xi8>) {
  %r = aot.tile_lookup %a, %t {width = 24 : i64} : vector<16xi8>, vector<16x16xi8>
  func.return
}

// -----

// CHECK: zero point 0 and clamp -1 to 255 do not fit 0 to 255
func.func @negative_without_sign(%a: vector<16xi32>) {
  %r = aot.tile_narrow %a {zero_point = 0 : i64, low = -1 : i64, high = 255 : i64, unsigned} : vector<16xi32> -> vector<16xi8>
  func.return
}

// -----

// CHECK: zero point 256 and clamp -128 to 127 do not fit -128 to 127
func.func @far_zero_point(%a: vector<16xi32>) {
  %r = aot.tile_narrow %a {zero_point = 256 : i64, low = -128 : i64, high = 127 : i64} : vector<16xi32> -> vector<16xi8>
  func.return
}

// -----

// CHECK: operands are of i32 or f32, several ones registers, found vector<2x16xf32>
func.func @several_tiles(%a: vector<2x16xf32>) {
  %r = aot.tile_narrow %a, %a {zero_point = 0 : i64, low = 0 : i64, high = 1 : i64} : vector<2x16xf32>, vector<2x16xf32> -> vector<2x32xi8>
  func.return
}

// -----

// CHECK: operands are of i32 or f32, several ones registers, found vector<8xf64>
func.func @narrow_doubles(%a: vector<8xf64>) {
  %r = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 1 : i64} : vector<8xf64> -> vector<8xi8>
  func.return
}

// -----

// CHECK: the result of 2 operands vector<8xf32> is vector<32xi8>
func.func @too_many_bytes(%a: vector<8xf32>) {
  %r = aot.tile_narrow %a, %a {zero_point = 0 : i64, low = 0 : i64, high = 1 : i64} : vector<8xf32>, vector<8xf32> -> vector<32xi8>
  func.return
}

// -----

// CHECK: one to 4 operands have one type, found vector<4xf32>
func.func @five_parts(%a: vector<4xf32>) {
  %r = aot.tile_narrow %a, %a, %a, %a, %a {zero_point = 0 : i64, low = 0 : i64, high = 1 : i64} : vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32> -> vector<20xi8>
  func.return
}
