// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLD
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.unpack_bits %x {bits = 4 : i64} : (tensor<2x3xui8>) -> tensor<2x6xui8>
// CHECK-NEXT: graph.unpack_bits %x {bits = 1 : i64} : (tensor<2x3xui8>) -> tensor<2x24xui8>
func.func @forms(%x: tensor<2x3xui8>) {
  %0 = graph.unpack_bits %x {bits = 4 : i64} : (tensor<2x3xui8>) -> tensor<2x6xui8>
  %1 = graph.unpack_bits %x {bits = 1 : i64} : (tensor<2x3xui8>) -> tensor<2x24xui8>
  func.return
}

// The lowest bits come first.
// FOLD-LABEL: func.func @values
// FOLD: graph.constant dense<[1, 2, 15, 0]> : tensor<4xui8>
func.func @values() -> tensor<4xui8> attributes {aot.entry} {
  %0 = graph.constant dense<[33, 15]> : tensor<2xui8>
  %1 = graph.unpack_bits %0 {bits = 4 : i64} : (tensor<2xui8>) -> tensor<4xui8>
  func.return %1 : tensor<4xui8>
}

// LOOPS-LABEL: func.func private @loops
// LOOPS:      scf.for %[[I:.*]] =
// LOOPS:        %[[BYTE:.*]] = arith.divui %[[I]],
// LOOPS-NEXT:   memref.load %x[%[[BYTE]]]
// LOOPS:        arith.remui %[[I]],
// LOOPS:        arith.shrui
// LOOPS:        arith.andi
func.func private @loops(%x: memref<3xui8>, %out: memref<6xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3xui8> to tensor<3xui8>
  %1 = graph.unpack_bits %0 {bits = 4 : i64} : (tensor<3xui8>) -> tensor<6xui8>
  bufferization.materialize_in_destination %1 in %out : (tensor<6xui8>, memref<6xui8>) -> ()
  func.return
}
