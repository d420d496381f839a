// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: there are no parts to take lanes from
func.func @none() {
  %0 = graph.regroup_channels {sources = array<i64>} : () -> tensor<1x1x5x4xf32>
  func.return
}

// -----

// CHECK: 3 sources among 8 lanes make no blocks of 4
func.func @broken(%x: tensor<1x2x5x4xf32>) {
  %0 = graph.regroup_channels %x {sources = array<i64: 0, 1, 2>} : (tensor<1x2x5x4xf32>) -> tensor<1x1x5x4xf32>
  func.return
}

// -----

// CHECK: 4 sources among 8 lanes make no blocks of 4
func.func @outside(%x: tensor<1x2x5x4xf32>) {
  %0 = graph.regroup_channels %x {sources = array<i64: 0, 1, 2, 8>} : (tensor<1x2x5x4xf32>) -> tensor<1x1x5x4xf32>
  func.return
}

// -----

// CHECK: operands differ in more than their blocks
func.func @shapes(%x: tensor<1x2x5x4xf32>, %y: tensor<1x2x6x4xf32>) {
  %0 = graph.regroup_channels %x, %y {sources = array<i64: 0, 1, 2, 8>} : (tensor<1x2x5x4xf32>, tensor<1x2x6x4xf32>) -> tensor<1x1x5x4xf32>
  func.return
}

// -----

// CHECK: operands must be [N, blocks, spatial..., lanes], found
func.func @rank(%x: tensor<8x4xf32>) {
  %0 = graph.regroup_channels %x {sources = array<i64: 0, 1, 2, 3>} : (tensor<8x4xf32>) -> tensor<8x1xf32>
  func.return
}
