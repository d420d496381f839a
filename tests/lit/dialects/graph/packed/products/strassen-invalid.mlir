// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: weight must be [K, N] of floats, found tensor<2x8x8xf32>
func.func @rank(%w: tensor<2x8x8xf32>) {
  %0 = graph.strassen_weight %w {left = 8, width = 8} : (tensor<2x8x8xf32>) -> tensor<1x7x4x8xf32>
  func.return
}

// -----

// CHECK: 17 columns are not in halves of 8
func.func @halves(%w: tensor<8x17xf32>) {
  %0 = graph.strassen_weight %w {left = 8, width = 8} : (tensor<8x17xf32>) -> tensor<1x7x4x8xf32>
  func.return
}

// -----

// CHECK: width must be at least 1, found 0
func.func @width(%w: tensor<8x16xf32>) {
  %0 = graph.strassen_weight %w {left = 8, width = 0} : (tensor<8x16xf32>) -> tensor<1x7x4x8xf32>
  func.return
}

// -----

// CHECK: weight must be [K, N] of floats, found tensor<8x16xi32>
func.func @integers(%w: tensor<8x16xi32>) {
  %0 = graph.strassen_weight %w {left = 8, width = 8} : (tensor<8x16xi32>) -> tensor<1x7x4x8xi32>
  func.return
}

// -----

// CHECK: [4, 10] and weight [1, 7, 4, 8] of 8 columns do not multiply
func.func @depth(%x: tensor<4x10xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4} : (tensor<4x10xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: 20 columns are not in halves of 8
func.func @columns(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 20, left = 8, block_rows = 4} : (tensor<4x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x20xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: block_rows must be even and at least 2, found 3
func.func @rows(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 3} : (tensor<4x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: element types differ: f32, f64
func.func @types(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf64>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4} : (tensor<4x8xf32>, tensor<1x7x4x8xf64>) -> (tensor<4x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: the rows of a block are even and at least 2, found 5
func.func @algorithm(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) {
  %0 = graph.matmul %x, %w {algorithm = #graph.strassen<rows = 5>} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// CHECK: 1 blocks and 1 panels are not in 1 and 2 parts
func.func @panel_parts(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4, panel_parts = 2} : (tensor<4x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x16xf32>, tensor<14x3x16xf32>, tensor<14x3x8xf32>)
  func.return
}

// -----

// CHECK: 1 blocks and 1 panels are not in 1 and 0 parts
func.func @no_parts(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4, panel_parts = 0} : (tensor<4x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: 2 blocks and 1 panels are not in 3 and 1 parts
func.func @row_parts(%x: tensor<5x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4, row_parts = 3} : (tensor<5x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<5x16xf32>, tensor<21x3x16xf32>, tensor<21x3x8xf32>)
  func.return
}

// -----

// CHECK: 2 blocks and 1 panels are not in 0 and 1 parts
func.func @no_rows(%x: tensor<5x8xf32>, %w: tensor<1x7x4x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16, left = 8, block_rows = 4, row_parts = 0} : (tensor<5x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<5x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}
