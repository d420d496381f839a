// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: distribution must be uniform or normal, found "poisson"
func.func @distribution() {
  %0 = graph.random {distribution = "poisson", seed = 7, low = 0.0 : f64, high = 1.0 : f64, shape = array<i64: 2>, to = f32} : () -> tensor<2xf32>
  func.return
}

// -----

// CHECK: random numbers are floats of some shape, found i32, [2]
func.func @integers() {
  %0 = graph.random {distribution = "uniform", seed = 7, low = 0.0 : f64, high = 1.0 : f64, shape = array<i64: 2>, to = i32} : () -> tensor<2xi32>
  func.return
}

// -----

// CHECK: x must be [.., n, n] of floats, found tensor<3x2xf32>
func.func @invertible(%m: tensor<3x2xf32>) {
  %1, %2 = graph.inverse %m : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>)
  func.return
}

// -----

// CHECK: x must be [.., n, n] of floats, found tensor<5x3x2xf32>
func.func @square(%m: tensor<5x3x2xf32>) {
  %1, %2 = graph.determinant %m : (tensor<5x3x2xf32>) -> (tensor<5xf32>, tensor<5x3x2xf32>)
  func.return
}

// -----

// CHECK: f32 has 32 bits, i64 64
func.func @width(%m: tensor<5xf32>) {
  %3 = graph.bit_cast %m {to = i64} : (tensor<5xf32>) -> tensor<5xi64>
  func.return
}

// -----

// CHECK: lengths must be [3] of integers, found tensor<5xi64>
func.func @lengths(%m: tensor<5x3xf32>, %l: tensor<5xi64>) {
  %4 = graph.reverse_sequence %m, %l {batch = 1, time = 0} : (tensor<5x3xf32>, tensor<5xi64>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: an update [5, 4, 3] along axis 1 does not go into [5, 3, 3]
func.func @update(%m: tensor<5x3x3xf32>, %u: tensor<5x4x3xf32>, %s: tensor<5xi64>) {
  %5 = graph.update_cache %m, %u, %s {axis = 1} : (tensor<5x3x3xf32>, tensor<5x4x3xf32>, tensor<5xi64>) -> tensor<5x3x3xf32>
  func.return
}
