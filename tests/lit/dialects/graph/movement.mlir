// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.reshape %x {shape = array<i64: 3, 2>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK-NEXT: graph.broadcast %x {shape = array<i64: 4, 2, 3>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
// CHECK-NEXT: graph.slice %x {starts = array<i64: 1, 2>, steps = array<i64: 1, -2>, shape = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
// CHECK-NEXT: graph.concat %x, %x {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
// CHECK-NEXT: graph.pad %x, %v {pads = array<i64: 0, 1, 0, 2>, mode = "constant"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
// CHECK-NEXT: graph.trilu %x, %d {upper = true} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
// CHECK-NEXT: graph.trilu %v, %d {upper = false, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
func.func @forms(%x: tensor<2x3xf32>, %v: tensor<f32>, %d: tensor<i64>) {
  %0 = graph.reshape %x {shape = array<i64: 3, 2>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %2 = graph.broadcast %x {shape = array<i64: 4, 2, 3>} : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %3 = graph.slice %x {starts = array<i64: 1, 2>, steps = array<i64: 1, -2>, shape = array<i64: 1, 2>} : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %4 = graph.concat %x, %x {axis = 1} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %5 = graph.pad %x, %v {pads = array<i64: 0, 1, 0, 2>, mode = "constant"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x6xf32>
  %6 = graph.trilu %x, %d {upper = true} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2x3xf32>
  %7 = graph.trilu %v, %d {upper = false, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  func.return
}

// Nothing outside the operand is read; only the padded axis is tested.
// LOOPS-LABEL: func.func private @pad
// LOOPS:      ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// LOOPS-NEXT:   %[[AFTER:.*]] = arith.cmpi sge, %[[J]], %{{.*}} : index
// LOOPS-NEXT:   %[[BEFORE:.*]] = arith.cmpi slt, %[[J]], %{{.*}} : index
// LOOPS-NEXT:   %[[INSIDE:.*]] = arith.andi %[[AFTER]], %[[BEFORE]] : i1
// LOOPS-NEXT:   scf.if %[[INSIDE]] -> (f32) {
// LOOPS-NEXT:     %[[S:.*]] = arith.subi %[[J]], %{{.*}} : index
// LOOPS-NEXT:     memref.load %x[%[[I]], %[[S]]]
func.func private @pad(%x: memref<2x3xf32>, %out: memref<2x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x3xf32> to tensor<2x3xf32>
  %1 = graph.pad %0 {pads = array<i64: 0, 1, 0, 2>, mode = "constant"} : (tensor<2x3xf32>) -> tensor<2x6xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<2x6xf32>, memref<2x6xf32>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @edge
// LOOPS:      arith.maxsi
// LOOPS:      arith.minsi
// LOOPS-NOT:  scf.if
// LOOPS-LABEL: func.func private @concat
func.func private @edge(%x: memref<3xf32>, %out: memref<6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3xf32> to tensor<3xf32>
  %1 = graph.pad %0 {pads = array<i64: 1, 2>, mode = "edge"} : (tensor<3xf32>) -> tensor<6xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<6xf32>, memref<6xf32>) -> ()
  func.return
}

// LOOPS:      %[[FIRST:.*]] = arith.cmpi slt
// LOOPS-NEXT: scf.if %[[FIRST]] -> (f32) {
// LOOPS-NEXT:   memref.load %x
// LOOPS:      } else {
// LOOPS:        memref.load %y
func.func private @concat(%x: memref<3xf32>, %y: memref<4xf32>, %out: memref<7xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3xf32> to tensor<3xf32>
  %1 = bufferization.to_tensor %y : memref<4xf32> to tensor<4xf32>
  %2 = graph.concat %0, %1 {axis = 0} : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<7xf32>, memref<7xf32>) -> ()
  func.return
}
