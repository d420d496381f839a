// RUN: aotc-opt %s -p split-fma | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    [[P:%.*]] = arith.mulf %x, %y : vector<2x4xf32>
// CHECK-NEXT:    [[S:%.*]] = arith.addf [[P]], %z : vector<2x4xf32>
// CHECK-NEXT:    func.return [[S]]
func.func @f(%x: vector<2x4xf32>, %y: vector<2x4xf32>, %z: vector<2x4xf32>) -> vector<2x4xf32> {
  %0 = math.fma %x, %y, %z : vector<2x4xf32>
  func.return %0 : vector<2x4xf32>
}
