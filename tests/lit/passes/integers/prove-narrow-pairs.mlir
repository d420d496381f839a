// RUN: aotc-opt %s -p prove-narrow-pairs | filecheck %s

// 255 * (64 + 64) fits 16 bits with sign, 255 * (64 + 65) does not, and neither does 255 * (-64 - 65); of products with
// different signs only one counts.
// CHECK-LABEL: func.func @unsigned
// CHECK:       graph.packed_dot_matmul %x, %fits, %b {narrow
// CHECK-NEXT:  graph.packed_dot_matmul %x, %above, %b :
// CHECK-NEXT:  graph.packed_dot_matmul %x, %below, %b :
// weights that are not known
// CHECK-NEXT:  graph.packed_dot_matmul %x, %v, %b :
func.func @unsigned(%x: tensor<2x4xui8>, %v: tensor<1x1x4xi8>, %b: tensor<1xi32>) -> tensor<2x1xi32> attributes {aot.entry} {
  %fits = graph.constant dense<[[[64, 64, 127, -128]]]> : tensor<1x1x4xi8>
  %above = graph.constant dense<[[[0, 0, 64, 65]]]> : tensor<1x1x4xi8>
  %below = graph.constant dense<[[[-64, -65, 0, 0]]]> : tensor<1x1x4xi8>
  %0 = graph.packed_dot_matmul %x, %fits, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %1 = graph.packed_dot_matmul %x, %above, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %2 = graph.packed_dot_matmul %x, %below, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %3 = graph.packed_dot_matmul %x, %v, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  func.return %0 : tensor<2x1xi32>
}

// 128 * (127 + 127) fits; -128 cannot be negated.
// CHECK-LABEL: func.func @signed
// CHECK:       graph.packed_dot_matmul %x, %fits, %b {narrow
// CHECK-NEXT:  graph.packed_dot_matmul %x, %least, %b :
// magnitudes that are multiplied with unsigned complements
// CHECK-NEXT:  graph.packed_dot_matmul %x, %fits, %b {complement} :
func.func @signed(%x: tensor<2x4xi8>, %b: tensor<1xi32>) -> tensor<2x1xi32> attributes {aot.entry} {
  %fits = graph.constant dense<[[[127, 127, -127, -127]]]> : tensor<1x1x4xi8>
  %least = graph.constant dense<[[[0, 0, -128, 0]]]> : tensor<1x1x4xi8>
  %0 = graph.packed_dot_matmul %x, %fits, %b : (tensor<2x4xi8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %1 = graph.packed_dot_matmul %x, %least, %b : (tensor<2x4xi8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %2 = graph.packed_dot_matmul %x, %fits, %b {complement} : (tensor<2x4xi8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  func.return %0 : tensor<2x1xi32>
}

// A recurrent layer multiplies its weight with what its states are rounded to.
// CHECK-LABEL: func.func @recurrent
// CHECK:       graph.rounded_lstm %x, %w, {{.*}}state_type = ui8} :
// CHECK-NEXT:  graph.rounded_lstm %x, %w, {{.*}}state_type = i8, narrow} :
func.func @recurrent(%x: tensor<2x1x16xf32>, %s: tensor<16xf32>, %n: tensor<16xi32>) -> tensor<2x1x4xf32> attributes {aot.entry} {
  %w = graph.constant dense<127> : tensor<4x1x16xi8>
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<4x1x16xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  %7, %8, %9, %10, %11, %12, %13 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = i8} : (tensor<2x1x16xf32>, tensor<4x1x16xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xi8>)
  func.return %0 : tensor<2x1x4xf32>
}
