// RUN: aotc-opt %s --split-input-file --verify-diagnostics -p 'stream-rows' | filecheck %s

// Some of the rows, and all of them at once, cannot be had while they come.

// CHECK: --stream x=2: layers that read it cannot be computed row by row; graph.slice takes all of them at once
func.func @some(%x: tensor<10x4xi8> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<8x4xi8> attributes {aot.entry} {
  %0 = graph.slice %x {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>, shape = array<i64: 8, 4>} : (tensor<10x4xi8>) -> tensor<8x4xi8>
  %1 = graph.neg %0 : (tensor<8x4xi8>) -> tensor<8x4xi8>
  func.return %1 : tensor<8x4xi8>
}

// -----

// CHECK: --stream x=2: layers that read it cannot be computed row by row; graph.softmax has no rows
func.func @all(%x: tensor<10x4xf32> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<10x4xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %1 = graph.softmax %0 {axes = array<i64: 0>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  func.return %1 : tensor<10x4xf32>
}
