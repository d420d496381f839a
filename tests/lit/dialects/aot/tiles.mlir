// RUN: aotc-opt %s | aotc-opt | filecheck %s

// CHECK-LABEL: func.func @tiles(
func.func @tiles(%a: memref<8x64xf32>, %i: index) -> f32 {
  // CHECK: %t = aot.tile_load %a[%i, %i] {strides = array<i64: 64, 16, 1>, offset = -2 : i64, valid = 20 : i64} : memref<8x64xf32> -> vector<4x2x16xf32>
  %t = aot.tile_load %a[%i, %i] {strides = array<i64: 64, 16, 1>, offset = -2 : i64, valid = 20 : i64} : memref<8x64xf32> -> vector<4x2x16xf32>
  // CHECK-NEXT: %p = aot.tile_slice %t {offsets = array<i64: 1, 0>, sizes = array<i64: 3, 2>} : vector<4x2x16xf32> -> vector<3x2x16xf32>
  %p = aot.tile_slice %t {offsets = array<i64: 1, 0>, sizes = array<i64: 3, 2>} : vector<4x2x16xf32> -> vector<3x2x16xf32>
  // CHECK-NEXT: %u = aot.tile_insert %p, %t {offsets = array<i64: 1, 0>} : vector<3x2x16xf32>, vector<4x2x16xf32>
  %u = aot.tile_insert %p, %t {offsets = array<i64: 1, 0>} : vector<3x2x16xf32>, vector<4x2x16xf32>
  // CHECK-NEXT: %c = aot.tile_compare "olt" %t, %u : vector<4x2x16xf32> -> vector<4x2x16xi1>
  %c = aot.tile_compare "olt" %t, %u : vector<4x2x16xf32> -> vector<4x2x16xi1>
  // CHECK-NEXT: %s = aot.tile_select %c, %t, %u : vector<4x2x16xi1>, vector<4x2x16xf32>
  %s = aot.tile_select %c, %t, %u : vector<4x2x16xi1>, vector<4x2x16xf32>
  // CHECK-NEXT: %n = aot.tile_convert "fptosi" %s : vector<4x2x16xf32> -> vector<4x2x16xi8>
  %n = aot.tile_convert "fptosi" %s : vector<4x2x16xf32> -> vector<4x2x16xi8>
  // CHECK-NEXT: aot.tile_store %s, %a[%i, %i] {strides = array<i64: 64, 16, 1>} : vector<4x2x16xf32>, memref<8x64xf32>
  aot.tile_store %s, %a[%i, %i] {strides = array<i64: 64, 16, 1>} : vector<4x2x16xf32>, memref<8x64xf32>
  // CHECK-NEXT: %q = aot.tile_load %a[%i, %i] {strides = array<i64: 64, 1>} : memref<8x64xf32> -> vector<4x4xf32>
  %q = aot.tile_load %a[%i, %i] {strides = array<i64: 64, 1>} : memref<8x64xf32> -> vector<4x4xf32>
  // CHECK-NEXT: %r = aot.tile_transpose %q : vector<4x4xf32>
  %r = aot.tile_transpose %q : vector<4x4xf32>
  // CHECK-NEXT: aot.prefetch %a[%i, %i] : memref<8x64xf32>
  aot.prefetch %a[%i, %i] : memref<8x64xf32>
  // CHECK-NEXT: %m = aot.tile_reduce "max" %r : vector<4x4xf32> -> f32
  %m = aot.tile_reduce "max" %r : vector<4x4xf32> -> f32
  func.return %m : f32
}

// CHECK-LABEL: func.func @picks(
func.func @picks(%a: vector<3x16xi32>, %n: vector<3x16xi32>) {
  // CHECK-NEXT: %p = aot.tile_pick %a, %a, %n : vector<3x16xi32>
  %p = aot.tile_pick %a, %a, %n : vector<3x16xi32>
  // CHECK-NEXT: %rescaled = aot.tile_rescale %a, %n, %n : vector<3x16xi32>
  %rescaled = aot.tile_rescale %a, %n, %n : vector<3x16xi32>
  func.return
}

// CHECK-LABEL: func.func @dots(
func.func @dots(%x: memref<8x64xi8>, %i: index, %w: vector<4x2x64xi8>, %s: vector<4x2x16xi32>) {
  // CHECK: %a = aot.tile_load %x[%i, %i] {strides = array<i64: 64, 0, 0>, valid = 3 : i64, group = 4 : i64} : memref<8x64xi8> -> vector<4x2x64xi8>
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 64, 0, 0>, valid = 3 : i64, group = 4 : i64} : memref<8x64xi8> -> vector<4x2x64xi8>
  // CHECK-NEXT: %r = aot.tile_dot %a, %w, %s {lhs_unsigned, narrow_pairs} : vector<4x2x64xi8>, vector<4x2x16xi32>
  %r = aot.tile_dot %a, %w, %s {lhs_unsigned, narrow_pairs} : vector<4x2x64xi8>, vector<4x2x16xi32>
  // CHECK-NEXT: %p = aot.tile_dot_pair %a, %w, %a, %w, %s {lhs_unsigned, complement} : vector<4x2x64xi8>, vector<4x2x16xi32>
  %p = aot.tile_dot_pair %a, %w, %a, %w, %s {lhs_unsigned, complement} : vector<4x2x64xi8>, vector<4x2x16xi32>
  func.return
}

// CHECK-LABEL: func.func @narrowing(
func.func @narrowing(%x: vector<7x2x16xf32>, %a: vector<8xi32>) {
  // CHECK-NEXT: %b = aot.tile_narrow %x {zero_point = 3 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<7x2x16xf32> -> vector<7x2x16xi8>
  %b = aot.tile_narrow %x {zero_point = 3 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<7x2x16xf32> -> vector<7x2x16xi8>
  // CHECK-NEXT: %c = aot.tile_narrow %a, %a, %a {zero_point = 0 : i64, low = -128 : i64, high = 127 : i64} : vector<8xi32>, vector<8xi32>, vector<8xi32> -> vector<24xi8>
  %c = aot.tile_narrow %a, %a, %a {zero_point = 0 : i64, low = -128 : i64, high = 127 : i64} : vector<8xi32>, vector<8xi32>, vector<8xi32> -> vector<24xi8>
  func.return
}

// CHECK-LABEL: func.func @lookups(
func.func @lookups(%x: vector<6x16xi8>, %table: vector<4x64xi8>, %y: vector<16xi8>, %half: vector<128xi8>) {
  // CHECK-NEXT: %a = aot.tile_lookup %x, %table {width = 64 : i64} : vector<6x16xi8>, vector<4x64xi8>
  %a = aot.tile_lookup %x, %table {width = 64 : i64} : vector<6x16xi8>, vector<4x64xi8>
  // CHECK-NEXT: %b = aot.tile_lookup %y, %half, %half {width = 16 : i64} : vector<16xi8>, vector<128xi8>, vector<128xi8>
  %b = aot.tile_lookup %y, %half, %half {width = 16 : i64} : vector<16xi8>, vector<128xi8>, vector<128xi8>
  func.return
}
