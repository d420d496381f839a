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
