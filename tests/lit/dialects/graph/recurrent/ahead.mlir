// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s

// In scalar loops each step multiplies its inputs, of the last step first, and finds them behind the products with the
// state.
// CHECK-LABEL: func.func private @ahead
// CHECK:      memref.store {{%.*}}, %h
// CHECK:      scf.for [[STEP:%\d+]] =
// CHECK-NEXT:   scf.for [[COLUMN:%\d+]] =
// CHECK-NEXT:     [[SUM:%\d+]] = scf.for [[K:%\d+]] =
// CHECK-NEXT:       [[TIME:%\d+]] = arith.subi {{%.*}}, [[STEP]] : index
// CHECK-NEXT:       memref.load %x[[[TIME]], {{%.*}}, [[K]]]
// CHECK:            memref.load %v[{{%.*}}, [[K]], {{%.*}}]
// CHECK:          [[ROW:%\d+]] = arith.muli [[STEP]]
// CHECK-NEXT:     [[BEHIND:%\d+]] = arith.addi [[ROW]]
// CHECK-NEXT:     [[PLACE:%\d+]] = arith.addi [[COLUMN]], [[BEHIND]]
// CHECK-NEXT:     memref.store [[SUM]], %sums[{{%.*}}, [[PLACE]]]
// CHECK:          memref.load %w
// CHECK:        scf.for [[UNIT:%\d+]] =
// CHECK-NEXT:     [[ROW:%\d+]] = arith.muli [[STEP]]
// CHECK-NEXT:     [[BEHIND:%\d+]] = arith.addi [[ROW]]
// CHECK-NEXT:     [[PLACE:%\d+]] = arith.addi [[UNIT]], [[BEHIND]]
// CHECK-NEXT:     memref.load %sums[{{%.*}}, [[PLACE]]]
func.func private @ahead(%x: memref<3x1x5xf32>, %w: memref<4x4xf32>, %v: memref<2x5x2xf32>, %y: memref<3x1x4xf32>, %h: memref<1x4xf32>, %sums: memref<1x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x5xf32> to tensor<3x1x5xf32>
  %1 = bufferization.to_tensor %w : memref<4x4xf32> to tensor<4x4xf32>
  %v_ = bufferization.to_tensor %v : memref<2x5x2xf32> to tensor<2x5x2xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1, %v_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<3x1x5xf32>, tensor<4x4xf32>, tensor<2x5x2xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x4xf32>, memref<3x1x4xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x16xf32>, memref<1x16xf32>) -> ()
  func.return
}

// On tiles, of 9 steps: those of 3 are multiplied before the first step, two blocks of 3 follow. Each of its two tiles is
// summed up in one step, beside two panels of four products with the state for each two with the inputs, whose fifth comes
// last. The last three steps have nothing beside them.
// CHECK-LABEL: func.func private @tiles
// CHECK:      scf.for
// CHECK:      scf.for [[PANEL:%\d+]] =
// CHECK:        aot.tile_load %b
// CHECK:          aot.tile_load %x[{{%.*}}, {{%.*}}, {{%.*}}] {strides = array<i64: 5, 0, 0>}
// CHECK-NEXT:     aot.tile_load %v[[[PANEL]],
// CHECK:        aot.tile_store {{%.*}}, %sums{{.*}}strides = array<i64: 8, 0, 1>
// CHECK:      scf.for [[STEP:%\d+]] =
// CHECK-NEXT:   [[BLOCK:%\d+]] = arith.divui [[STEP]]
// CHECK-NEXT:   [[START:%\d+]] = arith.remui [[STEP]]
// CHECK-NEXT:   [[ROWS:%\d+]] = arith.muli [[BLOCK]]
// CHECK-NEXT:   [[FIRST:%\d+]] = arith.addi [[ROWS]]
// CHECK:        [[TILE:%\d+]] = arith.minsi [[START]]
// CHECK:        aot.tile_load %b
// CHECK-NEXT:   scf.for
// CHECK:          scf.for
// CHECK:            aot.tile_load %x[[[FIRST]],
// CHECK-NEXT:       aot.tile_load %v[[[TILE]],
// CHECK-COUNT-4:    memref.load %h
// CHECK:          aot.tile_store {{%.*}}, %sums{{.*}}strides = array<i64: 0, 0, 1>
// CHECK:        aot.tile_load %x[[[FIRST]],
// CHECK:        aot.tile_store {{%.*}}, %sums{{.*}}strides = array<i64: 8, 0, 1>
// CHECK:        math.tanh
// CHECK:      scf.for
// CHECK-NOT:    %x
// CHECK:        math.tanh
func.func private @tiles(%x: memref<9x1x5xf32>, %w: memref<2x8x4xf32>, %v: memref<2x5x4xf32>, %b: memref<8xf32>, %y: memref<9x1x8xf32>, %h: memref<1x8xf32>, %sums: memref<1x80xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x5xf32> to tensor<9x1x5xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<2x5x4xf32> to tensor<2x5x4xf32>
  %b_ = bufferization.to_tensor %b : memref<8xf32> to tensor<8xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1, ahead = 3, across = 1, beside = 2>} : (tensor<9x1x5xf32>, tensor<2x8x4xf32>, tensor<2x5x4xf32>, tensor<8xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x80xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x80xf32>, memref<1x80xf32>) -> ()
  func.return
}

// Panels of another width than that of the tile: scalar loops.
// CHECK-LABEL: func.func private @other_panels
// CHECK-NOT:  aot.tile
// CHECK:      func.return
func.func private @other_panels(%x: memref<9x1x5xf32>, %w: memref<2x8x4xf32>, %v: memref<4x5x2xf32>, %b: memref<8xf32>, %y: memref<9x1x8xf32>, %h: memref<1x8xf32>, %sums: memref<1x80xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<9x1x5xf32> to tensor<9x1x5xf32>
  %1 = bufferization.to_tensor %w : memref<2x8x4xf32> to tensor<2x8x4xf32>
  %v_ = bufferization.to_tensor %v : memref<4x5x2xf32> to tensor<4x5x2xf32>
  %b_ = bufferization.to_tensor %b : memref<8xf32> to tensor<8xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1, %v_, %b_ {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1, ahead = 3, across = 1, beside = 2>} : (tensor<9x1x5xf32>, tensor<2x8x4xf32>, tensor<4x5x2xf32>, tensor<8xf32>) -> (tensor<9x1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x80xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<9x1x8xf32>, memref<9x1x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x80xf32>, memref<1x80xf32>) -> ()
  func.return
}
