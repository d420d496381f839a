// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.matmul %a, %b {transpose_rhs = true} : (tensor<2x1x4x3xf32>, tensor<5x6x3xf32>) -> tensor<2x5x4x6xf32>
func.func @forms(%a: tensor<2x1x4x3xf32>, %b: tensor<5x6x3xf32>) {
  %0 = graph.matmul %a, %b {transpose_rhs = true} : (tensor<2x1x4x3xf32>, tensor<5x6x3xf32>) -> tensor<2x5x4x6xf32>
  func.return
}

// The batch of the left operand broadcasts; the right one is stored transposed.
// LOOPS-LABEL: func.func private @matmul
// LOOPS:      ^bb0(%[[B:.*]]: index, %[[M:.*]]: index, %[[N:.*]]: index):
// LOOPS-NEXT:   %[[SUM:.*]] = scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// LOOPS-NEXT:     %[[L:.*]] = memref.load %a[%[[M]], %[[K]]]
// LOOPS-NEXT:     %[[R:.*]] = memref.load %b[%[[B]], %[[N]], %[[K]]]
// LOOPS-NEXT:     %[[P:.*]] = arith.mulf %[[L]], %[[R]] : f32
// LOOPS-NEXT:     %[[NEXT:.*]] = arith.addf %[[ACC]], %[[P]] : f32
// LOOPS-NEXT:     scf.yield %[[NEXT]] : f32
// LOOPS:        memref.store %[[SUM]], %out[%[[B]], %[[M]], %[[N]]]
func.func private @matmul(%a: memref<4x3xf32>, %b: memref<5x6x3xf32>, %out: memref<5x4x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %a : memref<4x3xf32> to tensor<4x3xf32>
  %1 = bufferization.to_tensor %b : memref<5x6x3xf32> to tensor<5x6x3xf32>
  %2 = graph.matmul %0, %1 {transpose_rhs = true} : (tensor<4x3xf32>, tensor<5x6x3xf32>) -> tensor<5x4x6xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<5x4x6xf32>, memref<5x4x6xf32>) -> ()
  func.return
}

// f16 is summed in f32.
// LOOPS-LABEL: func.func private @narrow
// LOOPS: iter_args(%{{.*}} = %{{.*}}) -> (f32)
// LOOPS: arith.extf %{{.*}} : f16 to f32
// LOOPS: arith.truncf %{{.*}} : f32 to f16
func.func private @narrow(%a: memref<4x3xf16>, %b: memref<3x6xf16>, %out: memref<4x6xf16>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %a : memref<4x3xf16> to tensor<4x3xf16>
  %1 = bufferization.to_tensor %b : memref<3x6xf16> to tensor<3x6xf16>
  %2 = graph.matmul %0, %1 : (tensor<4x3xf16>, tensor<3x6xf16>) -> tensor<4x6xf16>
  bufferization.materialize_in_destination %2 in %out : (tensor<4x6xf16>, memref<4x6xf16>) -> ()
  func.return
}
