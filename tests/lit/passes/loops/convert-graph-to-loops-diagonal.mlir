// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s

// A matrix that is 0 but for a diagonal: zeros, then the diagonal, as far as it is in the matrix; blocks of rows by several
// threads.
// CHECK-LABEL: func.func private @right
// CHECK-DAG:  %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:  %[[ROWS:.*]] = arith.constant 4 : index
// CHECK-DAG:  %[[COLUMNS:.*]] = arith.constant 5 : index
// CHECK-DAG:  %[[COUNT:.*]] = arith.constant 2 : index
// CHECK-DAG:  %[[PLACE:.*]] = arith.constant 3 : index
// CHECK:      scf.for %[[I:.*]] = %{{.*}} to %[[ROWS]] step
// CHECK-NEXT:   scf.for %[[J:.*]] = %{{.*}} to %[[COLUMNS]] step
// CHECK-NEXT:     memref.store %[[ZERO]], %out[%[[I]], %[[J]]]
// CHECK:      scf.for %[[K:.*]] = %{{.*}} to %[[COUNT]] step
// CHECK-NEXT:   %[[L:.*]] = arith.addi %[[K]], %[[PLACE]]
// CHECK:        memref.store %{{.*}}, %out[%[[K]], %[[L]]]
func.func private @right(%out: memref<4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = graph.constant dense<3> : tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, alone = true, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  func.return
}

// Element by element: a triangle; several matrices; a place that is known at run time; what is computed of it; two results.
// CHECK-LABEL: func.func private @triangle
// CHECK: "scf.parallel"
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @several
func.func private @triangle(%out: memref<4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = graph.constant dense<3> : tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  func.return
}
// CHECK: "scf.parallel"
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @unknown
func.func private @several(%out: memref<2x4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = graph.constant dense<3> : tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, alone = true, shape = array<i64: 2, 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<2x4x5xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<2x4x5xf32>, memref<2x4x5xf32>) -> ()
  func.return
}
// CHECK: "scf.parallel"
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @computed
func.func private @unknown(%place: memref<i64>, %out: memref<4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = bufferization.to_tensor %place : memref<i64> to tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, alone = true, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  func.return
}
// CHECK: "scf.parallel"
// CHECK-NOT: scf.for
// CHECK-LABEL: func.func private @two
func.func private @computed(%out: memref<4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = graph.constant dense<3> : tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, alone = true, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  %1 = graph.exp %0 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  func.return
}
// CHECK: "scf.parallel"
// CHECK-NOT: scf.for
func.func private @two(%out: memref<4x5xf32>, %other: memref<4x5xf32>) attributes {aot.kernel} {
  %x = graph.constant dense<2.0> : tensor<f32>
  %k = graph.constant dense<3> : tensor<i64>
  %0 = graph.trilu %x, %k {upper = true, alone = true, shape = array<i64: 4, 5>} : (tensor<f32>, tensor<i64>) -> tensor<4x5xf32>
  %1 = graph.exp %0 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  bufferization.materialize_in_destination %1 in %other : (tensor<4x5xf32>, memref<4x5xf32>) -> ()
  func.return
}
