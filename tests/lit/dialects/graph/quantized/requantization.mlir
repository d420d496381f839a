// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.requantize %x, %m {axis = 1 : i64, zero_point = -3 : i64, low = -3 : i64, high = 127 : i64, to = i8} : (tensor<1x4x8xi32>, tensor<4xf32>) -> tensor<1x4x8xi8>
// CHECK-NEXT: graph.lookup %q, %t : (tensor<4x2xi8>, tensor<256xi8>) -> tensor<4x2xi8>
func.func @forms(%x: tensor<1x4x8xi32>, %m: tensor<4xf32>, %q: tensor<4x2xi8>, %t: tensor<256xi8>) {
  %0 = graph.requantize %x, %m {axis = 1, zero_point = -3, low = -3, high = 127, to = i8} : (tensor<1x4x8xi32>, tensor<4xf32>) -> tensor<1x4x8xi8>
  %1 = graph.lookup %q, %t : (tensor<4x2xi8>, tensor<256xi8>) -> tensor<4x2xi8>
  func.return
}

// The sum is rounded to f32, then the product; the zero point is added to an integer.
// LOOPS-LABEL: func.func private @requantize
// LOOPS-DAG:  %[[M:.*]] = memref.load %m[%[[C:.*]]]
// LOOPS-DAG:  %[[F:.*]] = arith.sitofp %{{.*}} : i32 to f32
// LOOPS-DAG:  %[[P:.*]] = arith.mulf %[[F]], %[[M]]
// LOOPS:      arith.cmpf ogt, %[[P]]
// LOOPS:      arith.cmpf olt
// LOOPS:      %[[R:.*]] = math.roundeven
// LOOPS-NEXT: %[[I:.*]] = arith.fptosi %[[R]] : f32 to i32
// LOOPS-NEXT: arith.addi %[[I]]
func.func private @requantize(%x: memref<1x4x8xi32>, %m: memref<4xf32>, %out: memref<1x4x8xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x4x8xi32> to tensor<1x4x8xi32>
  %1 = bufferization.to_tensor %m : memref<4xf32> to tensor<4xf32>
  %2 = graph.requantize %0, %1 {axis = 1, zero_point = -3, low = -3, high = 127, to = i8} : (tensor<1x4x8xi32>, tensor<4xf32>) -> tensor<1x4x8xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x4x8xi8>, memref<1x4x8xi8>) -> ()
  func.return
}

// The bits of a signed integer are the position in the table.
// LOOPS-LABEL: func.func private @lookup
// LOOPS:      %[[X:.*]] = memref.load %x
// LOOPS-NOT:  arith.extsi
// LOOPS:      memref.load %t[
func.func private @lookup(%x: memref<4x2xi8>, %t: memref<256xi8>, %out: memref<4x2xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x2xi8> to tensor<4x2xi8>
  %1 = bufferization.to_tensor %t : memref<256xi8> to tensor<256xi8>
  %2 = graph.lookup %0, %1 : (tensor<4x2xi8>, tensor<256xi8>) -> tensor<4x2xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4x2xi8>, memref<4x2xi8>) -> ()
  func.return
}

// The upper word of the product decides, unless its low bits are near the middle between two integers.
// LOOPS-LABEL: func.func private @fixed
// LOOPS:      arith.muli %{{.*}}, %{{.*}} : i64
// LOOPS:      %[[NEAR:.*]] = arith.cmpi slt
// LOOPS-NEXT: scf.if %[[NEAR]] -> (i32) {
// LOOPS:        arith.muli %{{.*}}, %{{.*}} : i64
// LOOPS:      } else {
// LOOPS-NOT:  f32
func.func private @fixed(%x: memref<4xi32>, %f: memref<4xi32>, %out: memref<4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xi32> to tensor<4xi32>
  %1 = bufferization.to_tensor %f : memref<4xi32> to tensor<4xi32>
  %2 = graph.fixed_requantize %0, %1 {axis = 0, shift = 40, most = 65536, guard = 1, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xi8>, memref<4xi8>) -> ()
  func.return
}
