// RUN: aotc-opt %s -p count-operations | filecheck %s

// Two operations for each of the 2 * 4 * 3 multiply-adds of the product, one for each element of what follows.
// CHECK-LABEL: func.func private @matmul_relu_0
// CHECK-SAME:    aot.operations = 56 : i64, aot.operation_type = "float32"
func.func private @matmul_relu_0(%lhs: tensor<2x3xf32>, %rhs: tensor<3x4xf32>) -> tensor<2x4xf32> attributes {aot.kernel} {
  %0 = graph.matmul %lhs, %rhs : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = graph.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// Winograd counts as direct convolution.
// CHECK-LABEL: func.func private @winograd_conv_0
// CHECK-SAME:    aot.operations = 165888 : i64
func.func private @winograd_conv_0(%x: tensor<1x1x8x8x16xf32>, %w: tensor<1x16x16x16xf32>) -> tensor<1x1x6x6x16xf32> attributes {aot.kernel} {
  %0, %1, %2 = graph.winograd_conv %x, %w {channels = 16 : i64, output_tile = 2 : i64, outputs = 16 : i64, pads = array<i64: 0, 0, 0, 0>, tile_rows = 3 : i64} : (tensor<1x1x8x8x16xf32>, tensor<1x16x16x16xf32>) -> (tensor<1x1x6x6x16xf32>, tensor<16x9x16xf32>, tensor<16x9x16xf32>)
  func.return %0 : tensor<1x1x6x6x16xf32>
}

// Strassen's seven products count as eight.
// CHECK-LABEL: func.func private @strassen_matmul_0
// CHECK-SAME:    aot.operations = 1024 : i64
func.func private @strassen_matmul_0(%x: tensor<4x8xf32>, %w: tensor<1x7x4x8xf32>) -> tensor<4x16xf32> attributes {aot.kernel} {
  %0, %1, %2 = graph.strassen_matmul %x, %w {columns = 16 : i64, left = 8 : i64, block_rows = 4 : i64} : (tensor<4x8xf32>, tensor<1x7x4x8xf32>) -> (tensor<4x16xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return %0 : tensor<4x16xf32>
}

// What only moves data has none.
// CHECK-LABEL: func.func private @transpose_0
// CHECK-SAME:    aot.operations = 0 : i64}
func.func private @transpose_0(%x: tensor<2x3xf32>) -> tensor<3x2xf32> attributes {aot.kernel} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}

// Sums of integers are measured by other instructions than those of floats.
// CHECK-LABEL: func.func private @matmul_cast_0
// CHECK-SAME:    aot.operations = 56 : i64, aot.operation_type = "uint8"
func.func private @matmul_cast_0(%lhs: tensor<2x3xui8>, %rhs: tensor<3x4xi8>) -> tensor<2x4xf32> attributes {aot.kernel} {
  %0 = graph.matmul %lhs, %rhs {accumulator = i32} : (tensor<2x3xui8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  %1 = graph.cast %0 {to = f32} : (tensor<2x4xi32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// What is computed outside is not known.
// CHECK:       func.func private @outside(tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel}
func.func private @outside(tensor<4xf32>) -> tensor<4xf32> attributes {aot.kernel}

// The entry computes nothing itself.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    attributes {aot.entry} {
func.func @main(%x: tensor<2x3xf32>) -> tensor<3x2xf32> attributes {aot.entry} {
  %0 = func.call @transpose_0(%x) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %0 : tensor<3x2xf32>
}
