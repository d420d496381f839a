// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.non_zero %x : (tensor<3x4xf32>) -> (tensor<2x12xi64>, tensor<i64>)
// CHECK-NEXT: graph.unique %x {sorted = true} : (tensor<3x4xf32>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>)
// CHECK-NEXT: graph.suppress %b, %s {limit = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x5xf32>) -> (tensor<6x3xi64>, tensor<i64>, tensor<5xi64>)
// CHECK-NEXT: graph.count_grams %i, %g, %n {skips = 1 : i64} : (tensor<2x9xi32>, tensor<4x2xi64>, tensor<4xi64>) -> tensor<2x4xf32>
func.func @forms(%x: tensor<3x4xf32>, %b: tensor<1x5x4xf32>, %s: tensor<1x3x5xf32>, %i: tensor<2x9xi32>, %g: tensor<4x2xi64>, %n: tensor<4xi64>) {
  %0, %1 = graph.non_zero %x : (tensor<3x4xf32>) -> (tensor<2x12xi64>, tensor<i64>)
  %2, %3, %4, %5 = graph.unique %x {sorted = true} : (tensor<3x4xf32>) -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<i64>)
  %6, %7, %8 = graph.suppress %b, %s {limit = 2, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x5x4xf32>, tensor<1x3x5xf32>) -> (tensor<6x3xi64>, tensor<i64>, tensor<5xi64>)
  %9 = graph.count_grams %i, %g, %n {skips = 1} : (tensor<2x9xi32>, tensor<4x2xi64>, tensor<4xi64>) -> tensor<2x4xf32>
  func.return
}

// What comes after the count is filled, so that every element is written once.
// LOOPS-LABEL: func.func private @positions
// LOOPS:      %[[COUNT:.*]] = scf.for %{{.*}} iter_args(%[[N:.*]] = %{{.*}}) -> (index) {
// LOOPS:        memref.load %x
// LOOPS-NEXT:   arith.cmpf une
// LOOPS:        scf.if
// LOOPS:          memref.store %{{.*}}, %p[%{{.*}}, %[[N]]]
// LOOPS:      scf.for %[[I:.*]] = %[[COUNT]] to
// LOOPS-NEXT:   memref.store %{{.*}}, %p[%{{.*}}, %[[I]]]
// LOOPS:      memref.store %{{.*}}, %c[]
func.func private @positions(%x: memref<6xf32>, %p: memref<1x6xi64>, %c: memref<i64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6xf32> to tensor<6xf32>
  %1, %2 = graph.non_zero %0 : (tensor<6xf32>) -> (tensor<1x6xi64>, tensor<i64>)
  bufferization.materialize_in_destination %1 in %p : (tensor<1x6xi64>, memref<1x6xi64>) -> ()
  bufferization.materialize_in_destination %2 in %c : (tensor<i64>, memref<i64>) -> ()
  func.return
}
