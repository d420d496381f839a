// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK: graph.butterfly %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x2x8x2xi16>, tensor<2x8x2xi16>, tensor<2x2xi16>) -> tensor<4x2x8x2xi16>
// CHECK: graph.butterfly %{{.*}}, %{{.*}}, %{{.*}} {inverse = true}

// Each number is read once, and half of it turned; products of 16 bits are rounded in 32.
// LOOPS-LABEL: func.func private @halves
// LOOPS:         scf.parallel
// LOOPS-COUNT-6: memref.load
// LOOPS-NOT:     memref.load
// LOOPS-COUNT-4: memref.store
func.func private @halves(%x: memref<4x2x8x2xi16>, %t: memref<2x8x2xi16>, %u: memref<2x2xi16>, %out: memref<4x2x8x2xi16>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x2x8x2xi16> to tensor<4x2x8x2xi16>
  %1 = bufferization.to_tensor %t : memref<2x8x2xi16> to tensor<2x8x2xi16>
  %2 = bufferization.to_tensor %u : memref<2x2xi16> to tensor<2x2xi16>
  %3 = graph.butterfly %0, %1, %2 : (tensor<4x2x8x2xi16>, tensor<2x8x2xi16>, tensor<2x2xi16>) -> tensor<4x2x8x2xi16>
  bufferization.materialize_in_destination %3 in %out : (tensor<4x2x8x2xi16>, memref<4x2x8x2xi16>) -> ()
  func.return
}

func.func @inverse(%x: tensor<1x4x1x2xf32>, %t: tensor<4x1x2xf32>, %u: tensor<4x2xf32>) -> tensor<1x4x1x2xf32> {
  %0 = graph.butterfly %x, %t, %u {inverse = true} : (tensor<1x4x1x2xf32>, tensor<4x1x2xf32>, tensor<4x2xf32>) -> tensor<1x4x1x2xf32>
  func.return %0 : tensor<1x4x1x2xf32>
}
