// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' | filecheck %s

// The weights are packed into panels of the width of the register tile, also where they are known only at run time.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[W:.*]] = graph.pack %w {layout = #graph.layout<columns (d0 floordiv 8, d1, d0 mod 8)>} : (tensor<8x4xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT: %[[C:.*]] = graph.pack %c {layout = #graph.layout<columns (d0 floordiv 8, d1, d0 mod 8)>} : (tensor<4x4xf32>) -> tensor<1x4x8xf32>
// CHECK-NEXT: graph.gru %x, %[[W]], %[[C]] {{.*}}nr = 2
// CHECK-NEXT: func.return %2
func.func @main(%x: tensor<3x1x12xf32>, %w: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<3x1x4xf32> attributes {aot.entry} {
  %0, %1, %2, %3, %4 = graph.gru %x, %w, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1>} : (tensor<3x1x12xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x12xf32>, tensor<1x4xf32>)
  func.return %0 : tensor<3x1x4xf32>
}

// What is packed, or has no schedule, stays.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT: graph.rnn %x, %p
// CHECK-NEXT: graph.rnn %x, %w
// CHECK-NEXT: func.return
func.func @kept(%x: tensor<3x1x4xf32>, %p: tensor<1x4x8xf32>, %w: tensor<4x4xf32>) attributes {aot.entry} {
  %0, %1, %2, %3 = graph.rnn %x, %p {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1>} : (tensor<3x1x4xf32>, tensor<1x4x8xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  %4, %5, %6, %7 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x4xf32>, tensor<4x4xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  func.return
}

// The rows of a weight of integers are interleaved.
// CHECK-LABEL: func.func @rounded
// CHECK-NEXT: %[[I:.*]] = graph.pack %w {layout = #graph.layout<columns (d0 floordiv 8, d1 floordiv 4, (d0 mod 8, d1 mod 4))>} : (tensor<24x6xi8>) -> tensor<3x2x32xi8>
// CHECK-NEXT: graph.rounded_lstm %x, %[[I]], %s, %n
func.func @rounded(%x: tensor<2x1x24xf32>, %s: tensor<24xf32>, %n: tensor<24xi32>, %w: tensor<24x6xi8>) -> tensor<2x1x6xf32> attributes {aot.entry} {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1>} : (tensor<2x1x24xf32>, tensor<24x6xi8>, tensor<24xf32>, tensor<24xi32>) -> (tensor<2x1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x24xf32>, tensor<1x6xui8>)
  func.return %0 : tensor<2x1x6xf32>
}
