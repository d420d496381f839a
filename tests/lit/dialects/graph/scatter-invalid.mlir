// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: updates must have shape [4, 3], found [4, 2]
func.func @updates(%x: tensor<5x3xf32>, %n: tensor<4x1xi64>, %s: tensor<4x2xf32>) {
  %0 = graph.scatter_nd %x, %n, %s {reduction = "none"} : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x2xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: reduction must be none, add, mul, max or min, found "mean"
func.func @reduction(%x: tensor<5x3xf32>, %n: tensor<4x1xi64>, %s: tensor<4x3xf32>) {
  %0 = graph.scatter_nd %x, %n, %s {reduction = "mean"} : (tensor<5x3xf32>, tensor<4x1xi64>, tensor<4x3xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: there are no 4 elements along axis 1 of [5, 3]
func.func @k(%x: tensor<5x3xf32>) {
  %0, %1 = graph.top_k %x {k = 4, axis = 1} : (tensor<5x3xf32>) -> (tensor<5x4xf32>, tensor<5x4xi64>)
  func.return
}
