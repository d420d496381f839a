// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s --check-prefix=SCALAR
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule' | filecheck %s --check-prefix=AVX2

// A single line: wide tiles. Several share a vector of the weight, unless lengths are of each line.
// CHECK-LABEL: func.func @main
// CHECK:      graph.rnn %x, %w {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 4,
// CHECK-NEXT: graph.rnn %several, %w {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = {{[2-8]}},
// CHECK-NEXT: graph.rnn %several, %w, %n {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1,

// Without vectors some columns of a product are summed up at once.
// SCALAR-LABEL: func.func @main
// SCALAR:      graph.rnn %x, %w {{.*}}schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = {{[2-9]}}
func.func @main(%x: tensor<3x1x64xf32>, %w: tensor<64x64xf32>, %several: tensor<3x8x64xf32>, %n: tensor<8xi32>) attributes {aot.entry} {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x64xf32>, tensor<64x64xf32>) -> (tensor<3x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  %4, %5, %6, %7 = graph.rnn %several, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x8x64xf32>, tensor<64x64xf32>) -> (tensor<3x8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %8, %9, %10, %11 = graph.rnn %several, %w, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x8x64xf32>, tensor<64x64xf32>, tensor<8xi32>) -> (tensor<3x8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  func.return
}

// Products of integers are sums of dot products, which wait longer for each other.
// CHECK-LABEL: func.func @rounded
// CHECK:       graph.rounded_lstm {{.*}}schedule = #graph.recurrence_schedule<lanes = 16, mr = 1, nr = 8,
// SCALAR-LABEL: func.func @rounded
// SCALAR:       graph.rounded_lstm {{.*}}schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = {{[2-9]}}
func.func @rounded(%x: tensor<2x1x256xf32>, %s: tensor<256xf32>, %n: tensor<256xi32>, %w: tensor<256x64xi8>) -> tensor<2x1x64xf32> attributes {aot.entry} {
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x256xf32>, tensor<256x64xi8>, tensor<256xf32>, tensor<256xi32>) -> (tensor<2x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x256xf32>, tensor<1x64xui8>)
  func.return %0 : tensor<2x1x64xf32>
}

// Rows of panels are read back and forth where the weight stays in L2, 1 MiB here, and there is a step after the first.
// CHECK-LABEL: func.func @caches
// CHECK:      graph.rnn %x, %large {{.*}}units = {{[0-9]+}}>}
// CHECK-NEXT: graph.rnn %y, %w {{.*}}units = {{[0-9]+}}, turned>}
// CHECK-NEXT: graph.rnn %one, %w {{.*}}units = {{[0-9]+}}>}
func.func @caches(%x: tensor<3x1x576xf32>, %large: tensor<576x576xf32>, %y: tensor<3x1x512xf32>, %one: tensor<1x1x512xf32>, %w: tensor<512x512xf32>) attributes {aot.entry} {
  %0, %1, %2, %3 = graph.rnn %x, %large {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x576xf32>, tensor<576x576xf32>) -> (tensor<3x1x576xf32>, tensor<1x576xf32>, tensor<1x576xf32>, tensor<1x576xf32>)
  %4, %5, %6, %7 = graph.rnn %y, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x512xf32>, tensor<512x512xf32>) -> (tensor<3x1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>)
  %8, %9, %10, %11 = graph.rnn %one, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<1x1x512xf32>, tensor<512x512xf32>) -> (tensor<1x1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>, tensor<1x512xf32>)
  func.return
}

// The inputs of a single line are multiplied beside the products with its state, where the weight for that comes from L2,
// not if it stays in L1, for several lines, for lengths known at run time, nor if there are few steps to do it beside; nor
// where a candidate has a weight of its own, nor in f16.
// With 16 registers a tile takes too many loads.
// CHECK-LABEL: func.func @ahead
// CHECK:      graph.rnn %{{[^,]*}}, %r {{.*}}ahead = {{[0-9]+}}, across = {{[0-9]+}}, beside = {{[0-9]+}}>}
// CHECK-COUNT-6: graph.{{(rnn|gru)}} {{.*}}units = {{[0-9]+}}{{(, turned)?}}>}
// AVX2-LABEL: func.func @ahead
// AVX2-NOT: ahead =
func.func @ahead(%x: tensor<50x64xf32>, %w: tensor<128x64xf32>, %r: tensor<128x128xf32>, %v: tensor<64x64xf32>, %q: tensor<64x64xf32>, %n: tensor<1xi32>, %z: tensor<3x64xf32>, %g: tensor<384x64xf32>, %k: tensor<256x128xf32>, %hx: tensor<50x64xf16>, %hw: tensor<128x64xf16>, %hr: tensor<128x128xf16>) attributes {aot.entry} {
  %p0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %p0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y1:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %p2 = graph.matmul %x, %v {transpose_rhs = true} : (tensor<50x64xf32>, tensor<64x64xf32>) -> tensor<50x64xf32>
  %a2 = graph.reshape %p2 {shape = array<i64: 50, 1, 64>} : (tensor<50x64xf32>) -> tensor<50x1x64xf32>
  %a3:4 = graph.rnn %a2, %q {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x64xf32>, tensor<64x64xf32>) -> (tensor<50x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  %p4 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a4 = graph.reshape %p4 {shape = array<i64: 25, 2, 128>} : (tensor<50x128xf32>) -> tensor<25x2x128xf32>
  %a5:4 = graph.rnn %a4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<25x2x128xf32>, tensor<128x128xf32>) -> (tensor<25x2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>)
  %p6 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a6 = graph.reshape %p6 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %a7:4 = graph.rnn %a6, %r, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>, tensor<1xi32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %p8 = graph.matmul %z, %w {transpose_rhs = true} : (tensor<3x64xf32>, tensor<128x64xf32>) -> tensor<3x128xf32>
  %a8 = graph.reshape %p8 {shape = array<i64: 3, 1, 128>} : (tensor<3x128xf32>) -> tensor<3x1x128xf32>
  %a9:4 = graph.rnn %a8, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x128xf32>, tensor<128x128xf32>) -> (tensor<3x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %p10 = graph.matmul %x, %g {transpose_rhs = true} : (tensor<50x64xf32>, tensor<384x64xf32>) -> tensor<50x384xf32>
  %a10 = graph.reshape %p10 {shape = array<i64: 50, 1, 384>} : (tensor<50x384xf32>) -> tensor<50x1x384xf32>
  %a11:5 = graph.gru %a10, %k, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<50x1x384xf32>, tensor<256x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x384xf32>, tensor<1x128xf32>)
  %p12 = graph.matmul %hx, %hw {transpose_rhs = true} : (tensor<50x64xf16>, tensor<128x64xf16>) -> tensor<50x128xf16>
  %a12 = graph.reshape %p12 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf16>) -> tensor<50x1x128xf16>
  %a13:4 = graph.rnn %a12, %hr {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf16>, tensor<128x128xf16>) -> (tensor<50x1x128xf16>, tensor<1x128xf16>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}
