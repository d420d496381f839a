// RUN: aotc-opt %s -t c | filecheck %s

// Compilers do not know the end of what they would write out where the iterations add to vectors: there are no registers
// for what these share.
// CHECK:      static AOTC_HELPER inline int32_t aotc_opaque_i32(int32_t n)
// CHECK:      int32_t sums(
// CHECK:          const int32_t v0 = aotc_opaque_i32(5);
// CHECK-NEXT:     for (int32_t i = 2; i < v0; ++i) {
// CHECK-NEXT:         acc += aotc_load_f32x4(&x[i * 4]);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (int32_t j = 0; j < 17; ++j) {
// CHECK-NEXT:         acc += aotc_load_f32x4(&x[j * 4]);
// CHECK-NEXT:     }
// CHECK-NEXT:     for (int32_t k = 0; k < 3; ++k) {
// CHECK-NEXT:         aotc_store_f32x4(&x[k * 4], acc);
// CHECK-NEXT:     }
func.func @sums(%x_p: !aot.ptr<f32> {aot.name = "x", aot.noalias}) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c17 = arith.constant 17 : index
  %x = aot.buffer %x_p : !aot.ptr<f32> to memref<20x4xf32>
  %start = aot.tile_load %x[%c0, %c0] {strides = array<i64: 1>} : memref<20x4xf32> -> vector<4xf32>
  %few = scf.for %i = %c2 to %c5 step %c1 iter_args(%acc = %start) -> (vector<4xf32>) {
    %row = aot.tile_load %x[%i, %c0] {strides = array<i64: 1>} : memref<20x4xf32> -> vector<4xf32>
    %sum = arith.addf %acc, %row : vector<4xf32>
    scf.yield %sum : vector<4xf32>
  }
  %many = scf.for %j = %c0 to %c17 step %c1 iter_args(%acc = %few) -> (vector<4xf32>) {
    %row = aot.tile_load %x[%j, %c0] {strides = array<i64: 1>} : memref<20x4xf32> -> vector<4xf32>
    %sum = arith.addf %acc, %row : vector<4xf32>
    scf.yield %sum : vector<4xf32>
  }
  scf.for %k = %c0 to %c3 step %c1 {
    aot.tile_store %many, %x[%k, %c0] {strides = array<i64: 1>} : vector<4xf32>, memref<20x4xf32>
  }
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
