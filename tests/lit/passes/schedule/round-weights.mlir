// RUN: aotc-opt %s -p 'attach-target{target=test-zen},round-weights,dce' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-zen},round-weights,dce,round-weights' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},round-weights,dce' | filecheck %s --check-prefix=SAME
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},round-weights,dce' | filecheck %s --check-prefix=SAME

// Elements are below 2^0; 0.5 is 2^30 * 2^-31.
// CHECK-LABEL: func.func @main
// CHECK:         [[W:%.*]] = graph.constant {{.*}} : tensor<1x128x112xi32>
// CHECK-NEXT:    graph.rnn %x, [[W]] {{.*}}exponent = -31 : i64{{.*}} : (tensor<3x1x128xf32>, tensor<1x128x112xi32>)
// CHECK-NOT:     graph.constant
// SAME-LABEL: func.func @main
// SAME-NOT:     exponent
func.func @main(%x: tensor<3x1x128xf32>) -> tensor<3x1x128xf32> attributes {aot.entry} {
  %w = graph.constant dense<5.0e-01> : tensor<128x128xf32>
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8, unroll = 2, units = 1>} : (tensor<3x1x128xf32>, tensor<128x128xf32>) -> (tensor<3x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return %0 : tensor<3x1x128xf32>
}

// What has no schedule with panels of eight registers stays, what is not constant, columns that are no whole panels, and
// steps of two rows.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     exponent
func.func @others(%x: tensor<3x1x128xf32>, %v: tensor<128x128xf32>, %z: tensor<3x1x136xf32>, %t: tensor<3x2x128xf32>) -> (tensor<3x1x128xf32>, tensor<3x1x128xf32>, tensor<3x1x128xf32>, tensor<3x1x136xf32>, tensor<3x2x128xf32>) attributes {aot.entry} {
  %w = graph.constant dense<5.0e-01> : tensor<128x128xf32>
  %u = graph.constant dense<5.0e-01> : tensor<136x136xf32>
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 4, unroll = 2, units = 1>} : (tensor<3x1x128xf32>, tensor<128x128xf32>) -> (tensor<3x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %4, %5, %6, %7 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x128xf32>, tensor<128x128xf32>) -> (tensor<3x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %8, %9, %10, %11 = graph.rnn %x, %v {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8, unroll = 2, units = 1>} : (tensor<3x1x128xf32>, tensor<128x128xf32>) -> (tensor<3x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %12, %13, %14, %15 = graph.rnn %z, %u {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8, unroll = 2, units = 1>} : (tensor<3x1x136xf32>, tensor<136x136xf32>) -> (tensor<3x1x136xf32>, tensor<1x136xf32>, tensor<1x136xf32>, tensor<1x136xf32>)
  %16, %17, %18, %19 = graph.rnn %t, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8, unroll = 2, units = 1>} : (tensor<3x2x128xf32>, tensor<128x128xf32>) -> (tensor<3x2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>)
  func.return %0, %4, %8, %12, %16 : tensor<3x1x128xf32>, tensor<3x1x128xf32>, tensor<3x1x128xf32>, tensor<3x1x136xf32>, tensor<3x2x128xf32>
}
