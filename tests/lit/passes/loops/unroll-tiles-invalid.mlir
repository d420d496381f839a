// RUN: not aotc-opt %s -p unroll-tiles 2>&1 | filecheck %s

// CHECK: math.exp {{.*}}[no-form-on-tiles]
func.func @function(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xf32> -> vector<2x4xf32>
  %u = math.exp %t : vector<2x4xf32>
  aot.tile_store %u, %a[%c0] {strides = array<i64: 4, 1>} : vector<2x4xf32>, memref<64xf32>
  func.return
}
