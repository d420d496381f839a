// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.softmax %x {axes = array<i64: -1>, log = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: graph.normalize %x {axes = array<i64: 1>, epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: graph.batch_norm %x, %c, %c, %c, %c {epsilon = 1.000000e-05 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
func.func @forms(%x: tensor<2x3xf32>, %c: tensor<3xf32>) {
  %0 = graph.softmax %x {axes = array<i64: -1>, log = false} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.normalize %x {axes = array<i64: 1>, epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}

// The greatest element first, then the sum, then the quotients.
// LOOPS-LABEL: func.func private @softmax
// LOOPS:      %[[MAX:.*]] = scf.for
// LOOPS:        arith.cmpf ogt
// LOOPS:      %[[SUM:.*]] = scf.for
// LOOPS:        arith.subf %{{.*}}, %[[MAX]]
// LOOPS:        math.exp
// LOOPS:      arith.divf %{{.*}}, %[[SUM]]
// LOOPS:      memref.store
func.func private @softmax(%x: memref<4x8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @normalize
// LOOPS:      %[[TOTAL:.*]] = scf.for
// LOOPS:      %[[MEAN:.*]] = arith.divf %[[TOTAL]]
// LOOPS:      %[[SQUARES:.*]] = scf.for
// LOOPS:        arith.subf %{{.*}}, %[[MEAN]]
// LOOPS:      arith.divf %[[SQUARES]]
// LOOPS:      math.sqrt
func.func private @normalize(%x: memref<4x8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = graph.normalize %0 {axes = array<i64: 1>, epsilon = 1.0e-5 : f64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}
