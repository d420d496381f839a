// RUN: aotc-opt %s -p canonicalize,dce | filecheck %s

// A triangle of one number is a condition on two indices, which needs no memory; one of several is what they are.
// CHECK-LABEL: func.func @triangles
// CHECK-NEXT: [[A:%.*]] = graph.trilu %v, %k {upper = true, shape = array<i64: 2, 5, 5>} : (tensor<1xf32>, tensor<i64>) -> tensor<2x5x5xf32>
// CHECK-NEXT: [[X:%.*]] = graph.broadcast %x
// CHECK-NEXT: [[B:%.*]] = graph.trilu [[X]], %k {upper = false}
// CHECK-NEXT: [[D:%.*]] = graph.trilu %v, %k {upper = true, alone = true, shape = array<i64: 2, 5, 5>}
// CHECK-NEXT: func.return [[A]], [[B]], [[D]]
func.func @triangles(%v: tensor<1xf32>, %x: tensor<5xf32>, %k: tensor<i64>) -> (tensor<2x5x5xf32>, tensor<5x5xf32>, tensor<2x5x5xf32>) {
  %0 = graph.broadcast %v {shape = array<i64: 2, 5, 5>} : (tensor<1xf32>) -> tensor<2x5x5xf32>
  %1 = graph.trilu %0, %k {upper = true} : (tensor<2x5x5xf32>, tensor<i64>) -> tensor<2x5x5xf32>
  %2 = graph.broadcast %x {shape = array<i64: 5, 5>} : (tensor<5xf32>) -> tensor<5x5xf32>
  %3 = graph.trilu %2, %k {upper = false} : (tensor<5x5xf32>, tensor<i64>) -> tensor<5x5xf32>
  %4 = graph.trilu %0, %k {upper = true, alone = true} : (tensor<2x5x5xf32>, tensor<i64>) -> tensor<2x5x5xf32>
  func.return %1, %3, %4 : tensor<2x5x5xf32>, tensor<5x5xf32>, tensor<2x5x5xf32>
}
