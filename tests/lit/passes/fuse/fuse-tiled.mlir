// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,fuse-epilogues,fuse-prologues' | filecheck %s
// RUN: aotc-opt %s -p 'fuse-epilogues,fuse-prologues' | filecheck %s --check-prefix PLAIN

// An anchor on tiles takes in what leaves it there; without a schedule the cost of repeating decides alone.

// A relu would be repeated for every tile, a transpose of the rows is free, one of the columns would gather them.

// CHECK-LABEL: func.func @prologues
// CHECK-NEXT:    [[R:%.*]] = graph.relu %x
// CHECK-NEXT:    graph.matmul [[R]], %w
// CHECK-NEXT:    [[T:%.*]] = graph.transpose %v
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      [[L:%.*]] = graph.transpose
// CHECK-NEXT:      graph.matmul [[L]],
// CHECK:           graph.yield
// PLAIN-LABEL: func.func @prologues
// PLAIN-NEXT:    graph.fused
// PLAIN-NEXT:      graph.relu
// PLAIN-NEXT:      graph.matmul
// PLAIN:         graph.fused
// PLAIN:           graph.transpose
// PLAIN:           graph.transpose
// PLAIN:           graph.matmul
func.func @prologues(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>, %u: tensor<4x32x64xf32>, %v: tensor<4x64x32xf32>) -> (tensor<64x64xf32>, tensor<4x64x64xf32>) attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = graph.matmul %0, %w : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %2 = graph.transpose %u {permutation = array<i64: 0, 2, 1>} : (tensor<4x32x64xf32>) -> tensor<4x64x32xf32>
  %3 = graph.transpose %v {permutation = array<i64: 0, 2, 1>} : (tensor<4x64x32xf32>) -> tensor<4x32x64xf32>
  %4 = graph.matmul %2, %3 : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  func.return %1, %4 : tensor<64x64xf32>, tensor<4x64x64xf32>
}

// A bias and a relu are computed on tiles, a power is not.

// CHECK-LABEL: func.func @epilogues
// CHECK:         graph.fused
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.relu
// CHECK-NEXT:      graph.yield
// CHECK:         graph.pow
// PLAIN-LABEL: func.func @epilogues
// PLAIN:         graph.relu
// PLAIN-NEXT:    graph.pow
// PLAIN-NEXT:    graph.yield
func.func @epilogues(%x: tensor<64x32xf32>, %w: tensor<32x64xf32>, %b: tensor<64xf32>, %e: tensor<64xf32>) -> tensor<64x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<64x32xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %1 = graph.add %0, %b : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  %2 = graph.relu %1 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = graph.pow %2, %e : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<64x64xf32>
  func.return %3 : tensor<64x64xf32>
}

// Weights in panels are streamed in the order in which they lie: nothing is computed where they are read.

// CHECK-LABEL: func.func @streamed
// CHECK-NEXT:    [[P:%.*]] = graph.neg %p
// CHECK-NEXT:    graph.packed_matmul %x, [[P]]
func.func @streamed(%x: tensor<4x16xf32>, %p: tensor<2x16x32xf32>) -> tensor<4x40xf32> attributes {aot.entry} {
  %0 = graph.neg %p : (tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %1 = graph.packed_matmul %x, %0 {columns = 40 : i64} : (tensor<4x16xf32>, tensor<2x16x32xf32>) -> tensor<4x40xf32>
  func.return %1 : tensor<4x40xf32>
}

// Panels are not moved there either, and what a convolution reads for many tiles is stored before.

// CHECK-LABEL: func.func @stored
// CHECK-NEXT:    [[P:%.*]] = graph.slice %p
// CHECK-NEXT:    graph.packed_matmul %x, [[P]]
// CHECK-NEXT:    [[B:%.*]] = graph.relu %b
// CHECK-NEXT:    graph.blocked_conv [[B]], %w
func.func @stored(%x: tensor<4x16xf32>, %p: tensor<2x16x32xf32>, %b: tensor<1x1x7x4xf32>, %w: tensor<2x1x3x4x8xf32>) -> (tensor<4x40xf32>, tensor<1x3x7x4xf32>) attributes {aot.entry} {
  %0 = graph.slice %p {starts = array<i64: 0, 15, 0>, steps = array<i64: 1, -1, 1>, shape = array<i64: 2, 16, 32>} : (tensor<2x16x32xf32>) -> tensor<2x16x32xf32>
  %1 = graph.packed_matmul %x, %0 {columns = 40 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 2, unroll = 1, order = rows>} : (tensor<4x16xf32>, tensor<2x16x32xf32>) -> tensor<4x40xf32>
  %2 = graph.relu %b : (tensor<1x1x7x4xf32>) -> tensor<1x1x7x4xf32>
  %3 = graph.blocked_conv %2, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, channels = 4, outputs = 12, block = 4, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 1, order = rows>} : (tensor<1x1x7x4xf32>, tensor<2x1x3x4x8xf32>) -> tensor<1x3x7x4xf32>
  func.return %1, %3 : tensor<4x40xf32>, tensor<1x3x7x4xf32>
}

// Where heads are put side by side the product writes its rows there: between is a view, which no kernel reads through.

// CHECK-LABEL: func.func @heads
// CHECK-NEXT:    [[F:%.*]] = graph.fused
// CHECK-NEXT:      [[M:%.*]] = graph.matmul
// CHECK-NEXT:      [[R:%.*]] = graph.relu [[M]]
// CHECK-NEXT:      [[T:%.*]] = graph.transpose [[R]]
// CHECK-NEXT:      graph.yield [[T]] : tensor<64x4x64xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.reshape [[F]]
// PLAIN-LABEL: func.func @heads
// PLAIN:         graph.yield
// PLAIN-NEXT:    }
// PLAIN-NEXT:    graph.transpose
func.func @heads(%x: tensor<4x64x32xf32>, %w: tensor<4x32x64xf32>) -> tensor<64x256xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %1 = graph.relu %0 : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<4x64x64xf32>) -> tensor<64x4x64xf32>
  %3 = graph.reshape %2 {shape = array<i64: 64, 256>} : (tensor<64x4x64xf32>) -> tensor<64x256xf32>
  func.return %3 : tensor<64x256xf32>
}

// Columns stay where they are, and so do rows that are read twice.

// CHECK-LABEL: func.func @columns
// CHECK-NEXT:    [[M:%.*]] = graph.matmul
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[M]]
// CHECK-NEXT:    func.return [[T]]
func.func @columns(%x: tensor<4x64x32xf32>, %w: tensor<4x32x64xf32>) -> tensor<4x64x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  func.return %1 : tensor<4x64x64xf32>
}
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    [[M:%.*]] = graph.matmul
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[M]]
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[M]]
// CHECK-NEXT:    func.return [[S]], [[T]]
func.func @twice(%x: tensor<4x64x32xf32>, %w: tensor<4x32x64xf32>) -> (tensor<4x64x64xf32>, tensor<64x4x64xf32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %1 = graph.softmax %0 {axes = array<i64: -1>, log = false} : (tensor<4x64x64xf32>) -> tensor<4x64x64xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x64x64xf32>) -> tensor<64x4x64xf32>
  func.return %1, %2 : tensor<4x64x64xf32>, tensor<64x4x64xf32>
}

// A kernel that reads the rows may do so where they are.

// CHECK-LABEL: func.func @read
// CHECK-NEXT:    [[M:%.*]] = graph.matmul
// CHECK-NEXT:    graph.fused ({{.*}} = [[M]]
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.softmax
func.func @read(%x: tensor<4x64x32xf32>, %w: tensor<4x32x64xf32>) -> tensor<64x4x64xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<4x64x32xf32>, tensor<4x32x64xf32>) -> tensor<4x64x64xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<4x64x64xf32>) -> tensor<64x4x64xf32>
  %2 = graph.softmax %1 {axes = array<i64: -1>, log = false} : (tensor<64x4x64xf32>) -> tensor<64x4x64xf32>
  func.return %2 : tensor<64x4x64xf32>
}

// Where an epilogue reads the operand, too, it is that of the product still.

// CHECK-LABEL: func.func @both
// CHECK-NEXT:    graph.neg
// CHECK-NEXT:    graph.fused
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
func.func @both(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = graph.matmul %0, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.add %1, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  func.return %2 : tensor<64x64xf32>
}
