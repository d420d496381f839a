// RUN: aotc-opt %s --split-input-file -p roll-rows | filecheck %s

// A join is a stage, too. Parts that nothing else reads are written where the join has them and need no rings.

// CHECK-LABEL: func.func @channels
// CHECK-COUNT-1: = graph.rolled
// CHECK-SAME:      -> (tensor<1x1x4x5x8xi8>, tensor<60xi8>, tensor<120xi8>)
// CHECK-SAME:      rows = 3 : i64, of = 8 : i64, row_bytes = 20 : i64, buffer = 0 : i64}, {stage = 3 : i64, rows = 3 : i64, of = 6 : i64, row_bytes = 40 : i64, buffer = 1 : i64}]
// CHECK:           graph.concat
// CHECK-NOT:     graph.concat
func.func @channels(%x: tensor<1x1x8x5x4xi8>) -> tensor<1x1x4x5x8xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %y : tensor<1x1x8x5x4xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x6x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x6x5x4xi8>
    graph.yield %y : tensor<1x1x6x5x4xi8>
  }
  %2 = graph.fused (%a = %0 : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x6x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.slice %a {starts = array<i64: 0, 0, 1, 0, 0>, shape = array<i64: 1, 1, 6, 5, 4>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x6x5x4xi8>
    graph.yield %y : tensor<1x1x6x5x4xi8>
  }
  %3 = graph.concat %1, %2 {axis = 4 : i64, in_place = true, roll = 0 : i64} : (tensor<1x1x6x5x4xi8>, tensor<1x1x6x5x4xi8>) -> tensor<1x1x6x5x8xi8>
  %4 = graph.fused (%a = %3 : tensor<1x1x6x5x8xi8>) -> (tensor<1x1x4x5x8xi8>) attributes {roll = 0 : i64} {
    %y = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x6x5x8xi8>) -> tensor<1x1x4x5x8xi8>
    graph.yield %y : tensor<1x1x4x5x8xi8>
  }
  func.return %4 : tensor<1x1x4x5x8xi8>
}

// -----

// Rows that are repeated come at half the pace: each is there for two of the result, and no burst of rows waits.

// CHECK-LABEL: func.func @repeated
// CHECK:         graph.rolled
// CHECK-SAME:      -> (tensor<1x1x14x5x4xi8>, tensor<20xi8>, tensor<60xi8>)
func.func @repeated(%x: tensor<1x1x8x5x4xi8>, %i: tensor<16xi64>) -> tensor<1x1x14x5x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %y : tensor<1x1x8x5x4xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x4xi8>, %b = %i : tensor<16xi64>) -> (tensor<1x1x16x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.gather %a, %b {axis = 2 : i64, reads = array<i64: 1, 2, 0, 0>} : (tensor<1x1x8x5x4xi8>, tensor<16xi64>) -> tensor<1x1x16x5x4xi8>
    graph.yield %y : tensor<1x1x16x5x4xi8>
  }
  %2 = graph.fused (%a = %1 : tensor<1x1x16x5x4xi8>) -> (tensor<1x1x14x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x16x5x4xi8>) -> tensor<1x1x14x5x4xi8>
    graph.yield %y : tensor<1x1x14x5x4xi8>
  }
  func.return %2 : tensor<1x1x14x5x4xi8>
}

// -----

// Parts may lie one below the other, and rows be left out or added.

// CHECK-LABEL: func.func @below
// CHECK:         graph.rolled
// CHECK-SAME:      -> (tensor<1x1x12x5x4xi8>, tensor<20xi8>, tensor<40xi8>, tensor<20xi8>, tensor<60xi8>)
func.func @below(%x: tensor<1x1x8x5x4xi8>) -> tensor<1x1x12x5x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %y : tensor<1x1x8x5x4xi8>
  }
  %1 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.abs %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %y : tensor<1x1x8x5x4xi8>
  }
  %2 = graph.fused (%a = %1 : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x6x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.pad %a {pads = array<i64: 0, 0, 1, 0, 0, 0, 0, 1, 0, 0>, mode = "edge"} : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x10x5x4xi8>
    %z = graph.slice %y {starts = array<i64: 0, 0, 4, 0, 0>, shape = array<i64: 1, 1, 6, 5, 4>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<1x1x10x5x4xi8>) -> tensor<1x1x6x5x4xi8>
    graph.yield %z : tensor<1x1x6x5x4xi8>
  }
  %3 = graph.concat %0, %2 {axis = 2 : i64, roll = 0 : i64} : (tensor<1x1x8x5x4xi8>, tensor<1x1x6x5x4xi8>) -> tensor<1x1x14x5x4xi8>
  %4 = graph.fused (%a = %3 : tensor<1x1x14x5x4xi8>) -> (tensor<1x1x12x5x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x14x5x4xi8>) -> tensor<1x1x12x5x4xi8>
    graph.yield %y : tensor<1x1x12x5x4xi8>
  }
  func.return %4 : tensor<1x1x12x5x4xi8>
}

// -----

// Depth to space: a row with a block of channels for each of its own is two rows of the view behind it, which has no axis
// of the first ones.

// CHECK-LABEL: func.func @blocks
// CHECK:         graph.rolled
// CHECK-SAME:      -> (tensor<1x1x14x10x4xi8>, tensor<80xi8>, tensor<160xi8>)
func.func @blocks(%x: tensor<1x1x8x5x16xi8>) -> tensor<1x1x14x10x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x16xi8>) -> (tensor<1x1x8x5x16xi8>) attributes {roll = 0 : i64} {
    %y = graph.neg %a : (tensor<1x1x8x5x16xi8>) -> tensor<1x1x8x5x16xi8>
    graph.yield %y : tensor<1x1x8x5x16xi8>
  }
  %1 = graph.reshape %0 {shape = array<i64: 8, 5, 2, 2, 4>} : (tensor<1x1x8x5x16xi8>) -> tensor<8x5x2x2x4xi8>
  %2 = graph.fused (%a = %1 : tensor<8x5x2x2x4xi8>) -> (tensor<8x2x5x2x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<8x5x2x2x4xi8>) -> tensor<8x2x5x2x4xi8>
    graph.yield %y : tensor<8x2x5x2x4xi8>
  }
  %3 = graph.reshape %2 {shape = array<i64: 1, 1, 16, 10, 4>} : (tensor<8x2x5x2x4xi8>) -> tensor<1x1x16x10x4xi8>
  %4 = graph.fused (%a = %3 : tensor<1x1x16x10x4xi8>) -> (tensor<1x1x14x10x4xi8>) attributes {roll = 0 : i64} {
    %y = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x16x10x4xi8>) -> tensor<1x1x14x10x4xi8>
    graph.yield %y : tensor<1x1x14x10x4xi8>
  }
  func.return %4 : tensor<1x1x14x10x4xi8>
}
