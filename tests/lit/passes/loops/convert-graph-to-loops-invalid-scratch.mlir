// RUN: not aotc-opt %s -p convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: a scratch buffer of the anchor has no memory
func.func private @k(%x: memref<6x11xf32>, %w: memref<1x11x8xf32>, %out: memref<6x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x11xf32> to tensor<6x11xf32>
  %1 = bufferization.to_tensor %w : memref<1x11x8xf32> to tensor<1x11x8xf32>
  %2, %3 = graph.packed_matmul %0, %1 {columns = 8, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<6x11xf32>, tensor<1x11x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
  bufferization.materialize_in_destination %2 in %out : (tensor<6x8xf32>, memref<6x8xf32>) -> ()
  func.return
}
