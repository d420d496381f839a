// RUN: aotc-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s
// RUN: aotc-opt %s -p 'choose-schedule{target="cortex-m4f"}' | filecheck %s --check-prefix=SCALAR

// A single line: wide tiles. Several share a vector of the weight, unless lengths are of each line.
// CHECK-LABEL: func.func @main
// CHECK:      graph.rnn %x, %w {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 4,
// CHECK-NEXT: graph.rnn %several, %w {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = {{[2-8]}},
// CHECK-NEXT: graph.rnn %several, %w, %n {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1,

// Without vectors some columns of a product are summed up at once.
// SCALAR-LABEL: func.func @main
// SCALAR:      graph.rnn %x, %w {{.*}}schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = {{[2-9]}}
func.func @main(%x: tensor<3x1x64xf32>, %w: tensor<64x64xf32>, %several: tensor<3x8x64xf32>, %n: tensor<8xi32>) attributes {aot.entry} {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x64xf32>, tensor<64x64xf32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  %4, %5, %6, %7 = graph.rnn %several, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x8x64xf32>, tensor<64x64xf32>) -> (tensor<3x8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %8, %9, %10, %11 = graph.rnn %several, %w, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x8x64xf32>, tensor<64x64xf32>, tensor<8xi32>) -> (tensor<3x8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  func.return
}

// Products of integers are sums of dot products, which wait longer for each other.
// CHECK-LABEL: func.func @rounded
// CHECK:       graph.rounded_lstm {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8,
// SCALAR-LABEL: func.func @rounded
// SCALAR:       graph.rounded_lstm {{.*}}schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = {{[2-9]}}
func.func @rounded(%x: tensor<2x1x256xf32>, %s: tensor<256xf32>, %n: tensor<256xi32>, %w: tensor<256x64xi8>) -> tensor<2x1x64xf32> attributes {aot.entry} {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x256xf32>, tensor<256x64xi8>, tensor<256xf32>, tensor<256xi32>) -> (tensor<2x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x256xf32>, tensor<1x64xui8>)
  func.return %0 : tensor<2x1x64xf32>
}

// Rows of panels are read back and forth where the weight stays in L2, 1 MiB here, and there is a step after the first.
// CHECK-LABEL: func.func @caches
// CHECK:      graph.rnn %x, %large {{.*}}units = {{[0-9]+}}>}
// CHECK-NEXT: graph.rnn %y, %w {{.*}}units = {{[0-9]+}}, turned>}
// CHECK-NEXT: graph.rnn %one, %w {{.*}}units = {{[0-9]+}}>}
func.func @caches(%x: tensor<3x1x576xf32>, %large: tensor<576x576xf32>, %y: tensor<3x1x512xf32>, %one: tensor<1x1x512xf32>, %w: tensor<512x512xf32>) attributes {aot.entry} {
  %0, %1, %2, %3 = graph.rnn %x, %large {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x576xf32>, tensor<576x576xf32>) -> (tensor<3x1x576xf32>, tensor<1x576xf32>, tensor<1x576xf32>, tensor<1x576xf32>)
  %4, %5, %6, %7 = graph.rnn %y, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x512xf32>, tensor<512x512xf32>) -> (tensor<3x1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>)
  %8, %9, %10, %11 = graph.rnn %one, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<1x1x512xf32>, tensor<512x512xf32>) -> (tensor<1x1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>)
  func.return
}
