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
// LOOPS-SAME: aot.notes = ["requantize: sum * multiplier, rounded to the nearest, halves to even, + zero point -3, clamped to -3..127"]
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
// LOOPS-NEXT:   aot.round_product %{{.*}}, %{{.*}}, %{{.*}}, 40
// LOOPS:      } else {
// LOOPS-NOT:  f32
func.func private @fixed(%x: memref<4xi32>, %f: memref<4xi32>, %out: memref<4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xi32> to tensor<4xi32>
  %1 = bufferization.to_tensor %f : memref<4xi32> to tensor<4xi32>
  %2 = graph.fixed_requantize %0, %1 {axis = 0, shift = 40, most = 65536, guard = 1, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xi8>, memref<4xi8>) -> ()
  func.return
}

// Integers of any width times factors; without `even` one shift rounds down.
// CHECK-LABEL: func.func @sums
// CHECK-NEXT: graph.fixed_add %x, %t {x_factor = -5 : i64, y_factor = 1 : i64, offset = 7 : i64, shift = 4 : i64, even = false, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x4xi8>, tensor<4xi32>) -> tensor<2x4xi8>
// CHECK-NEXT: graph.fixed_softmax %x, %e {axes = array<i64: 1>, accumulator = i64, factor = 3 : i64, shift = 10 : i64, zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, to = ui8} : (tensor<2x4xi8>, tensor<40xi32>) -> tensor<2x4xui8>
// CHECK-NEXT: graph.doubling_requantize %t, %t, %t {axis = 0 : i64, zero_point = 1 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi8>
// CHECK-NEXT: graph.doubling_requantize %t, %t, %t {axis = 0 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
// CHECK-NEXT: graph.doubling_softmax %x, %e {axes = array<i64: 1>, zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x4xi8>, tensor<40xi32>) -> tensor<2x4xi8>
func.func @sums(%x: tensor<2x4xi8>, %t: tensor<4xi32>, %e: tensor<40xi32>) {
  %0 = graph.fixed_add %x, %t {x_factor = -5, y_factor = 1, offset = 7, shift = 4, even = false, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<2x4xi8>, tensor<4xi32>) -> tensor<2x4xi8>
  %1 = graph.fixed_softmax %x, %e {axes = array<i64: 1>, accumulator = i64, factor = 3, shift = 10, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<2x4xi8>, tensor<40xi32>) -> tensor<2x4xui8>
  %2 = graph.doubling_requantize %t, %t, %t {axis = 0, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi8>
  %3 = graph.doubling_requantize %t, %t, %t {axis = 0, zero_point = 0, low = -2147483648, high = 2147483647, to = i32} : (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %4 = graph.doubling_softmax %x, %e {axes = array<i64: 1>, zero_point = -128, low = -128, high = 127, to = i8} : (tensor<2x4xi8>, tensor<40xi32>) -> tensor<2x4xi8>
  func.return
}

// LOOPS-LABEL: func.func private @fixed_add
// LOOPS:      arith.shrsi
// LOOPS:      arith.maxsi
// LOOPS-NOT:  f32
func.func private @fixed_add(%x: memref<4xi8>, %y: memref<4xui8>, %out: memref<4xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xi8> to tensor<4xi8>
  %1 = bufferization.to_tensor %y : memref<4xui8> to tensor<4xui8>
  %2 = graph.fixed_add %0, %1 {x_factor = 5, y_factor = 9, offset = 7, shift = 4, even = true, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<4xi8>, tensor<4xui8>) -> tensor<4xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xi8>, memref<4xi8>) -> ()
  func.return
}

// Beyond the end of the table nothing is read; quotients are found bit by bit.
// LOOPS-LABEL: func.func private @fixed_softmax
// LOOPS:      %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : i32
// LOOPS-NEXT: scf.if %[[IN]] -> (i32) {
// LOOPS:        memref.load %e[
// LOOPS:      scf.for {{.*}} -> (i32, i32) {
// LOOPS-NOT:  arith.div
// LOOPS-NOT:  f32
func.func private @fixed_softmax(%x: memref<4xi8>, %e: memref<40xi32>, %out: memref<4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xi8> to tensor<4xi8>
  %1 = bufferization.to_tensor %e : memref<40xi32> to tensor<40xi32>
  %2 = graph.fixed_softmax %0, %1 {axes = array<i64: 0>, accumulator = i32, factor = 1, shift = 8, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<4xi8>, tensor<40xi32>) -> tensor<4xui8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xui8>, memref<4xui8>) -> ()
  func.return
}
