// RUN: aotc-opt %s -p unroll-tiles | filecheck %s

// Each group is loaded once for all registers that repeat it; of an outer product, the fewer factors stay in registers.
// CHECK-LABEL: func.func @dots
// CHECK:       %x = aot.tile_load %a[%i, %i] {strides = array<i64: 0>, group = 4 : i64, valid = 3 : i64} : memref<8x64xi8> -> vector<16xi8>
// CHECK-NEXT:  %x_1 = aot.tile_load %a[%i, %i] {strides = array<i64: 0>, offset = 64 : i64, group = 4 : i64, valid = 3 : i64} : memref<8x64xi8> -> vector<16xi8>
// CHECK-NEXT:  %w = aot.tile_load %a[%i, %i] {strides = array<i64: 1>} : memref<8x64xi8> -> vector<16xi8>
// CHECK-NEXT:  %w_1 = aot.tile_load %a[%i, %i] {strides = array<i64: 1>, offset = 16 : i64} : memref<8x64xi8> -> vector<16xi8>
// CHECK:       %r = aot.tile_dot %x, %w, {{.*}} {lhs_unsigned} : vector<16xi8>, vector<4xi32>
// CHECK-NEXT:  %r_1 = aot.tile_dot %x, %w_1,
// CHECK-NEXT:  %r_2 = aot.tile_dot %x_1, %w,
// CHECK-NEXT:  %r_3 = aot.tile_dot %x_1, %w_1,
func.func @dots(%a: memref<8x64xi8>, %y: memref<64xi32>, %i: index) {
  %x = aot.tile_load %a[%i, %i] {strides = array<i64: 64, 0, 0>, group = 4 : i64, valid = 3 : i64} : memref<8x64xi8> -> vector<2x2x16xi8>
  %w = aot.tile_load %a[%i, %i] {strides = array<i64: 0, 16, 1>} : memref<8x64xi8> -> vector<2x2x16xi8>
  %s = aot.tile_load %y[%i] {strides = array<i64: 8, 4, 1>} : memref<64xi32> -> vector<2x2x4xi32>
  %r = aot.tile_dot %x, %w, %s {lhs_unsigned} : vector<2x2x16xi8>, vector<2x2x4xi32>
  aot.tile_store %r, %y[%i] {strides = array<i64: 8, 4, 1>} : vector<2x2x4xi32>, memref<64xi32>
  func.return
}

// Registers are bytes, or words.
// CHECK-LABEL: func.func @bytes
// CHECK:       %b = vector.bitcast %x : vector<4xi32> to vector<16xi8>
// CHECK-NEXT:  %b_1 = vector.bitcast %x_1 : vector<4xi32> to vector<16xi8>
// CHECK-NEXT:  aot.tile_store %b, %a[%i, %i] {strides = array<i64: 1>} : vector<16xi8>
// CHECK-NEXT:  aot.tile_store %b_1, %a[%i, %i] {strides = array<i64: 1>, offset = 16 : i64, valid = 8 : i64} : vector<16xi8>
func.func @bytes(%a: memref<8x64xi8>, %y: memref<64xi32>, %i: index) {
  %x = aot.tile_load %y[%i] {strides = array<i64: 4, 1>} : memref<64xi32> -> vector<2x4xi32>
  %b = vector.bitcast %x : vector<2x4xi32> to vector<2x16xi8>
  aot.tile_store %b, %a[%i, %i] {strides = array<i64: 16, 1>, valid = 24 : i64} : vector<2x16xi8>, memref<8x64xi8>
  func.return
}

// What is no function has no tiles, nor has a function that is only declared.
// CHECK: aot.global @sizes
// CHECK: func.func private @declared
aot.global @sizes : i64 = [1 : i64] {sym_visibility = "private"}
func.func private @declared(memref<8xf32>) -> ()
