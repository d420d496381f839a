// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the operand has element type i32, expected float
func.func @softmax(%x: tensor<2x3xi32>) {
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return
}

// -----

// CHECK: mean must be [3] of floats, found tensor<2xf32>
func.func @channels(%x: tensor<2x3xf32>, %c: tensor<3xf32>, %m: tensor<2xf32>) {
  %0 = graph.batch_norm %x, %c, %c, %m, %c {epsilon = 1.0e-5 : f64} : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  func.return
}
