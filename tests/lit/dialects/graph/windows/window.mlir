// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil = true} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: graph.max_pool_indices %x
// CHECK-SAME: -> tensor<1x2x3x3xi64>
// CHECK-NEXT: graph.average_pool %x
// CHECK-SAME: include_pad = true
// CHECK-NEXT: graph.lp_pool %x
// CHECK-SAME: p = 2 : i64
func.func @forms(%x: tensor<1x2x8x8xf32>) {
  %0 = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil = true} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.max_pool_indices %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, column_major = true} : (tensor<1x2x8x8xf32>) -> tensor<1x2x3x3xi64>
  %2 = graph.average_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, include_pad = true} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  %3 = graph.lp_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, p = 2} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  func.return
}

// Unsigned elements compare unsigned and begin with 0.
// LOOPS-LABEL: func.func private @max
// LOOPS:      %[[LEAST:.*]] = arith.constant 0 : i8
// LOOPS:      scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[LEAST]]) -> (i8)
// LOOPS:      arith.maxui
func.func private @max(%x: memref<1x2x8xui8>, %out: memref<1x2x4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xui8> to tensor<1x2x8xui8>
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xui8>) -> tensor<1x2x4xui8>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x4xui8>, memref<1x2x4xui8>) -> ()
  func.return
}

// Only what lies inside the operand counts.
// LOOPS-LABEL: func.func private @average
// LOOPS:      %[[LOW:.*]] = arith.maxsi
// LOOPS:      %[[HIGH:.*]] = arith.minsi
// LOOPS:      %[[SUM:.*]] = scf.for %{{.*}} = %[[LOW]] to %[[HIGH]]
// LOOPS:      arith.subi %{{.*}}, %{{.*}} : index
// LOOPS:      %[[COUNT:.*]] = arith.sitofp
// LOOPS-NEXT: arith.divf %[[SUM]], %[[COUNT]]
func.func private @average(%x: memref<1x2x8xf32>, %out: memref<1x2x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xf32> to tensor<1x2x8xf32>
  %1 = graph.average_pool %0 {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x8xf32>, memref<1x2x8xf32>) -> ()
  func.return
}

// Without padding the count is a constant.
// LOOPS-LABEL: func.func private @full
// LOOPS:      %[[COUNT:.*]] = arith.constant 2.000000e+00 : f32
// LOOPS:      %[[SUM:.*]] = scf.for
// LOOPS:      arith.divf %[[SUM]], %[[COUNT]]
func.func private @full(%x: memref<1x2x8xf32>, %out: memref<1x2x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xf32> to tensor<1x2x8xf32>
  %1 = graph.average_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x8xf32>) -> tensor<1x2x4xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x4xf32>, memref<1x2x4xf32>) -> ()
  func.return
}
