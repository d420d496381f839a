// RUN: aotc-opt %s --split-input-file --verify-diagnostics -p 'stream-rows' | filecheck %s

// Layers that need all of the rows at once, others than come at first, or rows along another axis, cannot go on with
// them; an input that nobody reads has no layers.

// CHECK: last: --stream x=2: layers that read it cannot be computed row by row; they go along axis 1, and its rows are along axis 0; leave out --stream x=2 [not-by-rows]
func.func @turned(%x: tensor<10x4xi8> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<10x4xi8> attributes {aot.entry} {
  %0 = graph.slice %x {starts = array<i64: 9, 0>, steps = array<i64: -1, 1>, shape = array<i64: 10, 4>} : (tensor<10x4xi8>) -> tensor<10x4xi8> loc("last")
  func.return %0 : tensor<10x4xi8>
}

// -----

// CHECK: Softmax_1: --stream x=2: layers that read it cannot be computed row by row; graph.softmax has no rows; leave out
func.func @all(%x: tensor<10x4xf32> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<10x4xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<10x4xf32>) -> tensor<10x4xf32> loc("Neg_0")
  %1 = graph.softmax %0 {axes = array<i64: 0>} : (tensor<10x4xf32>) -> tensor<10x4xf32> loc("Softmax_1")
  func.return %1 : tensor<10x4xf32>
}

// -----

// CHECK: nothing reads x; rows go to the layers that read them; leave out --stream x=2 [not-by-rows]
func.func @unread(%x: tensor<10x4xf32> {aot.name = "x", aot.rows = 2 : i64}, %y: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %1 = graph.neg %y : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
