// RUN: aotc-opt %s -p unroll-tiles | filecheck %s

// A loop carries registers; loads that repeat are written once, what is constant in an address is its offset.
// CHECK-LABEL: func.func @product(
func.func @product(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %y: memref<8x32xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %zero = arith.constant dense<0.000000e+00> : vector<16xf32>
  %zero = arith.constant dense<0.0> : vector<2x2x16xf32>
  // CHECK-NEXT: %sum, %sum_1, %sum_2, %sum_3, %last = scf.for %k = %c0 to %n step %c1
  // CHECK-SAME: iter_args(%acc = %zero, %acc_1 = %zero, %acc_2 = %zero, %acc_3 = %zero, %i = %c0)
  %sum, %last = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %i = %c0) -> (vector<2x2x16xf32>, index) {
    // CHECK-NEXT: %x = aot.tile_load %a[%c0, %k] {strides = array<i64: 0>, offset = 3 : i64} : memref<8x64xf32> -> vector<16xf32>
    // CHECK-NEXT: %x_1 = aot.tile_load %a[%c0, %k] {strides = array<i64: 0>, offset = 67 : i64}
    %x = aot.tile_load %a[%c0, %k] {strides = array<i64: 64, 0, 0>, offset = 3 : i64} : memref<8x64xf32> -> vector<2x2x16xf32>
    // CHECK-NEXT: %w = aot.tile_load %b[%k, %c0] {strides = array<i64: 1>} :
    // CHECK-NEXT: %w_1 = aot.tile_load %b[%k, %c0] {strides = array<i64: 1>, offset = 16 : i64, valid = 4 : i64} :
    %w = aot.tile_load %b[%k, %c0] {strides = array<i64: 0, 16, 1>, valid = 20 : i64} : memref<64x32xf32> -> vector<2x2x16xf32>
    // CHECK-NEXT: %r = math.fma %x, %w, %acc : vector<16xf32>
    // CHECK-NEXT: %r_1 = math.fma %x, %w_1, %acc_1 : vector<16xf32>
    // CHECK-NEXT: %r_2 = math.fma %x_1, %w, %acc_2 : vector<16xf32>
    // CHECK-NEXT: %r_3 = math.fma %x_1, %w_1, %acc_3 : vector<16xf32>
    %r = math.fma %x, %w, %acc : vector<2x2x16xf32>
    // CHECK-NEXT: scf.yield %r, %r_1, %r_2, %r_3, %k :
    scf.yield %r, %k : vector<2x2x16xf32>, index
  }
  // CHECK: aot.tile_store %sum, %y[%c0, %last] {strides = array<i64: 1>} : vector<16xf32>, memref<8x32xf32>
  // CHECK-NEXT: aot.tile_store %sum_1, %y[%c0, %last] {strides = array<i64: 1>, offset = 16 : i64, valid = 4 : i64} :
  // CHECK-NEXT: aot.tile_store %sum_2, %y[%c0, %last] {strides = array<i64: 1>, offset = 32 : i64} :
  // CHECK-NEXT: aot.tile_store %sum_3, %y[%c0, %last] {strides = array<i64: 1>, offset = 48 : i64, valid = 4 : i64} :
  // CHECK-NEXT: func.return
  aot.tile_store %sum, %y[%c0, %last] {strides = array<i64: 32, 16, 1>, valid = 20 : i64} : vector<2x2x16xf32>, memref<8x32xf32>
  func.return
}

// Of an outer product that is wider than high, the two rows stay in registers while columns come one after the other.
// CHECK-LABEL: func.func @wide(
func.func @wide(%a: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: %acc = arith.constant dense<0.000000e+00> : vector<4xf32>
  %acc = arith.constant dense<0.0> : vector<2x3x4xf32>
  %p = aot.tile_load %a[%c0] {strides = array<i64: 1, 0, 0>, offset = 32 : i64} : memref<64xf32> -> vector<2x3x4xf32>
  %q = aot.tile_load %a[%c0] {strides = array<i64: 0, 4, 1>} : memref<64xf32> -> vector<2x3x4xf32>
  // CHECK:      %r = math.fma %p, %q, %acc
  // CHECK-NEXT: math.fma %p_1, %q, %acc
  // CHECK-NEXT: math.fma %p, %q_1, %acc
  // CHECK-NEXT: math.fma %p_1, %q_1, %acc
  // CHECK-NEXT: math.fma %p, %q_2, %acc
  // CHECK-NEXT: math.fma %p_1, %q_2, %acc
  %r = math.fma %p, %q, %acc : vector<2x3x4xf32>
  aot.tile_store %r, %y[%c0] {strides = array<i64: 12, 4, 1>} : vector<2x3x4xf32>, memref<64xf32>
  func.return
}

// Registers that `valid` leaves empty are zeros and are not stored; a broadcast is cut off by a shuffle.
// CHECK-LABEL: func.func @cut(
func.func @cut(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: %t = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK-NEXT: %t_1 = aot.tile_load %a[%c0] {strides = array<i64: 2>, valid = 3 : i64} : memref<64xf32> -> vector<4xf32>
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 2>, valid = 3 : i64} : memref<64xf32> -> vector<2x4xf32>
  // CHECK-NEXT: [[ZERO:%.+]] = arith.constant dense<0.000000e+00> : vector<4xf32>
  // CHECK-NEXT: [[ONE:%.+]] = aot.tile_load %a[%c0] {strides = array<i64: 0>} : memref<64xf32> -> vector<4xf32>
  // CHECK-NEXT: %u{{.*}} = vector.shuffle [[ONE]], [[ZERO]] [0, 5, 6, 7] :
  %u = aot.tile_load %a[%c0] {strides = array<i64: 0, 0>, valid = 1 : i64} : memref<64xf32> -> vector<2x4xf32>
  // CHECK-NEXT: arith.addf %t_1, %u
  // CHECK-NEXT: arith.addf %t, %u
  %s = arith.addf %t, %u : vector<2x4xf32>
  // CHECK-NEXT: aot.tile_store %s, %a[%c0] {strides = array<i64: 1>} : vector<4xf32>, memref<64xf32>
  // CHECK-NEXT: func.return
  aot.tile_store %s, %a[%c0] {strides = array<i64: 4, 1>, valid = 4 : i64} : vector<2x4xf32>, memref<64xf32>
  func.return
}

// Parts are other names for registers.
// CHECK-LABEL: func.func @parts(
func.func @parts(%a: memref<64xf32>, %s: f32) {
  %c0 = arith.constant 0 : index
  // CHECK: %row = aot.tile_load
  %row = aot.tile_load %a[%c0] {strides = array<i64: 1>} : memref<64xf32> -> vector<4xf32>
  // CHECK-NEXT: %n = arith.negf %row : vector<4xf32>
  %rows = vector.broadcast %row : vector<4xf32> to vector<2x3x4xf32>
  %n = arith.negf %rows : vector<2x3x4xf32>
  // CHECK-NEXT: %v = vector.broadcast %s : f32 to vector<4xf32>
  %v = vector.broadcast %s : f32 to vector<2x1x4xf32>
  %t = aot.tile_insert %v, %n {offsets = array<i64: 0, 1>} : vector<2x1x4xf32>, vector<2x3x4xf32>
  %u = aot.tile_slice %t {offsets = array<i64: 1, 1>, sizes = array<i64: 1, 2>} : vector<2x3x4xf32> -> vector<1x2x4xf32>
  // CHECK-NEXT: aot.tile_store %v, %a[%c0] {strides = array<i64: 1>} :
  // CHECK-NEXT: aot.tile_store %n, %a[%c0] {strides = array<i64: 1>, offset = 4 : i64} :
  aot.tile_store %u, %a[%c0] {strides = array<i64: 8, 4, 1>} : vector<1x2x4xf32>, memref<64xf32>
  func.return
}

// Registers by halves, then lanes by halves.
// CHECK-LABEL: func.func @reduction(
func.func @reduction(%a: memref<64xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  // CHECK: %t = aot.tile_load
  // CHECK-NEXT: %t_1 = aot.tile_load
  // CHECK-NEXT: %t_2 = aot.tile_load
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xi32> -> vector<3x4xi32>
  // CHECK-NEXT: [[A:%.+]] = arith.addi %t, %t_2 : vector<4xi32>
  // CHECK-NEXT: [[B:%.+]] = arith.addi [[A]], %t_1 : vector<4xi32>
  // CHECK-NEXT: [[LOW:%.+]] = vector.shuffle [[B]], [[B]] [0, 1] : vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: [[HIGH:%.+]] = vector.shuffle [[B]], [[B]] [2, 3] : vector<4xi32>, vector<4xi32>
  // CHECK-NEXT: [[C:%.+]] = arith.addi [[LOW]], [[HIGH]] : vector<2xi32>
  // CHECK-NEXT: [[FIRST:%.+]] = vector.shuffle [[C]], [[C]] [0] : vector<2xi32>, vector<2xi32>
  // CHECK-NEXT: [[SECOND:%.+]] = vector.shuffle [[C]], [[C]] [1] : vector<2xi32>, vector<2xi32>
  // CHECK-NEXT: [[D:%.+]] = arith.addi [[FIRST]], [[SECOND]] : vector<1xi32>
  // CHECK-NEXT: %s = vector.extract [[D]][0] : i32 from vector<1xi32>
  %s = aot.tile_reduce "add" %t : vector<3x4xi32> -> i32
  func.return %s : i32
}

// What compares greater: a comparison and a choice, no care for NaN.
// CHECK-LABEL: func.func @greatest(
func.func @greatest(%a: memref<64xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 2, 1>} : memref<64xf32> -> vector<2x2xf32>
  // CHECK: [[GREATER:%.+]] = aot.tile_compare "ogt" %t_1, %t : vector<2xf32> -> vector<2xi1>
  // CHECK-NEXT: [[A:%.+]] = aot.tile_select [[GREATER]], %t_1, %t : vector<2xi1>, vector<2xf32>
  // CHECK: [[B:%.+]] = aot.tile_select {{.*}} : vector<1xi1>, vector<1xf32>
  // CHECK-NEXT: %s = vector.extract [[B]][0] : f32 from vector<1xf32>
  %s = aot.tile_reduce "ogt" %t : vector<2x2xf32> -> f32
  func.return %s : f32
}

// Interleaving in groups of 16 bytes, then exchanging them.
// CHECK-LABEL: func.func @transpose(
func.func @transpose(%a: memref<64xf64>) {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xf64> -> vector<4x4xf64>
  // CHECK: [[A:%.+]] = vector.shuffle %t, %t_1 [0, 4, 2, 6] :
  // CHECK-NEXT: [[B:%.+]] = vector.shuffle %t, %t_1 [1, 5, 3, 7] :
  // CHECK-NEXT: [[C:%.+]] = vector.shuffle %t_2, %t_3 [0, 4, 2, 6] :
  // CHECK-NEXT: [[D:%.+]] = vector.shuffle %t_2, %t_3 [1, 5, 3, 7] :
  // CHECK-NEXT: vector.shuffle [[A]], [[C]] [0, 1, 4, 5] :
  // CHECK-NEXT: vector.shuffle [[A]], [[C]] [2, 3, 6, 7] :
  // CHECK-NEXT: vector.shuffle [[B]], [[D]] [0, 1, 4, 5] :
  // CHECK-NEXT: vector.shuffle [[B]], [[D]] [2, 3, 6, 7] :
  %u = aot.tile_transpose %t : vector<4x4xf64>
  aot.tile_store %u, %a[%c0] {strides = array<i64: 4, 1>} : vector<4x4xf64>, memref<64xf64>
  func.return
}

// Element by element, for whatever type the elements of the result have; a scalar condition is every register's.
// CHECK-LABEL: func.func @elements(
func.func @elements(%a: memref<64xf32>, %y: memref<64xi32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xf32> -> vector<2x4xf32>
  // CHECK: %k = arith.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : vector<4xf32>
  // CHECK-NEXT: %k_1 = arith.constant dense<5.000000e+00> : vector<4xf32>
  %k = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 5.0, 5.0]]> : vector<2x4xf32>
  // CHECK-NEXT: %m = aot.tile_compare "olt" %t, %k : vector<4xf32> -> vector<4xi1>
  // CHECK-NEXT: %m_1 = aot.tile_compare "olt" %t_1, %k_1 : vector<4xf32> -> vector<4xi1>
  %m = aot.tile_compare "olt" %t, %k : vector<2x4xf32> -> vector<2x4xi1>
  // CHECK-NEXT: %s = aot.tile_select %m, %t, %k : vector<4xi1>, vector<4xf32>
  // CHECK-NEXT: %s_1 = aot.tile_select %m_1, %t_1, %k_1 : vector<4xi1>, vector<4xf32>
  %s = aot.tile_select %m, %t, %k : vector<2x4xi1>, vector<2x4xf32>
  // CHECK-NEXT: arith.select %c, %s, %t : vector<4xf32>
  // CHECK-NEXT: arith.select %c, %s_1, %t_1 : vector<4xf32>
  %r = arith.select %c, %s, %t : vector<2x4xf32>
  // CHECK-NEXT: %i = aot.tile_convert "fptosi" %r : vector<4xf32> -> vector<4xi32>
  // CHECK-NEXT: %i_1 = aot.tile_convert "fptosi" %r_1 : vector<4xf32> -> vector<4xi32>
  %i = aot.tile_convert "fptosi" %r : vector<2x4xf32> -> vector<2x4xi32>
  aot.tile_store %i, %y[%c0] {strides = array<i64: 4, 1>} : vector<2x4xi32>, memref<64xi32>
  func.return
}

// Register by register; lanes of both are counted through.
// CHECK-LABEL: func.func @shuffled(
func.func @shuffled(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  // CHECK: %t = aot.tile_load
  // CHECK-NEXT: %t_1 = aot.tile_load
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xf32> -> vector<2x4xf32>
  // CHECK-NEXT: %u = aot.tile_load
  // CHECK-NEXT: %u_1 = aot.tile_load
  %u = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>, offset = 32 : i64} : memref<64xf32> -> vector<2x4xf32>
  // CHECK-NEXT: %s = vector.shuffle %t, %u [0, 4, 3, 5] : vector<4xf32>, vector<4xf32>
  // CHECK-NEXT: %s_1 = vector.shuffle %t_1, %u_1 [0, 4, 3, 5] : vector<4xf32>, vector<4xf32>
  %s = aot.tile_shuffle %t, %u {lanes = array<i64: 0, 4, 3, 5>} : vector<2x4xf32> -> vector<2x4xf32>
  aot.tile_store %s, %a[%c0] {strides = array<i64: 4, 1>} : vector<2x4xf32>, memref<64xf32>
  func.return
}

// Only of extremes the sign of a zero may be another.
// CHECK-LABEL: func.func @zeros(
// CHECK:         arith.addf %{{[^ ]+}}, %{{[^ ]+}} : vector<2xf32>
// CHECK:         arith.maximumf %{{[^ ]+}}, %{{[^ ]+}} fastmath<nsz> : vector<2xf32>
func.func @zeros(%t: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %v = aot.tile_load %t[%c0] {strides = array<i64: 1>} : memref<4xf32> -> vector<4xf32>
  %s = aot.tile_reduce "add" %v : vector<4xf32> -> f32
  %m = aot.tile_reduce "max" %v : vector<4xf32> -> f32
  %r = arith.addf %s, %m : f32
  func.return %r : f32
}

// Each register picks from the corresponding ones.
// CHECK-LABEL: func.func @picks(
func.func @picks(%a: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xi32> -> vector<2x4xi32>
  %n = aot.tile_load %a[%c0] {strides = array<i64: 8, 1>} : memref<64xi32> -> vector<2x4xi32>
  // CHECK:      %p = aot.tile_pick %t, %t, %n : vector<4xi32>
  // CHECK-NEXT: %p_1 = aot.tile_pick %t_1, %t_1, %n_1 : vector<4xi32>
  %p = aot.tile_pick %t, %t, %n : vector<2x4xi32>
  aot.tile_store %p, %a[%c0] {strides = array<i64: 4, 1>} : vector<2x4xi32>, memref<64xi32>
  func.return
}

// Four registers together; of what is left the register is repeated. One that is as wide as the instruction stays alone.
// CHECK-LABEL: func.func @looks_up(
func.func @looks_up(%x: memref<5x16xi8>, %table: memref<256xi8>, %i: index) {
  // CHECK:      [[T0:%.*]] = aot.tile_load %table[%i] {strides = array<i64: 1>} : memref<256xi8> -> vector<64xi8>
  // CHECK-NEXT: aot.tile_load %table[%i] {strides = array<i64: 1>, offset = 64 : i64}
  // CHECK-NEXT: aot.tile_load %table[%i] {strides = array<i64: 1>, offset = 128 : i64}
  // CHECK-NEXT: [[T3:%.*]] = aot.tile_load %table[%i] {strides = array<i64: 1>, offset = 192 : i64}
  %t = aot.tile_load %table[%i] {strides = array<i64: 64, 1>} : memref<256xi8> -> vector<4x64xi8>
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 16, 1>} : memref<5x16xi8> -> vector<5x16xi8>
  // CHECK:      [[LOW:%.*]] = vector.shuffle {{.*}} : vector<16xi8>, vector<16xi8>
  // CHECK-NEXT: [[HIGH:%.*]] = vector.shuffle {{.*}} : vector<16xi8>, vector<16xi8>
  // CHECK-NEXT: [[WHOLE:%.*]] = vector.shuffle [[LOW]], [[HIGH]] {{.*}} : vector<32xi8>, vector<32xi8>
  // CHECK-NEXT: [[FOUR:%.*]] = aot.tile_lookup [[WHOLE]], [[T0]], {{.*}}, [[T3]] {width = 64 : i64} : vector<64xi8>, vector<64xi8>
  // CHECK-NOT:  vector.shuffle [[FOUR]]
  // CHECK:      [[PAIR:%.*]] = vector.shuffle [[LAST:%.*]], [[LAST]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
  // CHECK:      [[ONE:%.*]] = aot.tile_lookup
  // CHECK-NEXT: vector.shuffle [[ONE]], [[ONE]] [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15] : vector<64xi8>, vector<64xi8>
  // CHECK-NOT:  vector.shuffle
  // CHECK:      aot.tile_store [[FOUR]], {{.*}} : vector<64xi8>
  // CHECK-NEXT: aot.tile_store {{.*}}offset = 64 : i64} : vector<16xi8>
  %b = aot.tile_lookup %a, %t {width = 64 : i64} : vector<5x16xi8>, vector<4x64xi8>
  aot.tile_store %b, %x[%i, %i] {strides = array<i64: 16, 1>} : vector<5x16xi8>, memref<5x16xi8>
  // CHECK:      aot.tile_lookup %w, [[T0]]
  // CHECK-NEXT: func.return
  %w = aot.tile_load %table[%i] {strides = array<i64: 1>} : memref<256xi8> -> vector<64xi8>
  %c = aot.tile_lookup %w, %t {width = 64 : i64} : vector<64xi8>, vector<4x64xi8>
  func.return
}
