// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s

// Two whole panels and a part of one. At odd steps the whole ones are read from the last to the first, so that those read
// last, which the cache still has, come first; the part stays at the end.

// CHECK-LABEL: func.func private @turned
// CHECK:      scf.for
// CHECK:      scf.for [[STEP:%\d+]] =
// CHECK-NEXT:   [[PARITY:%\d+]] = arith.remui [[STEP]], {{%.*}} : index
// CHECK-NEXT:   [[EVEN:%\d+]] = arith.cmpi eq, [[PARITY]], {{%.*}} : index
// CHECK-NEXT:   scf.for [[AT:%\d+]] =
// CHECK-NEXT:     [[BACK:%\d+]] = arith.subi {{%.*}}, [[AT]] : index
// CHECK-NEXT:     [[FIRST:%\d+]] = arith.select [[EVEN]], [[AT]], [[BACK]] : index
// CHECK:          math.fma
// CHECK:          aot.tile_store {{%.*}}, %sums[{{%.*}}, [[FIRST]]]
// CHECK-NOT:    arith.remui
// CHECK:        aot.tile_store {{%.*}}, %sums[{{.*}}valid = 2 : i64}
func.func private @turned(%x: memref<3x1x10xf32>, %w: memref<3x10x4xf32>, %y: memref<3x1x10xf32>, %h: memref<1x10xf32>, %sums: memref<1x10xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x10xf32> to tensor<3x1x10xf32>
  %1 = bufferization.to_tensor %w : memref<3x10x4xf32> to tensor<3x10x4xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<3x1x10xf32>, tensor<3x10x4xf32>) -> (tensor<3x1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x10xf32>, memref<3x1x10xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x10xf32>, memref<1x10xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x10xf32>, memref<1x10xf32>) -> ()
  func.return
}

// The rows within a panel, too, and those of the part.
// CHECK-LABEL: func.func private @rows
// CHECK:        [[EVEN:%\d+]] = arith.cmpi eq
// CHECK-NEXT:   scf.for
// CHECK-NEXT:     arith.subi
// CHECK-NEXT:     [[PANEL:%\d+]] = arith.select [[EVEN]]
// CHECK-NEXT:     arith.divui [[PANEL]]
// CHECK-NEXT:     [[ROW:%\d+]] = arith.select [[EVEN]], {{%.*}}, {{%.*}} : index
// CHECK-NEXT:     memref.load %h[{{%.*}}, [[ROW]]] : memref<1x10xf32>
// CHECK-NEXT:     aot.tile_load %w[{{%.*}}, [[ROW]], {{%.*}}]
// CHECK:          aot.tile_store {{%.*}}, %sums
// CHECK:        [[LAST:%\d+]] = arith.select [[EVEN]]
// CHECK-NEXT:   memref.load %h[{{%.*}}, [[LAST]]] : memref<1x10xf32>
// CHECK-NEXT:   aot.tile_load %w[{{%.*}}, [[LAST]], {{%.*}}]
// CHECK:        aot.tile_store {{%.*}}, %sums[{{.*}}valid = 2 : i64}
func.func private @rows(%x: memref<3x1x10xf32>, %w: memref<3x10x4xf32>, %y: memref<3x1x10xf32>, %h: memref<1x10xf32>, %sums: memref<1x10xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x10xf32> to tensor<3x1x10xf32>
  %1 = bufferization.to_tensor %w : memref<3x10x4xf32> to tensor<3x10x4xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1, turned>} : (tensor<3x1x10xf32>, tensor<3x10x4xf32>) -> (tensor<3x1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>, tensor<1x10xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x10xf32>, memref<3x1x10xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x10xf32>, memref<1x10xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x10xf32>, memref<1x10xf32>) -> ()
  func.return
}
