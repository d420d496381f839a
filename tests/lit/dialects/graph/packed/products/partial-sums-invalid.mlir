// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: kc = 4 needs a result of graph.packed_matmul for partial sums
func.func @product(%l: tensor<7x11xf32>, %r: tensor<2x11x8xf32>) {
  %0 = graph.packed_matmul %l, %r {columns = 13, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> tensor<7x13xf32>
  func.return
}

// -----

// CHECK: kc = 36 needs a result of graph.blocked_conv for partial sums
func.func @convolution(%x: tensor<1x3x5x9x4xf32>, %w: tensor<2x3x3x3x4x8xf32>) {
  %0 = graph.blocked_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1, channels = 10, outputs = 12, block = 4, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 36>} : (tensor<1x3x5x9x4xf32>, tensor<2x3x3x3x4x8xf32>) -> tensor<1x3x5x9x4xf32>
  func.return
}

// -----

// CHECK: kc = 2 needs a result of graph.strassen_matmul for partial sums
func.func @strassen(%x: tensor<6x9xf32>, %w: tensor<2x7x5x8xf32>) {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 27, left = 16, block_rows = 4, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 2>} : (tensor<6x9xf32>, tensor<2x7x5x8xf32>) -> (tensor<6x27xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// -----

// CHECK: kc = 2 needs a result of graph.winograd_conv for partial sums
func.func @winograd(%x: tensor<1x1x4x4x4xf32>, %w: tensor<1x36x4x4xf32>) {
  %0, %1, %2 = graph.winograd_conv %x, %w {pads = array<i64: 1, 1, 1, 1>, channels = 4, outputs = 4, output_tile = 4, tile_rows = 1, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 1, unroll = 2, order = columns, kc = 2>} : (tensor<1x1x4x4x4xf32>, tensor<1x36x4x4xf32>) -> (tensor<1x1x4x4x4xf32>, tensor<36x1x4xf32>, tensor<36x1x4xf32>)
  func.return
}

// -----

// CHECK: partial sums are of one group of channels without padding lanes between them
func.func @groups(%x: tensor<1x2x5x9x4xf32>, %w: tensor<1x2x1x1x4x8xf32>) {
  %0, %1 = graph.blocked_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2, channels = 8, outputs = 8, block = 4} : (tensor<1x2x5x9x4xf32>, tensor<1x2x1x1x4x8xf32>) -> (tensor<1x2x5x9x4xf32>, tensor<5x9x8xf32>)
  func.return
}

// -----

// CHECK: result type is tensor<7x9xf32>, operands and attributes give tensor<7x8xf32>
func.func @shape(%l: tensor<7x11xf32>, %r: tensor<2x11x8xf32>) {
  %0, %1 = graph.packed_matmul %l, %r {columns = 13} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> (tensor<7x13xf32>, tensor<7x9xf32>)
  func.return
}

// -----

// CHECK: kc is for the order of columns, in which rows of tiles share a panel
func.func @order(%l: tensor<7x11xf32>, %r: tensor<11x13xf32>) {
  %0 = graph.matmul %l, %r {schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = rows, kc = 4>} : (tensor<7x11xf32>, tensor<11x13xf32>) -> tensor<7x13xf32>
  func.return
}
