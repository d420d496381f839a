// RUN: aotc-opt %s -p expand-math | filecheck %s

// Of a tile, and of an element beside it: the same operations with the same constants.
// CHECK-LABEL: func.func @exponentials
func.func @exponentials(%x: memref<4x8xf32>, %i: index) -> f32 {
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 8, 1>} : memref<4x8xf32> -> vector<2x8xf32>
  %b = memref.load %x[%i, %i] : memref<4x8xf32>
  // CHECK:      %[[N:.*]] = math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<2x8xf32>
  // CHECK:      math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<2x8xf32>
  // CHECK:      arith.bitcast %[[N]] : vector<2x8xf32> to vector<2x8xi32>
  // CHECK-COUNT-6: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<2x8xf32>
  // CHECK:      arith.shli %{{.*}}, %{{.*}} : vector<2x8xi32>
  // CHECK:      arith.mulf %{{.*}}, %{{.*}} : vector<2x8xf32>
  // CHECK:      %[[E:.*]] = arith.mulf %{{.*}}, %{{.*}} : vector<2x8xf32>
  %0 = math.exp %a : vector<2x8xf32>
  // CHECK:      aot.tile_store %[[E]], %x
  aot.tile_store %0, %x[%i, %i] {strides = array<i64: 8, 1>} : vector<2x8xf32>, memref<4x8xf32>
  // CHECK-COUNT-9: math.fma %{{.*}}, %{{.*}}, %{{.*}} : f32
  // CHECK:      arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK:      %[[S:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  %1 = math.exp %b : f32
  // CHECK-NEXT: func.return %[[S]]
  func.return %1 : f32
}

// A large tile, four registers at a time.
// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: memref<5x2x8xf32>, %i: index) {
  %a = aot.tile_load %x[%i, %i, %i] {strides = array<i64: 16, 8, 1>} : memref<5x2x8xf32> -> vector<5x2x8xf32>
  // CHECK: %[[P0:.*]] = aot.tile_slice %{{.*}} {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 2>}
  // CHECK: math.copysign %{{.*}}, %[[P0]]
  // CHECK: %[[R0:.*]] = aot.tile_insert %{{.*}}, %{{.*}} {offsets = array<i64: 0, 0>}
  // CHECK: aot.tile_slice %{{.*}} {offsets = array<i64: 2, 0>, sizes = array<i64: 2, 2>}
  // CHECK: %[[R1:.*]] = aot.tile_insert %{{.*}}, %[[R0]] {offsets = array<i64: 2, 0>}
  // CHECK: aot.tile_slice %{{.*}} {offsets = array<i64: 4, 0>, sizes = array<i64: 1, 2>}
  // CHECK: %[[R2:.*]] = aot.tile_insert %{{.*}}, %[[R1]] {offsets = array<i64: 4, 0>}
  %0 = math.tanh %a : vector<5x2x8xf32>
  // CHECK: aot.tile_store %[[R2]]
  aot.tile_store %0, %x[%i, %i, %i] {strides = array<i64: 16, 8, 1>} : vector<5x2x8xf32>, memref<5x2x8xf32>
  func.return
}

// Of a single row, its registers.
// CHECK-LABEL: func.func @row
func.func @row(%x: memref<5x8xf32>, %i: index) {
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 40, 8, 1>} : memref<5x8xf32> -> vector<1x5x8xf32>
  // CHECK: aot.tile_slice %{{.*}} {offsets = array<i64: 0, 0>, sizes = array<i64: 1, 4>}
  // CHECK: aot.tile_slice %{{.*}} {offsets = array<i64: 0, 4>, sizes = array<i64: 1, 1>}
  %0 = math.tanh %a : vector<1x5x8xf32>
  aot.tile_store %0, %x[%i, %i] {strides = array<i64: 40, 8, 1>} : vector<1x5x8xf32>, memref<5x8xf32>
  func.return
}

// A constant divisor or factor of the argument goes into the coefficients of erf, where its error is no larger in the
// result; not of exp, and not one so small that these were no normal numbers.
// CHECK-LABEL: func.func @quotients
func.func @quotients(%x: memref<8xf32>, %i: index) {
  // CHECK-DAG: %[[END:.*]] = arith.constant dense<7.660000e+00> : vector<8xf32>
  // CHECK:     %[[A:.*]] = aot.tile_load
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<8xf32> -> vector<8xf32>
  %two = arith.constant dense<2.0> : vector<8xf32>
  %three = arith.constant dense<3.0> : vector<8xf32>
  %tiny = arith.constant dense<1.0e-40> : vector<8xf32>
  // CHECK-NOT: arith.divf %[[A]]
  // CHECK:     aot.tile_compare "ogt" %{{.*}}, %[[END]]
  %q = arith.divf %a, %two : vector<8xf32>
  %0 = math.erf %q : vector<8xf32>
  // CHECK:     arith.divf %{{.*}}, %tiny
  %p = arith.divf %0, %tiny : vector<8xf32>
  %1 = math.erf %p : vector<8xf32>
  // CHECK-NOT: arith.mulf %three,
  %m = arith.mulf %three, %1 : vector<8xf32>
  %2 = math.tanh %m : vector<8xf32>
  // CHECK:     math.copysign
  // CHECK:     arith.divf %{{.*}}, %three
  %r = arith.divf %2, %three : vector<8xf32>
  %3 = math.exp %r : vector<8xf32>
  aot.tile_store %3, %x[%i] {strides = array<i64: 1>} : vector<8xf32>, memref<8xf32>
  func.return
}

// The greatest factor is 16, the least its reciprocal.
// CHECK-LABEL: func.func @factors
func.func @factors(%x: memref<8xf32>, %i: index) {
  // CHECK-NOT: arith.mulf %{{.*}}, %{{most|least}} :
  // CHECK:     arith.mulf %{{.*}}, %more :
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<8xf32> -> vector<8xf32>
  %most = arith.constant dense<16.0> : vector<8xf32>
  %least = arith.constant dense<0.0625> : vector<8xf32>
  %more = arith.constant dense<16.5> : vector<8xf32>
  %p = arith.mulf %a, %most : vector<8xf32>
  %0 = math.erf %p : vector<8xf32>
  %q = arith.mulf %0, %least : vector<8xf32>
  %1 = math.erf %q : vector<8xf32>
  %r = arith.mulf %1, %more : vector<8xf32>
  %2 = math.erf %r : vector<8xf32>
  aot.tile_store %2, %x[%i] {strides = array<i64: 1>} : vector<8xf32>, memref<8xf32>
  func.return
}

// f64 keeps its functions, and so do kernels without tiles.
// CHECK-LABEL: func.func @kept
// CHECK: math.exp %{{.*}} : f64
func.func @kept(%x: memref<8xf32>, %d: f64, %i: index) -> f64 {
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<8xf32> -> vector<8xf32>
  aot.tile_store %a, %x[%i] {strides = array<i64: 1>} : vector<8xf32>, memref<8xf32>
  %0 = math.exp %d : f64
  func.return %0 : f64
}
// CHECK-LABEL: func.func @plain
// CHECK: math.log %{{.*}} : f32
func.func @plain(%x: f32) -> f32 {
  %0 = math.log %x : f32
  func.return %0 : f32
}

// Sine and cosine: large numbers are reduced apart, in f64, if any element of the tile is one, and only they take that.
// CHECK-LABEL: func.func @circular
func.func @circular(%x: memref<4x8xf32>, %i: index) -> f32 {
  // CHECK-DAG: %[[FAR:.*]] = arith.constant dense<1.280000e+04> : vector<2x8xf32>
  // CHECK-DAG: %[[FAR_BITS:.*]] = arith.constant 1179123712 : i32
  %a = aot.tile_load %x[%i, %i] {strides = array<i64: 8, 1>} : memref<4x8xf32> -> vector<2x8xf32>
  %b = memref.load %x[%i, %i] : memref<4x8xf32>
  // CHECK:      %[[A:.*]] = math.absf %{{.*}} : vector<2x8xf32>
  // CHECK:      %[[BITS:.*]] = arith.bitcast %[[A]] : vector<2x8xf32> to vector<2x8xi32>
  // CHECK:      %[[MOST:.*]] = aot.tile_reduce "max" %[[BITS]] : vector<2x8xi32> -> i32
  // CHECK:      %[[IF:.*]] = arith.cmpi sgt, %[[MOST]], %[[FAR_BITS]] : i32
  // CHECK:      %{{.*}} = scf.if %[[IF]] -> (vector<2x8xi32>, vector<2x8xf32>) {
  // CHECK:        %[[EACH:.*]] = aot.tile_compare "ogt" %[[A]], %[[FAR]]
  // CHECK:        aot.tile_convert "extf" %[[A]]
  // CHECK-COUNT-6: math.roundeven %{{.*}} : vector<2x8xf64>
  // CHECK:        aot.tile_select %[[EACH]], %{{.*}} : vector<2x8xi1>, vector<2x8xi32>
  // CHECK:        aot.tile_select %[[EACH]], %{{.*}} : vector<2x8xi1>, vector<2x8xf32>
  // CHECK:      } else {
  // CHECK-NEXT:   scf.yield
  // CHECK-NOT:  math.sin
  %0 = math.sin %a : vector<2x8xf32>
  aot.tile_store %0, %x[%i, %i] {strides = array<i64: 8, 1>} : vector<2x8xf32>, memref<4x8xf32>
  // CHECK:      %[[B:.*]] = math.absf %{{.*}} : f32
  // CHECK:      %[[BITS:.*]] = arith.bitcast %[[B]] : f32 to i32
  // CHECK:      arith.cmpi sgt, %[[BITS]], %[[FAR_BITS]] : i32
  // CHECK-NOT:  math.cos
  %1 = math.cos %b : f32
  // CHECK:      func.return
  func.return %1 : f32
}

// The logarithm of 1 + x, with what the sum rounds off, and with the sign of x.
// CHECK-LABEL: func.func @log1p
func.func @log1p(%x: memref<8xf32>, %i: index) {
  // CHECK-DAG:  %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<8xf32>
  // CHECK:      %[[X:.*]] = aot.tile_load
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<8xf32> -> vector<8xf32>
  // CHECK:      %[[U:.*]] = arith.addf %[[X]], %[[ONE]]
  // CHECK:      %[[BACK:.*]] = arith.subf %[[U]], %[[ONE]]
  // CHECK-NEXT: arith.subf %[[X]], %[[BACK]]
  // CHECK:      math.copysign %{{.*}}, %[[X]]
  // CHECK-NOT:  math.log1p
  %0 = math.log1p %a : vector<8xf32>
  // CHECK:      aot.tile_store
  aot.tile_store %0, %x[%i] {strides = array<i64: 1>} : vector<8xf32>, memref<8xf32>
  func.return
}

// Angles, hyperbolic functions and their inverses: nothing is left for a library.
// CHECK-LABEL: func.func @others
func.func @others(%x: memref<8xf32>, %i: index) {
  // CHECK-NOT: math.{{a?(sin|cos|tan)h?}} %
  %a = aot.tile_load %x[%i] {strides = array<i64: 1>} : memref<8xf32> -> vector<8xf32>
  %0 = math.tan %a : vector<8xf32>
  %1 = math.asin %0 : vector<8xf32>
  %2 = math.acos %1 : vector<8xf32>
  %3 = math.atan %2 : vector<8xf32>
  %4 = math.sinh %3 : vector<8xf32>
  %5 = math.cosh %4 : vector<8xf32>
  %6 = math.asinh %5 : vector<8xf32>
  %7 = math.acosh %6 : vector<8xf32>
  %8 = math.atanh %7 : vector<8xf32>
  // CHECK: func.return
  aot.tile_store %8, %x[%i] {strides = array<i64: 1>} : vector<8xf32>, memref<8xf32>
  func.return
}
