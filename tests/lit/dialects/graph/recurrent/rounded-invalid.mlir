// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the products of the inputs are in x
func.func @both(%a: tensor<2x1x5xf32>, %b: tensor<16x4xi8>, %w: tensor<16x5xf32>, %s: tensor<16xf32>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x5xf32>, tensor<16x4xi8>, tensor<16x5xf32>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: states are rounded to i16, not to an integer of 8 bits
func.func @wide(%a: tensor<2x1x16xf32>, %b: tensor<16x4xi8>, %s: tensor<16xf32>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = i16} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xi16>)
  func.return
}

// -----

// CHECK: weight must be a tensor of i8, found tensor<16x4xui8>
func.func @kind(%a: tensor<2x1x16xf32>, %b: tensor<16x4xui8>, %s: tensor<16xf32>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xui8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: weight_points must be a tensor of i32, found tensor<16xi8>
func.func @point(%a: tensor<2x1x16xf32>, %b: tensor<16x4xi8>, %s: tensor<16xf32>, %n: tensor<16xi32>, %p: tensor<16xi8>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n, %p {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>, tensor<16xi8>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: x must be a tensor of f32, found tensor<2x1x16xf16>
func.func @half(%a: tensor<2x1x16xf16>, %b: tensor<16x4xi8>, %s: tensor<16xf16>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf16>, tensor<16x4xi8>, tensor<16xf16>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: state_scales must be [16], found tensor<4xf32>
func.func @scales(%a: tensor<2x1x16xf32>, %b: tensor<16x4xi8>, %s: tensor<4xf32>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<4xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: a weight must be [16, 4], or packed, found [4, 1, 18]
func.func @packed(%a: tensor<2x1x16xf32>, %b: tensor<4x1x18xi8>, %s: tensor<16xf32>, %n: tensor<16xi32>) {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %a, %b, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<4x1x18xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return
}

// -----

// CHECK: states are not multiplied for a following layer
func.func @following(%a: tensor<2x1x16xf32>, %b: tensor<16x4xi8>, %f: tensor<2x4x2xf32>, %s: tensor<16xf32>, %n: tensor<16xi32>) {
  %0:8 = graph.rounded_lstm %a, %b, %f, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8, leading = 2 : i64} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<2x4x2xf32>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x28xf32>, tensor<1x4xui8>)
  func.return
}
