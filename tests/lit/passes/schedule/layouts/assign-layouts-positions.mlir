// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts,canonicalize' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts,convert-graph-to-loops,canonicalize,cse' --split-input-file | filecheck %s --check-prefix=LOOPS

// Convolutions with positions in the lanes read a plain tensor without padding, whose windows are one element apart along
// the last axis: every fourth element is a channel, of the weight too, to which zeros are added. The padding stays before
// it.

// CHECK-LABEL: func.func @main
// CHECK:         [[P:%.*]] = graph.pad %w {pads = array<i64: 0, 0, 0, 0, 0, 0, 0, 3>, mode = "constant"}
// CHECK:         [[X:%.*]] = graph.pad %x {pads = array<i64: 0, 0, 1, 3, 0, 0, 1, 1>, mode = "constant"}
// CHECK:         graph.reshape [[X]] {{.*}} -> tensor<1x2x7x76x4xf32>
// CHECK-NEXT:    graph.transpose {{.*}} {permutation = array<i64: 0, 1, 4, 2, 3>}
// CHECK-NEXT:    [[Y:%.*]] = graph.reshape {{.*}} -> tensor<1x8x7x76xf32>
// CHECK:         graph.reshape [[P]] {{.*}} -> tensor<3x2x3x5x4xf32>
// CHECK-NEXT:    graph.transpose {{.*}} {permutation = array<i64: 0, 1, 4, 2, 3>}
// CHECK-NEXT:    [[W:%.*]] = graph.reshape {{.*}} -> tensor<3x8x3x5xf32>
// CHECK:         graph.conv [[Y]], [[W]] {strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, schedule = #graph.positions_schedule<lanes = 16, mr = 3, nr = 2, unroll = 1>}
func.func @main(%x: tensor<1x2x5x300xf32>) -> tensor<1x3x3x72xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<3x2x3x17xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 2, 4>, pads = array<i64: 1, 3, 1, 0>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.positions_schedule<lanes = 16, mr = 3, nr = 2>} : (tensor<1x2x5x300xf32>, tensor<3x2x3x17xf32>) -> tensor<1x3x3x72xf32>
  func.return %0 : tensor<1x3x3x72xf32>
}

// -----

// Negative padding leaves elements out.
// CHECK-LABEL: func.func @main
// CHECK:         [[S:%.*]] = graph.slice %x {starts = array<i64: 0, 0, 1, 1>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 2, 4, 297>}
// CHECK:         [[P:%.*]] = graph.pad [[S]] {pads = array<i64: 0, 0, 0, 0, 0, 0, 1, 0>, mode = "constant"}
// CHECK:         graph.conv [[P]], %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>
func.func @main(%x: tensor<1x2x5x300xf32>) -> tensor<1x3x3x297xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<3x2x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: -1, -1, 1, -2>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.positions_schedule<lanes = 16, mr = 3, nr = 2>} : (tensor<1x2x5x300xf32>, tensor<3x2x3x1xf32>) -> tensor<1x3x3x297xf32>
  func.return %0 : tensor<1x3x3x297xf32>
}

// -----

// Padding before one axis alone; taps of the last one may be apart.
// CHECK-LABEL: func.func @main
// CHECK:         [[P:%.*]] = graph.pad %x {pads = array<i64: 0, 0, 2, 0, 0, 0, 0, 0>, mode = "constant"}
// CHECK-NEXT:    graph.conv [[P]], %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 2>
func.func @main(%x: tensor<1x2x5x300xf32>) -> tensor<1x3x5x296xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<3x2x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 0, 0>, dilations = array<i64: 1, 2>, group = 1, schedule = #graph.positions_schedule<lanes = 16, mr = 3, nr = 2>} : (tensor<1x2x5x300xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x5x296xf32>
  func.return %0 : tensor<1x3x5x296xf32>
}

// -----

// What is read as it lies stays as it is. A tile has two registers of positions for each of three channels, the last one
// ten positions. Weights are one for all lanes, elements of x one for all channels.
// CHECK-LABEL: func.func private @sums
// CHECK-NOT:     graph.pad
// CHECK:         graph.conv
// LOOPS-LABEL: func.func private @sums
// LOOPS:         scf.for
// LOOPS:           [[W:%.*]] = aot.tile_load %w[{{.*}}] {strides = array<i64: 34, 0, 0>} : memref<3x2x1x17xf32> -> vector<3x2x16xf32>
// LOOPS:           [[X:%.*]] = aot.tile_load %x[{{.*}}] {strides = array<i64: 0, 16, 1>} : memref<1x2x5x90xf32> -> vector<3x2x16xf32>
// LOOPS-NEXT:      math.fma [[W]], [[X]]
// LOOPS:         aot.tile_store {{.*}} {strides = array<i64: 370, 16, 1>}
// LOOPS:         aot.tile_store {{.*}} {strides = array<i64: 370, 0, 1>, valid = 10 : i64} : vector<3x1x16xf32>
func.func private @sums(%x: memref<1x2x5x90xf32>, %w: memref<3x2x1x17xf32>, %y: memref<1x3x5x74xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x5x90xf32> to tensor<1x2x5x90xf32>
  %1 = bufferization.to_tensor %w : memref<3x2x1x17xf32> to tensor<3x2x1x17xf32>
  %2 = graph.conv %0, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.positions_schedule<lanes = 16, mr = 3, nr = 2>} : (tensor<1x2x5x90xf32>, tensor<3x2x1x17xf32>) -> tensor<1x3x5x74xf32>
  bufferization.materialize_in_destination %2 in %y : (tensor<1x3x5x74xf32>, memref<1x3x5x74xf32>) -> ()
  func.return
}
