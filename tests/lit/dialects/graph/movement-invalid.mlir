// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: 6 elements of shape [2, 3] have no shape [4, 2]
func.func @reshape(%x: tensor<2x3xf32>) {
  %0 = graph.reshape %x {shape = array<i64: 4, 2>} : (tensor<2x3xf32>) -> tensor<4x2xf32>
  func.return
}

// -----

// CHECK: [0, 0] is not a permutation of the 2 axes
func.func @transpose(%x: tensor<2x3xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: shape [2, 3] does not broadcast to [3]
func.func @broadcast(%x: tensor<2x3xf32>) {
  %0 = graph.broadcast %x {shape = array<i64: 3>} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: axis 1: elements 1..3 are not in 0..2
func.func @slice(%x: tensor<2x3xf32>) {
  %0 = graph.slice %x {starts = array<i64: 0, 1>, steps = array<i64: 1, 1>, shape = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: shapes differ beyond axis 1: [2, 3], [3, 3]
func.func @concat(%x: tensor<2x3xf32>, %y: tensor<3x3xf32>) {
  %0 = graph.concat %x, %y {axis = 1} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x6xf32>
  func.return
}

// -----

// CHECK: pads must be 4 numbers of at least 0, found [0, -1, 0, 0]
func.func @pads(%x: tensor<2x3xf32>) {
  %0 = graph.pad %x {pads = array<i64: 0, -1, 0, 0>, mode = "edge"} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  func.return
}

// -----

// CHECK: mode edge takes no value
func.func @value(%x: tensor<2x3xf32>, %v: tensor<f32>) {
  %0 = graph.pad %x, %v {pads = array<i64: 0, 1, 0, 0>, mode = "edge"} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: shape [2, 3] does not broadcast to [1, 3]
func.func @triangle(%x: tensor<2x3xf32>, %d: tensor<i64>) {
  %0 = graph.trilu %x, %d {upper = true, shape = array<i64: 1, 3>} : (tensor<2x3xf32>, tensor<i64>) -> tensor<1x3xf32>
  func.return
}

// -----

// CHECK: the operand must be a matrix or a batch of them, found [4]
func.func @vector(%x: tensor<f32>, %d: tensor<i64>) {
  %0 = graph.trilu %x, %d {upper = true, shape = array<i64: 4>} : (tensor<f32>, tensor<i64>) -> tensor<4xf32>
  func.return
}
