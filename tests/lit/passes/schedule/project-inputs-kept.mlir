// RUN: aotc-opt %s -p project-inputs,dce | filecheck %s

// A layer that multiplies its inputs leaves alone what these are a product of.
// CHECK-LABEL: func.func @given
// CHECK: graph.matmul
// CHECK: graph.rnn %{{.*}}, %r, %v {
func.func @given(%x: tensor<6x5xf32>, %w: tensor<3x5xf32>, %r: tensor<4x4xf32>, %v: tensor<4x3xf32>) -> tensor<3x2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<3x5xf32>) -> tensor<6x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 3, 2, 3>} : (tensor<6x3xf32>) -> tensor<3x2x3xf32>
  %y, %4, %5, %6 = graph.rnn %1, %r, %v {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x3xf32>, tensor<4x4xf32>, tensor<4x3xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y : tensor<3x2x4xf32>
}

// Where the layer before has no schedule, it begins nothing.
// CHECK-LABEL: func.func @unscheduled
// CHECK-NOT:  leading = 2 : i64
func.func @unscheduled(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// Nor where the schedule says so, but the second one does not multiply its inputs ahead.
// CHECK-LABEL: func.func @not_ahead
// CHECK-NOT:  leading = 2 : i64
func.func @not_ahead(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 2, following = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}
