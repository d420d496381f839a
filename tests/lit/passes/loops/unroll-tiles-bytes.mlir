// RUN: aotc-opt %s -p unroll-tiles | filecheck %s

// Rows are neighbours in memory, columns are not: four rows of a column are narrowed, and stored, together; then three,
// of which two are stored at once.
// CHECK-LABEL: func.func @rows
// CHECK:       [[FOUR:%.*]] = aot.tile_narrow %a, %a_2, %a_4, %a_6 {{{.*}}} : {{.*}} -> vector<64xi8>
// CHECK-NEXT:  [[THREE:%.*]] = aot.tile_narrow %a_8, %a_10, %a_12, %a_12 {{{.*}}} : {{.*}} -> vector<64xi8>
// CHECK:       aot.tile_store [[FOUR]], %y[%i] {strides = array<i64: 1>} : vector<64xi8>
// CHECK-NEXT:  [[TWO:%.*]] = vector.shuffle [[THREE]], [[THREE]] [0, 1, {{.*}}30, 31]
// CHECK-NEXT:  aot.tile_store [[TWO]], %y[%i] {strides = array<i64: 1>, offset = 64 : i64} : vector<32xi8>
// CHECK-NEXT:  aot.tile_store {{.*}}offset = 96 : i64} : vector<16xi8>
// CHECK-NEXT:  aot.tile_store {{.*}}offset = 1000 : i64} : vector<64xi8>
func.func @rows(%x: memref<14x16xf32>, %y: memref<2000xi8>) {
  %i = arith.constant 0 : index
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 32, 16, 1>} : memref<14x16xf32> -> vector<7x2x16xf32>
  %b = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<7x2x16xf32> -> vector<7x2x16xi8>
  aot.tile_store %b, %y[%i] {strides = array<i64: 16, 1000, 1>} : vector<7x2x16xi8>, memref<2000xi8>
  func.return
}

// What is looked up in between stays together, without a shuffle.
// CHECK-LABEL: func.func @looked_up
// CHECK:       [[FOUR:%.*]] = aot.tile_narrow {{.*}} -> vector<64xi8>
// CHECK-NEXT:  [[FOUND:%.*]] = aot.tile_lookup [[FOUR]], {{.*}} : vector<64xi8>
// CHECK-NEXT:  aot.tile_store [[FOUND]], {{.*}} : vector<64xi8>
// CHECK-NEXT:  func.return
func.func @looked_up(%x: memref<4x16xf32>, %table: memref<256xi8>, %y: memref<64xi8>) {
  %i = arith.constant 0 : index
  %t = aot.tile_load %table[%i] {strides = array<i64: 64, 1>} : memref<256xi8> -> vector<4x64xi8>
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 16, 1>} : memref<4x16xf32> -> vector<4x16xf32>
  %b = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<4x16xf32> -> vector<4x16xi8>
  %c = aot.tile_lookup %b, %t {width = 64 : i64} : vector<4x16xi8>, vector<4x64xi8>
  aot.tile_store %c, %y[%i] {strides = array<i64: 16, 1>} : vector<4x16xi8>, memref<64xi8>
  func.return
}

// Registers with a gap between them, and a part of one, are stored each by itself.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-3: aot.tile_store {{.*}} : vector<16xi8>
// CHECK-NEXT:  func.return
func.func @apart(%x: memref<3x16xf32>, %y: memref<60xi8>) {
  %i = arith.constant 0 : index
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 16, 1>} : memref<3x16xf32> -> vector<3x16xf32>
  %b = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<3x16xf32> -> vector<3x16xi8>
  aot.tile_store %b, %y[%i] {strides = array<i64: 20, 1>} : vector<3x16xi8>, memref<60xi8>
  func.return
}

// Stored in two orders, they are neighbours in one of them.
// CHECK-LABEL: func.func @twice
// CHECK-COUNT-4: aot.tile_store {{.*}} : vector<16xi8>
// CHECK-NEXT:  aot.tile_store {{.*}} : vector<64xi8>
// CHECK-NEXT:  func.return
func.func @twice(%x: memref<4x16xf32>, %y: memref<64xi8>, %z: memref<64xi8>) {
  %i = arith.constant 0 : index
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 32, 16, 1>} : memref<4x16xf32> -> vector<2x2x16xf32>
  %b = aot.tile_narrow %a {zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, unsigned} : vector<2x2x16xf32> -> vector<2x2x16xi8>
  aot.tile_store %b, %y[%i] {strides = array<i64: 16, 32, 1>} : vector<2x2x16xi8>, memref<64xi8>
  aot.tile_store %b, %z[%i] {strides = array<i64: 32, 16, 1>} : vector<2x2x16xi8>, memref<64xi8>
  func.return
}

// Bytes a few elements apart are lanes of two registers that overlap; others, and those of which some are not in memory,
// are loaded one by one.
// CHECK-LABEL: func.func @spaced
// CHECK:       [[FIRST:%.*]] = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<200xi8> -> vector<16xi8>
// CHECK-NEXT:  [[LAST:%.*]] = aot.tile_load %x[%i] {strides = array<i64: 1>, offset = 6 : i64} : {{.*}} -> vector<16xi8>
// CHECK-NEXT:  vector.shuffle [[FIRST]], [[LAST]] [0, 3, 6, 9, 12, 15, 28, 31] : vector<16xi8>, vector<16xi8>
// CHECK-NEXT:  aot.tile_load %x[%i] {strides = array<i64: 1>, offset = 24 : i64} : {{.*}} -> vector<16xi8>
// CHECK:       aot.tile_load %x[%i] {strides = array<i64: 5>} : memref<200xi8> -> vector<8xi8>
// CHECK-NEXT:  aot.tile_load %x[%i] {strides = array<i64: 3>, valid = 7 : i64} : memref<200xi8> -> vector<8xi8>
// CHECK-NEXT:  aot.tile_load %y[%i] {strides = array<i64: 3>} : memref<200xi32> -> vector<8xi32>
func.func @spaced(%x: memref<200xi8>, %y: memref<200xi32>, %r: memref<16xi8>) {
  %i = arith.constant 0 : index
  %a = aot.tile_load %x[%i] {strides = array<i64: 24, 3>} : memref<200xi8> -> vector<2x8xi8>
  %b = aot.tile_load %x[%i] {strides = array<i64: 5>} : memref<200xi8> -> vector<8xi8>
  %c = aot.tile_load %x[%i] {strides = array<i64: 3>, valid = 7 : i64} : memref<200xi8> -> vector<8xi8>
  %d = aot.tile_load %y[%i] {strides = array<i64: 3>} : memref<200xi32> -> vector<8xi32>
  aot.tile_store %a, %r[%i] {strides = array<i64: 8, 1>} : vector<2x8xi8>, memref<16xi8>
  func.return
}
