// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: kind must be sum, mean, prod, max or min, found "average"
func.func @kind(%x: tensor<2x3xf32>) {
  %0 = graph.reduce %x {kind = "average", axes = array<i64: 0>} : (tensor<2x3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: axes [1, -1] name an axis twice
func.func @twice(%x: tensor<2x3xf32>) {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 1, -1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: axis 2 is out of range for rank 2
func.func @range(%x: tensor<2x3xf32>) {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 2>} : (tensor<2x3xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: the operand has element type i1, expected float or integer
func.func @truth(%x: tensor<2xi1>) {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 0>} : (tensor<2xi1>) -> tensor<i1>
  func.return
}

// -----

// CHECK: axis 0 has no elements
func.func @empty(%x: tensor<0x3xf32>) {
  %0 = graph.arg_reduce %x {kind = "max", axis = 0} : (tensor<0x3xf32>) -> tensor<3xi64>
  func.return
}
