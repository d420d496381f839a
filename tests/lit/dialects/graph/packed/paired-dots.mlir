// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix FOLD
// RUN: aotc-opt %s -p fold-constants,dce,outline-kernels,bufferize,plan-memory,convert-graph-to-loops | filecheck %s --check-prefix LOOPS

// The first and the last step fit together without a sign, the two between them as complements; places and weights follow.
// Sums start with what products by complements have too much of: min(w, 0) - 128 * w for each weight of these.
// FOLD-LABEL: func.func @pairs
// FOLD-DAG:   graph.constant dense<[[[100, 0, 0, 0], [28, 0, 0, 0], [127, 1, 0, 0], [-1, 100, 0, 0]]]> : tensor<1x4x4xi8>
// FOLD-DAG:   graph.constant dense<[[0, 12, 4, 8]]> : tensor<1x4xi32>
// FOLD-DAG:   graph.constant dense<1> : tensor<1x2xi32>
// FOLD-DAG:   graph.constant dense<29064> : tensor<1xi32>
func.func @pairs() -> (tensor<1x4x4xi8>, tensor<1x4xi32>, tensor<1x2xi32>, tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[100, 0, 0, 0], [127, 1, 0, 0], [-1, 100, 0, 0], [28, 0, 0, 0]]]> : tensor<1x4x4xi8>
  %b = graph.constant dense<[7]> : tensor<1xi32>
  %0, %1, %2, %3 = graph.pair_steps %w, %b {pitches = array<i64: 4>, unsigned} : (tensor<1x4x4xi8>, tensor<1xi32>) -> (tensor<1x4x4xi8>, tensor<1x4xi32>, tensor<1x2xi32>, tensor<1xi32>)
  func.return %0, %1, %2, %3 : tensor<1x4x4xi8>, tensor<1x4xi32>, tensor<1x2xi32>, tensor<1xi32>
}

// A loop for each kind of steps, two at a time but for the last; places are read from their table.
// LOOPS-LABEL: func.func private @paired_dot_conv_0
// LOOPS:       scf.parallel
// LOOPS:       memref.load %counts[%{{.*}} : memref<2x2xi32>
// LOOPS:       scf.for
// LOOPS:       memref.load %{{.*}} : memref<2x6xi32>
// LOOPS:       aot.tile_load %{{.*}} {strides = array<i64: 8, 0, 0>, group = 4 : i64} : memref<1x3x10x8xi8> -> vector<5x1x32xi8>
// LOOPS:       aot.tile_dot_pair %{{.*}} {lhs_unsigned} : vector<5x1x32xi8>, vector<5x1x8xi32>
// LOOPS:       scf.for
// LOOPS:       aot.tile_dot_pair %{{.*}} {lhs_unsigned, complement} :
// LOOPS:       scf.for
// LOOPS:       aot.tile_dot %{{.*}} {lhs_unsigned, complement} :
func.func @conv(%x: tensor<1x3x10x8xui8>, %w: tensor<2x6x32xi8>, %p: tensor<2x6xi32>, %c: tensor<2x2xi32>, %b: tensor<16xi32>) -> tensor<1x2x10x8xi32> attributes {aot.entry} {
  %0 = graph.paired_dot_conv %x, %w, %p, %c, %b {strides = array<i64: 1>, extents = array<i64: 10>, products = 24 : i64, schedule = #graph.paired_schedule<lanes = 8, mr = 5, order = columns, unsigned>} : (tensor<1x3x10x8xui8>, tensor<2x6x32xi8>, tensor<2x6xi32>, tensor<2x2xi32>, tensor<16xi32>) -> tensor<1x2x10x8xi32>
  func.return %0 : tensor<1x2x10x8xi32>
}
