// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.reduce %x {kind = "sum", axes = array<i64: 0, -1>, keepdims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
// CHECK-NEXT: graph.reduce %x {kind = "max", axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
// CHECK-NEXT: graph.arg_reduce %x {kind = "min", axis = 1 : i64, keepdims = false, last = true} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
// CHECK-NEXT: graph.cumulative %x {kind = "prod", axis = 2 : i64, exclusive = false, reverse = true} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
func.func @forms(%x: tensor<2x3x4xf32>) {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 0, -1>, keepdims = false} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  %1 = graph.reduce %x {kind = "max", axes = array<i64: 1>, keepdims = true} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>
  %2 = graph.arg_reduce %x {kind = "min", axis = 1, keepdims = false, last = true} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  %3 = graph.cumulative %x {kind = "prod", axis = 2, exclusive = false, reverse = true} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  func.return
}

// LOOPS-LABEL: func.func private @mean
// LOOPS:      ^bb0(%[[J:.*]]: index):
// LOOPS:      %[[SUM:.*]] = scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// LOOPS-NEXT:   %[[X:.*]] = memref.load %x[%[[I]], %[[J]]]
// LOOPS-NEXT:   %[[NEXT:.*]] = arith.addf %[[ACC]], %[[X]] : f32
// LOOPS-NEXT:   scf.yield %[[NEXT]] : f32
// LOOPS:      arith.divf %[[SUM]], %{{.*}} : f32
func.func private @mean(%x: memref<4x8xf32>, %out: memref<8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = graph.reduce %0 {kind = "mean", axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<8xf32>, memref<8xf32>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @arg_max
// LOOPS:      %[[FOUND:.*]], %[[AT:.*]] = scf.for
// LOOPS:      arith.cmpf ogt
// LOOPS:      arith.index_cast %[[AT]] : index to i64
func.func private @arg_max(%x: memref<8xf32>, %out: memref<i64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<8xf32> to tensor<8xf32>
  %1 = graph.arg_reduce %0 {kind = "max", axis = 0} : (tensor<8xf32>) -> tensor<i64>
  bufferization.materialize_in_destination %1 in %out : (tensor<i64>, memref<i64>) -> ()
  func.return
}
