// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s

// In scalar loops the first states, which are kept, are multiplied when all steps have been made. Where they are kept
// there is room for one more, which all later states take.
// CHECK-LABEL: func.func private @scalar
// CHECK:        memref.store {{%.*}}, %h
// CHECK:        scf.for [[STEP:%\d+]] =
// CHECK:            memref.load %w
// CHECK:          scf.for [[UNIT:%\d+]] =
// CHECK:            math.tanh
// CHECK:            [[KEPT:%\d+]] = arith.minsi [[STEP]], {{%.*}} : index
// CHECK-NEXT:       [[ROW:%\d+]] = arith.muli [[KEPT]]
// CHECK-NEXT:       [[BEHIND:%\d+]] = arith.addi [[ROW]]
// CHECK-NEXT:       [[PLACE:%\d+]] = arith.addi [[UNIT]], [[BEHIND]]
// CHECK-NEXT:       memref.store {{%.*}}, %sums[{{%.*}}, [[PLACE]]]
// CHECK:        scf.for [[STEP:%\d+]] =
// CHECK-NEXT:     scf.for [[COLUMN:%\d+]] =
// CHECK-NEXT:       memref.load %b[[[COLUMN]]]
// CHECK-NEXT:       scf.for
// CHECK:              memref.load %sums
// CHECK:              memref.load %v
// CHECK:            memref.store {{%.*}}, %next
func.func private @scalar(%x: memref<9x1x8xf32>, %w: memref<2x8x4xf32>, %v: memref<3x8x4xf32>, %b: memref<12xf32>, %y: memref<9x1x8xf32>, %next: memref<1x48xf32>, %h: memref<1x8xf32>, %sums: memref<1x48xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x8xf32> to tensor<9x1x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<3x8x4xf32> to tensor<3x8x4xf32>
  %b_ = bufferization.to_tensor %b : memref<12xf32> to tensor<12xf32>
  %2, %3, %4, %5, %6 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 4 : i64} : (tensor<9x1x8xf32>, tensor<2x8x4xf32>, tensor<3x8x4xf32>, tensor<12xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x48xf32>, tensor<1x8xf32>, tensor<1x48xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %next : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  bufferization.materialize_in_destination %5 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %6 in %sums : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  func.return
}

// On tiles, of 9 steps: the three tiles of the first four states are summed up beside the weight for the state of the
// last three.
// CHECK-LABEL: func.func private @tiles
// CHECK:        [[LOW:%.*]] = arith.constant 6 : index
// CHECK:        scf.for {{%.*}} = {{%.*}} to [[LOW]]
// CHECK-NOT:      %v
// CHECK:          math.tanh
// CHECK:        scf.for [[STEP:%\d+]] = [[LOW]]
// CHECK-NEXT:     arith.subi [[STEP]], [[LOW]]
// CHECK:          aot.tile_load %b
// CHECK:            aot.tile_load %sums[{{%.*}}, {{%.*}}] {strides = array<i64: 8, 0, 0>}
// CHECK-NEXT:       aot.tile_load %v
// CHECK:            memref.load %h
// CHECK:          aot.tile_store {{%.*}}, %next{{.*}}strides = array<i64: 12, 0, 1>
// CHECK:          math.tanh
func.func private @tiles(%x: memref<9x1x8xf32>, %w: memref<2x8x4xf32>, %v: memref<3x8x4xf32>, %b: memref<12xf32>, %y: memref<9x1x8xf32>, %next: memref<1x48xf32>, %h: memref<1x8xf32>, %sums: memref<1x48xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x8xf32> to tensor<9x1x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<3x8x4xf32> to tensor<3x8x4xf32>
  %b_ = bufferization.to_tensor %b : memref<12xf32> to tensor<12xf32>
  %2, %3, %4, %5, %6 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 4 : i64, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1, leading = 4, following = 2>} : (tensor<9x1x8xf32>, tensor<2x8x4xf32>, tensor<3x8x4xf32>, tensor<12xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x48xf32>, tensor<1x8xf32>, tensor<1x48xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %next : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  bufferization.materialize_in_destination %5 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %6 in %sums : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  func.return
}

// Without a tile in the schedule, or with too few steps after the first states: scalar loops.
// CHECK-LABEL: func.func private @no_tile
// CHECK-NOT:   aot.tile
// CHECK:       func.return
func.func private @no_tile(%x: memref<9x1x8xf32>, %w: memref<2x8x4xf32>, %v: memref<3x8x4xf32>, %b: memref<12xf32>, %y: memref<9x1x8xf32>, %next: memref<1x48xf32>, %h: memref<1x8xf32>, %sums: memref<1x48xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x8xf32> to tensor<9x1x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<3x8x4xf32> to tensor<3x8x4xf32>
  %b_ = bufferization.to_tensor %b : memref<12xf32> to tensor<12xf32>
  %2, %3, %4, %5, %6 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 4 : i64, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<9x1x8xf32>, tensor<2x8x4xf32>, tensor<3x8x4xf32>, tensor<12xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x48xf32>, tensor<1x8xf32>, tensor<1x48xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %next : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  bufferization.materialize_in_destination %5 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %6 in %sums : (tensor<1x48xf32>, memref<1x48xf32>) -> ()
  func.return
}

// CHECK-LABEL: func.func private @too_few
// CHECK-NOT:   aot.tile
// CHECK:       func.return
func.func private @too_few(%x: memref<9x1x8xf32>, %w: memref<2x8x4xf32>, %v: memref<3x8x4xf32>, %b: memref<12xf32>, %y: memref<9x1x8xf32>, %next: memref<1x84xf32>, %h: memref<1x8xf32>, %sums: memref<1x72xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x8xf32> to tensor<9x1x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<3x8x4xf32> to tensor<3x8x4xf32>
  %b_ = bufferization.to_tensor %b : memref<12xf32> to tensor<12xf32>
  %2, %3, %4, %5, %6 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 7 : i64, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1, leading = 7, following = 2>} : (tensor<9x1x8xf32>, tensor<2x8x4xf32>, tensor<3x8x4xf32>, tensor<12xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x84xf32>, tensor<1x8xf32>, tensor<1x72xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %next : (tensor<1x84xf32>, memref<1x84xf32>) -> ()
  bufferization.materialize_in_destination %5 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %6 in %sums : (tensor<1x72xf32>, memref<1x72xf32>) -> ()
  func.return
}
