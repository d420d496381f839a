// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be [steps, batch, 3 * units], found [3, 2, 4]
func.func @gates(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>) {
  %0, %1, %2, %3 = graph.gru %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: a weight must be [4, 4], or packed, found [4, 3]
func.func @weight(%a: tensor<3x2x4xf32>, %b: tensor<4x3xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x3xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: a weight must be [4, 4], or packed, found [2, 4, 4]
func.func @panels(%a: tensor<3x2x4xf32>, %b: tensor<2x4x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<2x4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: initial_h must be [2, 4], found tensor<1x4xf32>
func.func @initial(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>, %c: tensor<1x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: lengths must be a tensor of integers, found tensor<2xf32>
func.func @length_type(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>, %c: tensor<2xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<2xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: lengths must be [2], found tensor<3xi32>
func.func @length_count(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>, %c: tensor<3xi32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<3xi32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: element types differ: f32, f16
func.func @types(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf16>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf16>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: x has element type i32, expected float
func.func @integers(%a: tensor<3x2x4xi32>, %b: tensor<4x4xi32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xi32>, tensor<4x4xi32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: there is no activation gelu
func.func @activation(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["gelu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: there must be 1 activations, alphas and betas, found [1, 2]
func.func @alphas(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: there must be a buffer `gated` with a candidate_weight, and only then
func.func @gated(%a: tensor<3x2x12xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) {
  %0, %1, %2, %3 = graph.gru %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<3x2x12xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>)
  func.return
}

// -----

// CHECK: with a candidate_weight the bias of the candidate is part of x
func.func @candidate_bias(%a: tensor<3x2x12xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>, %d: tensor<4xf32>) {
  %0, %1, %2, %3, %4 = graph.gru %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<3x2x12xf32>, tensor<8x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: peepholes must be [12], found tensor<4xf32>
func.func @peepholes(%a: tensor<3x2x16xf32>, %b: tensor<16x4xf32>, %c: tensor<4xf32>) {
  %0, %1, %2, %3, %4, %5 = graph.lstm %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<3x2x16xf32>, tensor<16x4xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x16xf32>)
  func.return
}

// -----

// CHECK: x and input_weight must be [steps, batch, inputs] and [1 * units, inputs], found [3, 2, 5] and [4, 6]
func.func @input_weight(%a: tensor<3x2x5xf32>, %b: tensor<4x4xf32>, %w: tensor<4x6xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x5xf32>, tensor<4x4xf32>, tensor<4x6xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: x and input_weight must be [steps, batch, inputs] and [4 * units, inputs], found [3, 1, 5] and [18, 5]
func.func @packed_input_weight(%a: tensor<3x1x5xf32>, %b: tensor<16x4xf32>, %w: tensor<3x5x6xf32>) {
  %0, %1, %2, %3, %4, %5 = graph.lstm %a, %b, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<3x1x5xf32>, tensor<16x4xf32>, tensor<3x5x6xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: without an input_weight the bias is part of x
func.func @input_bias(%a: tensor<3x2x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4xf32>) {
  %0, %1, %2, %3 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return
}

// -----

// CHECK: products of inputs are begun only where the others are multiplied ahead
func.func @begun(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %c: tensor<1x4xf32>) {
  %0:4 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  func.return
}

// -----

// CHECK: begun must be [1, n * 4] of n <= 3 steps, found [1, 16]
func.func @begun_too_many(%a: tensor<3x1x5xf32>, %b: tensor<4x4xf32>, %w: tensor<2x5x2xf32>, %c: tensor<1x16xf32>) {
  %0:4 = graph.rnn %a, %b, %w, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 1, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x5xf32>, tensor<4x4xf32>, tensor<2x5x2xf32>, tensor<1x16xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  func.return
}

// -----

// CHECK: following, following_weight and leading come together, and following_bias with them
func.func @leading_alone(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>) {
  %0:4 = graph.rnn %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 2 : i64} : (tensor<3x1x4xf32>, tensor<4x4xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  func.return
}

// -----

// CHECK: following, following_weight and leading come together, and following_bias with them
func.func @bias_alone(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %c: tensor<0xf32>) {
  %0:4 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<0xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  func.return
}

// -----

// CHECK: following_weight must be [panels, 4, width], found tensor<2x5x2xf32>
func.func @following_weight(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %c: tensor<2x5x2xf32>) {
  %0:5 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 2 : i64} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<2x5x2xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  func.return
}

// -----

// CHECK: following_bias must be [4], found tensor<3xf32>
func.func @following_bias(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %c: tensor<2x4x2xf32>, %d: tensor<3xf32>) {
  %0:5 = graph.rnn %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 1>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 2 : i64} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<2x4x2xf32>, tensor<3xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  func.return
}

// -----

// CHECK: leading must be from 1 to 3, found 4
func.func @leading(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %c: tensor<2x4x2xf32>) {
  %0:5 = graph.rnn %a, %b, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 1, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 4 : i64} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<2x4x2xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  func.return
}

// -----

// CHECK: only a layer that makes all steps, and does not multiply unit by unit, multiplies states
func.func @leading_with_lengths(%a: tensor<3x1x4xf32>, %b: tensor<4x4xf32>, %n: tensor<1xi32>, %c: tensor<2x4x2xf32>) {
  %0:5 = graph.rnn %a, %b, %n, %c {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 1, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 2 : i64} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<1xi32>, tensor<2x4x2xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  func.return
}

// -----

// CHECK: only a layer that makes all steps, and does not multiply unit by unit, multiplies states
func.func @leading_by_units(%a: tensor<3x1x5xf32>, %b: tensor<4x4xf32>, %w: tensor<4x5xf32>, %c: tensor<2x4x2xf32>) {
  %0:5 = graph.rnn %a, %b, %w, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 1, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, leading = 2 : i64} : (tensor<3x1x5xf32>, tensor<4x4xf32>, tensor<4x5xf32>, tensor<2x4x2xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x16xf32>)
  func.return
}
