// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s

// CHECK-LABEL: func.func private @add_relu_0
// CHECK-SAME: %x: memref<4x8xf32>, %y: memref<8xf32>, %out: memref<4x8xf32>
func.func private @add_relu_0(%x: memref<4x8xf32>, %y: memref<8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = bufferization.to_tensor %y : memref<8xf32> to tensor<8xf32>
  %2 = graph.add %0, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = graph.relu %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %3 in %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}
// CHECK:      "scf.parallel"
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT:   %[[X:.*]] = memref.load %x[%[[I]], %[[J]]]
// CHECK-NEXT:   %[[Y:.*]] = memref.load %y[%[[J]]]
// CHECK-NEXT:   %[[S:.*]] = arith.addf %[[X]], %[[Y]]
// CHECK-NEXT:   %[[N:.*]] = arith.cmpf olt, %[[S]], %[[ZERO:.*]] : f32
// CHECK-NEXT:   %[[R:.*]] = arith.select %[[N]], %[[ZERO]], %[[S]] : f32
// CHECK-NEXT:   memref.store %[[R]], %out[%[[I]], %[[J]]]
// CHECK-NEXT:   scf.reduce

// What is only moved stays a code; what is computed with is decoded, from the low bits.
// CHECK-LABEL: func.func private @moved
// CHECK-SAME: %x: memref<2x3xi8>, %y: memref<3x2xi8>
func.func private @moved(%x: memref<2x3xf8E5M2>, %y: memref<3x2xf8E5M2>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x3xf8E5M2> to tensor<2x3xf8E5M2>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2>
  bufferization.materialize_in_destination %1 in %y : (tensor<3x2xf8E5M2>, memref<3x2xf8E5M2>) -> ()
  func.return
}
// CHECK: %[[CODE:.*]] = memref.load %x
// CHECK-NEXT: memref.store %[[CODE]], %y
// CHECK-LABEL: func.func private @decoded
func.func private @decoded(%x: memref<4xui4>, %y: memref<4xf4E2M1FN>, %z: memref<4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xui4> to tensor<4xui4>
  %1 = bufferization.to_tensor %y : memref<4xf4E2M1FN> to tensor<4xf4E2M1FN>
  %2 = graph.cast %0 {to = f32} : (tensor<4xui4>) -> tensor<4xf32>
  %3 = graph.cast %1 {to = f32} : (tensor<4xf4E2M1FN>) -> tensor<4xf32>
  %4 = graph.mul %2, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %4 in %z : (tensor<4xf32>, memref<4xf32>) -> ()
  func.return
}
// CHECK: %[[LOW:.*]] = arith.andi %{{.*}}, %{{.*}} : i8
// CHECK-NEXT: arith.uitofp %[[LOW]] : i8 to f32
// CHECK: %[[FIELDS:.*]] = arith.andi %{{.*}}, %{{.*}} : i32
// CHECK-NEXT: %[[SMALL:.*]] = arith.bitcast %[[FIELDS]] : i32 to f32
// CHECK-NEXT: arith.mulf %[[SMALL]], %{{.*}} : f32

// Unsigned memrefs become signless everywhere, in the entry too.
// CHECK-LABEL: func.func private @add_1
// CHECK-SAME: %x: memref<4xi8>, %out: memref<4xi8>
func.func private @add_1(%x: memref<4xui8>, %out: memref<4xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4xui8> to tensor<4xui8>
  // CHECK: %[[ONE:.*]] = arith.constant 1 : i8
  %1 = graph.constant dense<1> : tensor<ui8>
  // CHECK: arith.addi %{{.*}}, %[[ONE]] : i8
  %2 = graph.add %0, %1 : (tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
  bufferization.materialize_in_destination %2 in %out : (tensor<4xui8>, memref<4xui8>) -> ()
  func.return
}
// CHECK-LABEL: func.func @main
// CHECK-SAME: %x: memref<4xi8> {aot.dtype = "uint8"}, %y: memref<4xi8>
func.func @main(%x: memref<4xui8> {aot.dtype = "uint8"}, %y: memref<4xui8>) attributes {aot.entry} {
  func.call @add_1(%x, %y) : (memref<4xui8>, memref<4xui8>) -> ()
  func.return
}

// An anchor with a schedule is computed on tiles, its scratch buffer among them; one whose kernel only has a schedule for
// its elements is not, and says so.
// CHECK-LABEL: func.func private @anchored
// CHECK:         aot.tile_load %w
// CHECK:         aot.tile_store %{{.*}}, %s
// CHECK:         aot.tile_store %{{.*}}, %out
func.func private @anchored(%x: memref<6x11xf32>, %w: memref<1x11x8xf32>, %out: memref<6x8xf32>, %s: memref<6x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x11xf32> to tensor<6x11xf32>
  %1 = bufferization.to_tensor %w : memref<1x11x8xf32> to tensor<1x11x8xf32>
  %2, %3 = graph.packed_matmul %0, %1 {columns = 8, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<6x11xf32>, tensor<1x11x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
  bufferization.materialize_in_destination %2 in %out : (tensor<6x8xf32>, memref<6x8xf32>) -> ()
  bufferization.materialize_in_destination %3 in %s : (tensor<6x8xf32>, memref<6x8xf32>) -> ()
  func.return
}
// CHECK-LABEL: func.func private @elements
// CHECK-SAME:    aot.scalar_fallback = "the anchor has no schedule"
func.func private @elements(%x: memref<4x8xf32>, %out: memref<4x8xf32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 4, registers = 4>} {
  %0 = bufferization.to_tensor %x : memref<4x8xf32> to tensor<4x8xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  func.return
}

// What is no function stays, and a kernel that somebody else makes has no loops.
// CHECK:       aot.global @sizes
// CHECK:       func.func private @declared(memref<4xi8>)
aot.global @sizes : i64 = [1 : i64] {sym_visibility = "private"}
func.func private @declared(memref<4xui8>) -> () attributes {aot.kernel}
