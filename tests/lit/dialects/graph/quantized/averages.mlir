// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// The exact sum decides; only near a middle are floats added up, as i64. One row needs no count of elements.
// CHECK: graph.fixed_average_pool %{{.*}}, %{{.*}}, %{{.*}} {kernel = array<i64: 2>
// LOOPS-LABEL: func.func private @average
// LOOPS:         %[[S:.*]] = scf.for {{.*}} -> (i32) {
// LOOPS:         %[[P:.*]] = arith.muli %[[S]]
// LOOPS:         arith.shrsi
// LOOPS:         scf.if
// LOOPS:           scf.for {{.*}} -> (i64) {
// LOOPS:           memref.load %m
func.func private @average(%x: memref<1x2x8xi8>, %f: memref<1xi32>, %m: memref<1x255xi32>, %out: memref<1x2x4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xi8> to tensor<1x2x8xi8>
  %1 = bufferization.to_tensor %f : memref<1xi32> to tensor<1xi32>
  %2 = bufferization.to_tensor %m : memref<1x255xi32> to tensor<1x255xi32>
  %3 = graph.fixed_average_pool %0, %1, %2 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  bufferization.materialize_in_destination %3 in %out : (tensor<1x2x4xi8>, memref<1x2x4xi8>) -> ()
  func.return
}

// Windows at borders have rows of their own, by how many elements they have.
// LOOPS-LABEL: func.func private @borders
// LOOPS:         arith.cmpi sge
// LOOPS:         arith.select %{{.*}} : index
func.func private @borders(%x: memref<1x2x8xui8>, %f: memref<2xi32>, %m: memref<2x255xi32>, %out: memref<1x2x8xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xui8> to tensor<1x2x8xui8>
  %1 = bufferization.to_tensor %f : memref<2xi32> to tensor<2xi32>
  %2 = bufferization.to_tensor %m : memref<2x255xi32> to tensor<2x255xi32>
  %3 = graph.fixed_average_pool %0, %1, %2 {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, counts = array<i64: 2, 3>, x_zero_point = 0, mantissa = 8388608, fraction = 20, guard = 300, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<1x2x8xui8>, tensor<2xi32>, tensor<2x255xi32>) -> tensor<1x2x8xui8>
  bufferization.materialize_in_destination %3 in %out : (tensor<1x2x8xui8>, memref<1x2x8xui8>) -> ()
  func.return
}
