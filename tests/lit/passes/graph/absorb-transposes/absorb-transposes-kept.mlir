// RUN: aotc-opt %s -p absorb-transposes,canonicalize --split-input-file | filecheck %s

// Heads of attention: what is summed over stays in order, what is outside moves.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.matmul
func.func @main(%x: tensor<2x3x4xf32>) -> tensor<3x5xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<8x5xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %1 = graph.reshape %0 {shape = array<i64: 3, 8>} : (tensor<3x2x4xf32>) -> tensor<3x8xf32>
  %2 = graph.matmul %1, %w : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  func.return %2 : tensor<3x5xf32>
}

// -----

// Weights that others read too would be stored twice.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.matmul
func.func @main(%x: tensor<1x2x3xf32>, %y: tensor<1x6xf32>) -> (tensor<1x5xf32>, tensor<1x5xf32>) attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %2 = graph.matmul %1, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  %3 = graph.matmul %y, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %2, %3 : tensor<1x5xf32>, tensor<1x5xf32>
}

// -----

// Another reader needs the transposed tensor anyway; a convolution in groups does not sum over all channels.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.transpose %y
func.func @main(%x: tensor<1x2x3xf32>, %y: tensor<1x2x3x4xf32>) -> (tensor<1x5xf32>, tensor<1x6xf32>, tensor<1x6x4xf32>) attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %v = graph.constant dense_resource<v> : tensor<6x1x1xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %2 = graph.matmul %1, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  %3 = graph.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x3x4xf32>) -> tensor<1x3x2x4xf32>
  %4 = graph.reshape %3 {shape = array<i64: 1, 6, 4>} : (tensor<1x3x2x4xf32>) -> tensor<1x6x4xf32>
  %5 = graph.conv %4, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 6 : i64} : (tensor<1x6x4xf32>, tensor<6x1x1xf32>) -> tensor<1x6x4xf32>
  func.return %2, %1, %5 : tensor<1x5xf32>, tensor<1x6xf32>, tensor<1x6x4xf32>
}

// -----

// The sum's other operand is not transposed: its elements meet the same weights as before.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK-NOT:     graph.transpose
// CHECK:         graph.matmul
func.func @main(%x: tensor<1x2x3xf32>, %y: tensor<1x6xf32>) -> tensor<1x5xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %2 = graph.add %1, %y : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<1x6xf32>
  %3 = graph.matmul %2, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %3 : tensor<1x5xf32>
}

// -----

// Neither is an operand that is repeated: a number for each channel.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK-NOT:     graph.transpose
// CHECK:         graph.matmul
func.func @main(%x: tensor<1x2x3xf32>) -> tensor<1x5xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.mul %0, %c : (tensor<1x3x2xf32>, tensor<2xf32>) -> tensor<1x3x2xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %3 = graph.matmul %2, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %3 : tensor<1x5xf32>
}

// -----

// Weights for blocks of which each has its scale cannot change places one by one; those of the other axis can.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose {{.*}} : (tensor<4x2x3xi8>)
// CHECK:         graph.transpose {{.*}} : (tensor<2x2x3xf32>)
// CHECK:         graph.transpose %x
// CHECK-NOT:     graph.transpose
func.func @main(%x: tensor<5x3x2xf32>, %y: tensor<5x3x2xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<4x6xi8>
  %v = graph.constant dense_resource<v> : tensor<4x6xi8>
  %blocks = graph.constant dense_resource<b> : tensor<4x2xf32>
  %rows = graph.constant dense_resource<r> : tensor<2x6xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<5x3x2xf32>) -> tensor<5x2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 5, 6>} : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
  %2 = graph.dequantize %w, %blocks {axis = 1 : i64, block_size = 3 : i64, to = f32} : (tensor<4x6xi8>, tensor<4x2xf32>) -> tensor<4x6xf32>
  %3 = graph.matmul %1, %2 {transpose_rhs = true} : (tensor<5x6xf32>, tensor<4x6xf32>) -> tensor<5x4xf32>
  %4 = graph.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<5x3x2xf32>) -> tensor<5x2x3xf32>
  %5 = graph.reshape %4 {shape = array<i64: 5, 6>} : (tensor<5x2x3xf32>) -> tensor<5x6xf32>
  %6 = graph.dequantize %v, %rows {axis = 0 : i64, block_size = 2 : i64, to = f32} : (tensor<4x6xi8>, tensor<2x6xf32>) -> tensor<4x6xf32>
  %7 = graph.matmul %5, %6 {transpose_rhs = true} : (tensor<5x6xf32>, tensor<4x6xf32>) -> tensor<5x4xf32>
  func.return %3, %7 : tensor<5x4xf32>, tensor<5x4xf32>
}

// -----

// A bias is no term of the sum; an empty tensor has no order.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %b
// CHECK:         graph.transpose %e
func.func @main(%x: tensor<1x2x4xf32>, %b: tensor<2x3xf32>, %e: tensor<2x0x3xf32>) -> (tensor<1x6x4xf32>, tensor<0x5xf32>) attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x2x1xf32>
  %v = graph.constant dense_resource<v> : tensor<6x5xf32>
  %0 = graph.transpose %b {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6>} : (tensor<3x2xf32>) -> tensor<6xf32>
  %2 = graph.conv %x, %w, %1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x2x4xf32>, tensor<6x2x1xf32>, tensor<6xf32>) -> tensor<1x6x4xf32>
  %3 = graph.transpose %e {permutation = array<i64: 1, 0, 2>} : (tensor<2x0x3xf32>) -> tensor<0x2x3xf32>
  %4 = graph.reshape %3 {shape = array<i64: 0, 6>} : (tensor<0x2x3xf32>) -> tensor<0x6xf32>
  %5 = graph.matmul %4, %v : (tensor<0x6xf32>, tensor<6x5xf32>) -> tensor<0x5xf32>
  func.return %2, %5 : tensor<1x6x4xf32>, tensor<0x5xf32>
}

// -----

// Weights that come from outside cannot be permuted at compile time, nor what is computed of some; small constants may
// have other readers.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.matmul
// CHECK-NOT:     graph.transpose %y
// CHECK:         graph.matmul
// CHECK:         graph.transpose %z
func.func @main(%x: tensor<1x2x3xf32>, %y: tensor<1x2x3xf32>, %z: tensor<1x2x3xf32>, %w: tensor<6x5xf32>) -> (tensor<1x5xf32>, tensor<1x5xf32>, tensor<6xf32>, tensor<1x5xf32>) attributes {aot.entry} {
  %v = graph.constant dense_resource<v> : tensor<6x5xf32>
  %c = graph.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]> : tensor<6x1xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %2 = graph.matmul %1, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  %3 = graph.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %4 = graph.reshape %3 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %5 = graph.mul %v, %c : (tensor<6x5xf32>, tensor<6x1xf32>) -> tensor<6x5xf32>
  %6 = graph.matmul %4, %5 : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  %7 = graph.reshape %c {shape = array<i64: 6>} : (tensor<6x1xf32>) -> tensor<6xf32>
  %8 = graph.transpose %z {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %9 = graph.reshape %8 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %u = graph.constant dense_resource<u> : tensor<6x5xf32>
  %10 = graph.mul %u, %w : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<6x5xf32>
  %11 = graph.matmul %9, %10 : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %2, %6, %7, %11 : tensor<1x5xf32>, tensor<1x5xf32>, tensor<6xf32>, tensor<1x5xf32>
}

// -----

// Two shapes of one tensor, a row and a column, meet in other pairs than before.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK-NOT:     graph.transpose
// CHECK:         graph.matmul
func.func @main(%x: tensor<2x3xf32>) -> tensor<5x6xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<5x6xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<3x2xf32>) -> tensor<1x6xf32>
  %2 = graph.reshape %0 {shape = array<i64: 6, 1>} : (tensor<3x2xf32>) -> tensor<6x1xf32>
  %3 = graph.add %1, %2 : (tensor<1x6xf32>, tensor<6x1xf32>) -> tensor<6x6xf32>
  %4 = graph.matmul %w, %3 : (tensor<5x6xf32>, tensor<6x6xf32>) -> tensor<5x6xf32>
  func.return %4 : tensor<5x6xf32>
}

// -----

// A slice reads elements in another order than it writes them, though the shape stays.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.matmul {{.*}}, %w
func.func @main(%x: tensor<5x3x2x2xf32>) -> tensor<5x4xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<12x4xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<5x3x2x2xf32>) -> tensor<5x2x2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 5, 12>} : (tensor<5x2x2x3xf32>) -> tensor<5x12xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 11>, steps = array<i64: 1, -1>, shape = array<i64: 5, 12>} : (tensor<5x12xf32>) -> tensor<5x12xf32>
  %3 = graph.matmul %2, %w : (tensor<5x12xf32>, tensor<12x4xf32>) -> tensor<5x4xf32>
  func.return %3 : tensor<5x4xf32>
}

// -----

// A triangle of the transposed matrix is not that of the matrix.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.trilu
func.func @main(%x: tensor<1x2x3xf32>) -> tensor<1x5xf32> attributes {aot.entry} {
  %k = graph.constant dense<0> : tensor<i64>
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<1x2x3xf32>) -> tensor<1x3x2xf32>
  %1 = graph.trilu %0, %k {upper = true} : (tensor<1x3x2xf32>, tensor<i64>) -> tensor<1x3x2xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 6>} : (tensor<1x3x2xf32>) -> tensor<1x6xf32>
  %3 = graph.matmul %2, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %3 : tensor<1x5xf32>
}
