// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.conv %x, %w, %c {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 2>, group = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT: graph.conv_transpose %x, %t {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, output_padding = array<i64: 1, 0>} : (tensor<1x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x17x16xf32>
func.func @forms(%x: tensor<1x4x8x8xf32>, %w: tensor<6x2x3x3xf32>, %c: tensor<6xf32>, %t: tensor<4x3x3x3xf32>) {
  %1 = graph.conv %x, %w, %c {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 2>, group = 2} : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x4xf32>
  %2 = graph.conv_transpose %x, %t {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 1, 1>, dilations = array<i64: 1, 1>, group = 1, output_padding = array<i64: 1, 0>} : (tensor<1x4x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x3x17x16xf32>
  func.return
}

// Padding clamps the bounds of the loop over taps; the sum begins with the bias; the axis without padding has none.
// LOOPS-LABEL: func.func private @conv
// LOOPS:      %[[C3:.*]] = arith.constant 3 : index
// LOOPS:      ^bb0(%[[OC:.*]]: index, %[[H:.*]]: index, %[[W:.*]]: index):
// LOOPS:        %[[LOW:.*]] = arith.maxsi
// LOOPS:        %[[HIGH:.*]] = arith.minsi
// LOOPS-NEXT:   %[[BIAS:.*]] = memref.load %c[%[[OC]]]
// LOOPS-NEXT:   scf.for %[[IC:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%{{.*}} = %[[BIAS]]) -> (f32) {
// LOOPS-NEXT:     scf.for %[[KH:.*]] = %[[LOW]] to %[[HIGH]] step
// LOOPS-NEXT:       scf.for %[[KW:.*]] = %{{.*}} to %[[C3]] step
// LOOPS-NOT:  scf.if
// LOOPS-LABEL: func.func private @depthwise
func.func private @conv(%x: memref<1x2x8x8xf32>, %w: memref<6x2x3x3xf32>, %c: memref<6xf32>, %out: memref<1x6x8x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8x8xf32> to tensor<1x2x8x8xf32>
  %1 = bufferization.to_tensor %w : memref<6x2x3x3xf32> to tensor<6x2x3x3xf32>
  %2 = bufferization.to_tensor %c : memref<6xf32> to tensor<6xf32>
  %3 = graph.conv %0, %1, %2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, group = 1} : (tensor<1x2x8x8xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<1x6x8x6xf32>
  bufferization.materialize_in_destination %3 in %out : (tensor<1x6x8x6xf32>, memref<1x6x8x6xf32>) -> ()
  func.return
}

// One channel in each group: no loop over channels.
// LOOPS:      ^bb0(%[[C:.*]]: index, %[[P:.*]]: index):
// LOOPS-NEXT:   scf.for %[[K:[0-9]+]] =
// LOOPS:          memref.load %x[%{{.*}}, %[[C]], %{{.*}}]
// LOOPS-NEXT:     memref.load %w[%[[C]], %{{.*}}, %[[K]]]
// LOOPS-NOT:  scf.for
// LOOPS:      func.return
func.func private @depthwise(%x: memref<1x4x8xf32>, %w: memref<4x1x3xf32>, %out: memref<1x4x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x4x8xf32> to tensor<1x4x8xf32>
  %1 = bufferization.to_tensor %w : memref<4x1x3xf32> to tensor<4x1x3xf32>
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 4} : (tensor<1x4x8xf32>, tensor<4x1x3xf32>) -> tensor<1x4x6xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x4x6xf32>, memref<1x4x6xf32>) -> ()
  func.return
}
