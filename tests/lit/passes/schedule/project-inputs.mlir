// RUN: aotc-opt %s -p project-inputs,dce | filecheck %s
// RUN: aotc-opt %s -p project-inputs,dce,project-inputs,dce | filecheck %s

// The product is gone, and its weight and bias are operands of the layer, whose steps have the inputs of one.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[X:.*]] = graph.reshape %x {shape = array<i64: 3, 2, 5>} : (tensor<6x5xf32>) -> tensor<3x2x5xf32>
// CHECK-NEXT: %y, %{{.*}} = graph.rnn %[[X]], %r, %w, %b {{{.*}}operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>{{.*}}sums_schedule{{.*}}} : (tensor<3x2x5xf32>, tensor<4x4xf32>, tensor<4x5xf32>, tensor<4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: func.return
func.func @main(%x: tensor<6x5xf32>, %w: tensor<4x5xf32>, %b: tensor<4xf32>, %r: tensor<4x4xf32>) -> tensor<3x2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %1 = graph.add %0, %b : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y, %4, %5, %6 = graph.rnn %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y : tensor<3x2x4xf32>
}

// Without a bias. Gates are summed up unit by unit: `sums` has one number for each.
// CHECK-LABEL: func.func @without_bias
// CHECK: graph.gru %{{.*}}, %r, %w {{{.*}}operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0>{{.*}}} : {{.*}} -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
func.func @without_bias(%x: tensor<6x5xf32>, %w: tensor<12x5xf32>, %r: tensor<12x4xf32>) -> tensor<3x2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<12x5xf32>) -> tensor<6x12xf32>
  %2 = graph.reshape %0 {shape = array<i64: 3, 2, 12>} : (tensor<6x12xf32>) -> tensor<3x2x12xf32>
  %y, %4, %5, %6 = graph.gru %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x12xf32>, tensor<12x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>)
  func.return %y : tensor<3x2x4xf32>
}

// A single step has nothing to save.
// CHECK-LABEL: func.func @one_step
// CHECK: graph.matmul
func.func @one_step(%x: tensor<2x5xf32>, %w: tensor<4x5xf32>, %r: tensor<4x4xf32>) -> tensor<1x2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<2x5xf32>, tensor<4x5xf32>) -> tensor<2x4xf32>
  %2 = graph.reshape %0 {shape = array<i64: 1, 2, 4>} : (tensor<2x4xf32>) -> tensor<1x2x4xf32>
  %y, %4, %5, %6 = graph.rnn %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<1x2x4xf32>, tensor<4x4xf32>) -> (tensor<1x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y : tensor<1x2x4xf32>
}

// On vectors, without a tile of inputs in the schedule, the products of all steps share what they read of the weight.
// CHECK-LABEL: func.func @on_vectors
// CHECK: graph.matmul
func.func @on_vectors(%x: tensor<6x5xf32>, %w: tensor<4x5xf32>, %r: tensor<4x4xf32>) -> tensor<3x2x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %2 = graph.reshape %0 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y, %4, %5, %6 = graph.rnn %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 1, unroll = 1, units = 1>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y : tensor<3x2x4xf32>
}

// What somebody else reads is computed anyway: the product, what the bias is added to, the reshaped sum.
// CHECK-LABEL: func.func @shared
// CHECK: graph.rnn %{{[^,]*}}, %r {
// CHECK: graph.rnn %{{[^,]*}}, %r {
// CHECK: graph.rnn %{{[^,]*}}, %r {
func.func @shared(%x: tensor<6x5xf32>, %w: tensor<4x5xf32>, %b: tensor<4xf32>, %r: tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<3x2x4xf32>) attributes {aot.entry} {
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %a0 = graph.add %m0, %b : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %t0 = graph.reshape %a0 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y0, %s01, %s02, %s03 = graph.rnn %t0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %m1 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %a1 = graph.add %m1, %b : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %t1 = graph.reshape %a1 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y1, %s11, %s12, %s13 = graph.rnn %t1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %m2 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %a2 = graph.add %m2, %b : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %t2 = graph.reshape %a2 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y2, %s21, %s22, %s23 = graph.rnn %t2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y0, %y1, %y2, %m0, %a1, %t2 : tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<3x2x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<3x2x4xf32>
}

// The weight is not transposed, or what is added is no bias.
// CHECK-LABEL: func.func @other_products
// CHECK: graph.rnn %{{[^,]*}}, %r {
// CHECK: graph.rnn %{{[^,]*}}, %r {
func.func @other_products(%x: tensor<6x5xf32>, %u: tensor<5x4xf32>, %w: tensor<4x5xf32>, %b: tensor<6x4xf32>, %r: tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<3x2x4xf32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %u : (tensor<6x5xf32>, tensor<5x4xf32>) -> tensor<6x4xf32>
  %2 = graph.reshape %0 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %y, %4, %5, %6 = graph.rnn %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %7 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<4x5xf32>) -> tensor<6x4xf32>
  %8 = graph.add %7, %b : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %9 = graph.reshape %8 {shape = array<i64: 3, 2, 4>} : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %z, %11, %12, %13 = graph.rnn %9, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 2>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  func.return %y, %z : tensor<3x2x4xf32>, tensor<3x2x4xf32>
}

// With one, the weight is packed into panels of its width; behind the products with the state are those of all inputs.
// CHECK-LABEL: func.func @ahead
// CHECK:      %[[X:.*]] = graph.reshape %x {shape = array<i64: 6, 1, 5>}
// CHECK-NEXT: %[[W:.*]] = graph.pack %w {layout = #graph.layout<columns (d0 floordiv 8, d1, d0 mod 8)>} : (tensor<16x5xf32>) -> tensor<2x5x8xf32>
// CHECK-NEXT: graph.rnn %[[X]], %r, %[[W]], %b {{.*}}ahead = 3, across = 2, beside = 1>{{.*}} : (tensor<6x1x5xf32>, tensor<16x16xf32>, tensor<2x5x8xf32>, tensor<16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x112xf32>)
// CHECK-NEXT: func.return
func.func @ahead(%x: tensor<6x5xf32>, %w: tensor<16x5xf32>, %b: tensor<16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x5xf32>, tensor<16x5xf32>) -> tensor<6x16xf32>
  %1 = graph.add %0, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %2 = graph.reshape %1 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %4, %5, %6 = graph.rnn %2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %y : tensor<6x1x16xf32>
}

// Layers in a row: the first one multiplies its first two states for the second one, whose weight is there before it,
// and which begins with these products.
// CHECK-LABEL: func.func @row
// CHECK:      %[[P:.*]] = graph.pack %w {layout = #graph.layout<columns ({{.*}} mod 8)>
// CHECK:      %[[W:.*]] = graph.constant
// CHECK-NEXT: %[[V:.*]] = graph.pack %[[W]] {layout = #graph.layout<columns ({{.*}} mod 8)>
// CHECK-NEXT: %[[B:.*]] = graph.constant
// CHECK-NEXT: %y, %{{.*}}, %[[F:.*]], %{{.*}}, %{{.*}} = graph.rnn %{{.*}}, %r, %[[P]], %[[V]], %[[B]] {{.*}}leading = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 1, 1>, {{.*}} -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x32xf32>, tensor<1x16xf32>, tensor<1x160xf32>)
// CHECK:      graph.rnn %{{.*}}, %r, %[[V]], %[[B]], %[[F]] {{.*}}operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 1, 0, 0>
func.func @row(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 2, following = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %w2 = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w2 {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// The same weight in both, which lies before the first one already.
// CHECK-LABEL: func.func @same
// CHECK:      %[[W:.*]] = graph.constant
// CHECK:      graph.rnn {{.*}}leading = 2 : i64
// CHECK:      graph.rnn {{.*}}operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 1, 0, 0>
func.func @same(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 2, following = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// The schedule of the first one does not say so.
// CHECK-LABEL: func.func @not_leading
// CHECK-NOT:  leading = 2 : i64
func.func @not_leading(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// A weight that is computed may not be there before the first one.
// CHECK-LABEL: func.func @computed
// CHECK-NOT:  leading = 2 : i64
func.func @computed(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 2, following = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %w2 = graph.mul %w, %w : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w2 {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// Steps that are not made have no states.
// CHECK-LABEL: func.func @lengths
// CHECK-NOT:  leading = 2 : i64
func.func @lengths(%x: tensor<6x16xf32>, %r: tensor<16x16xf32>, %n: tensor<1xi32>) -> tensor<6x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 2, following = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>, tensor<1xi32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %y {shape = array<i64: 6, 16>} : (tensor<6x1x16xf32>) -> tensor<6x16xf32>
  %2 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<6x16xf32>, tensor<16x16xf32>) -> tensor<6x16xf32>
  %3 = graph.add %2, %b : (tensor<6x16xf32>, tensor<16xf32>) -> tensor<6x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 1, 16>} : (tensor<6x16xf32>) -> tensor<6x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<6x1x16xf32>, tensor<16x16xf32>) -> (tensor<6x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<6x1x16xf32>
}

// The states after the last step only, in parts.
// CHECK-LABEL: func.func @last
// CHECK-NOT:  leading = 1 : i64
func.func @last(%x: tensor<2x16xf32>, %r: tensor<16x16xf32>) -> tensor<2x1x16xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<16x16xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<2x16xf32>, tensor<16x16xf32>) -> tensor<2x16xf32>
  %1 = graph.reshape %0 {shape = array<i64: 2, 1, 16>} : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %y, %yh, %s, %t = graph.rnn %1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1, leading = 1, following = 1>} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> (tensor<2x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  %f = graph.reshape %yh {shape = array<i64: 2, 8>} : (tensor<1x16xf32>) -> tensor<2x8xf32>
  %w8 = graph.constant dense<0.1> : tensor<16x8xf32>
  %2 = graph.matmul %f, %w8 {transpose_rhs = true} : (tensor<2x8xf32>, tensor<16x8xf32>) -> tensor<2x16xf32>
  %3 = graph.add %2, %b : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %4 = graph.reshape %3 {shape = array<i64: 2, 1, 16>} : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %z, %zh, %u, %v = graph.rnn %4, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 1, nr = 2, unroll = 1, units = 1, ahead = 3, across = 2, beside = 1>} : (tensor<2x1x16xf32>, tensor<16x16xf32>) -> (tensor<2x1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>)
  func.return %z : tensor<2x1x16xf32>
}
