// RUN: not aotc-opt %s -p unroll-tiles 2>&1 | filecheck %s

// CHECK: scf.while {{.*}}[no-form-on-tiles]
func.func @loop(%a: memref<64xf32>, %go: i1) {
  %c0 = arith.constant 0 : index
  %t = aot.tile_load %a[%c0] {strides = array<i64: 4, 1>} : memref<64xf32> -> vector<2x4xf32>
  %r = "scf.while"(%t) ({
  ^bb0(%x: vector<2x4xf32>):
    "scf.condition"(%go, %x) : (i1, vector<2x4xf32>) -> ()
  }, {
  ^bb0(%y: vector<2x4xf32>):
    scf.yield %y : vector<2x4xf32>
  }) : (vector<2x4xf32>) -> vector<2x4xf32>
  func.return
}
