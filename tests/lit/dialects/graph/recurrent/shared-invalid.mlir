// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: with an exponent there is one weight, of i32
func.func @floats(%x: tensor<3x1x64xf32>, %w: tensor<2x64x28xf32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x64xf32>, tensor<2x64x28xf32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: a weight must be [64, 64], or packed, found [64, 64]
func.func @plain(%x: tensor<3x1x64xf32>, %w: tensor<64x64xi32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x64xf32>, tensor<64x64xi32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: a weight must be [64, 64], or packed, found [1, 64, 28]
func.func @columns(%x: tensor<3x1x64xf32>, %w: tensor<1x64x28xi32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x64xf32>, tensor<1x64x28xi32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: a weight must be [64, 64], or packed, found [2, 63, 28]
func.func @depth(%x: tensor<3x1x64xf32>, %w: tensor<2x63x28xi32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x64xf32>, tensor<2x63x28xi32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: a weight must be [64, 64], or packed, found [2, 64, 29]
func.func @registers(%x: tensor<3x1x64xf32>, %w: tensor<2x64x29xi32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, exponent = -31} : (tensor<3x1x64xf32>, tensor<2x64x29xi32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  func.return
}

// -----

// CHECK: with an exponent there is one weight, of i32
func.func @candidate(%x: tensor<3x1x96xf32>, %w: tensor<2x32x28xi32>, %v: tensor<1x32x28xi32>) {
  %0, %1, %2, %3, %4 = graph.gru %x, %w, %v {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>, exponent = -31} : (tensor<3x1x96xf32>, tensor<2x32x28xi32>, tensor<1x32x28xi32>) -> (tensor<3x1x32xf32>, tensor<1x32xf32>, tensor<1x32xf32>, tensor<1x64xf32>, tensor<1x32xf32>)
  func.return
}
