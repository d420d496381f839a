// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule' | filecheck %s --check-prefix=AVX2

// Layers in a row: the first one multiplies its first states for the second one beside its last steps, which then has
// that many steps whose inputs it does not multiply.
// With 16 registers a tile takes too many loads.
// CHECK-LABEL: func.func @row
// CHECK: graph.rnn {{.*}}ahead = {{[0-9]+}}, across = 1, beside = {{[0-9]+}}, leading = {{[0-9]+}}, following = {{[0-9]+}}>}
// CHECK: graph.rnn {{.*}}ahead = {{[0-9]+}}, across = 1, beside = {{[0-9]+}}>}
// AVX2-NOT: leading
func.func @row(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// Both in reverse order, too.
// CHECK-LABEL: func.func @reverse
// CHECK: leading
func.func @reverse(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// The first steps of one direction are the last ones of the other.
// CHECK-LABEL: func.func @directions
// CHECK-NOT: leading
func.func @directions(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// Steps that are not made have no states.
// CHECK-LABEL: func.func @lengths_before
// CHECK-NOT: leading
func.func @lengths_before(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>, tensor<1xi32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// Nor are inputs multiplied for steps that are not made.
// CHECK-LABEL: func.func @lengths
// CHECK-NOT: leading
func.func @lengths(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r, %n {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>, tensor<1xi32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// A weight that is computed may not be there when the first layer is.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: leading
func.func @computed(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>, %u: tensor<128x128xf32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %u {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// Half a state is the input of a step.
// CHECK-LABEL: func.func @steps
// CHECK-NOT: leading
func.func @steps(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 100, 64>} : (tensor<50x1x128xf32>) -> tensor<100x64xf32>
  %m1 = graph.matmul %f, %w {transpose_rhs = true} : (tensor<100x64xf32>, tensor<128x64xf32>) -> tensor<100x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 100, 1, 128>} : (tensor<100x128xf32>) -> tensor<100x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<100x1x128xf32>, tensor<128x128xf32>) -> (tensor<100x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// The states of two lines are the inputs of a step.
// CHECK-LABEL: func.func @lines
// CHECK-NOT: leading
func.func @lines(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 25, 2, 128>} : (tensor<50x128xf32>) -> tensor<25x2x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<25x2x128xf32>, tensor<128x128xf32>) -> (tensor<25x2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>, tensor<2x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 25, 256>} : (tensor<25x2x128xf32>) -> tensor<25x256xf32>
  %u = graph.constant dense<0.1> : tensor<128x256xf32>
  %m1 = graph.matmul %f, %u {transpose_rhs = true} : (tensor<25x256xf32>, tensor<128x256xf32>) -> tensor<25x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 25, 1, 128>} : (tensor<25x128xf32>) -> tensor<25x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<25x1x128xf32>, tensor<128x128xf32>) -> (tensor<25x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// Two layers read the states; it is not known which one is the better.
// CHECK-LABEL: func.func @two
// CHECK-NOT: leading
func.func @two(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %m2 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a2 = graph.reshape %m2 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %q:4 = graph.rnn %a2, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// What is computed between them is not known to the first layer.
// CHECK-LABEL: func.func @between
// CHECK-NOT: leading
func.func @between(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %y:4 = graph.rnn %a0, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  %e = graph.relu %y#0 : (tensor<50x1x128xf32>) -> tensor<50x1x128xf32>
  %f = graph.reshape %e {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// A candidate has a weight of its own: there are two products in a step.
// CHECK-LABEL: func.func @candidate
// CHECK-NOT: leading
func.func @candidate(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>, %g: tensor<384x64xf32>, %k: tensor<256x128xf32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %g {transpose_rhs = true} : (tensor<50x64xf32>, tensor<384x64xf32>) -> tensor<50x384xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 384>} : (tensor<50x384xf32>) -> tensor<50x1x384xf32>
  %y:5 = graph.gru %a0, %k, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<50x1x384xf32>, tensor<256x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x384xf32>, tensor<1x128xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 128>} : (tensor<50x1x128xf32>) -> tensor<50x128xf32>
  %m1 = graph.matmul %f, %v {transpose_rhs = true} : (tensor<50x128xf32>, tensor<128x128xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}

// The first layer does not wait for a weight that stays in L1.
// CHECK-LABEL: func.func @near
// CHECK-NOT: leading
func.func @near(%x: tensor<50x64xf32>, %r: tensor<128x128xf32>, %n: tensor<1xi32>, %w1: tensor<64x64xf32>, %q: tensor<64x64xf32>) attributes {aot.entry} {
  %w = graph.constant dense<0.1> : tensor<128x64xf32>
  %v = graph.constant dense<0.1> : tensor<128x128xf32>
  %m0 = graph.matmul %x, %w1 {transpose_rhs = true} : (tensor<50x64xf32>, tensor<64x64xf32>) -> tensor<50x64xf32>
  %a0 = graph.reshape %m0 {shape = array<i64: 50, 1, 64>} : (tensor<50x64xf32>) -> tensor<50x1x64xf32>
  %y:4 = graph.rnn %a0, %q {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x64xf32>, tensor<64x64xf32>) -> (tensor<50x1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>)
  %f = graph.reshape %y#0 {shape = array<i64: 50, 64>} : (tensor<50x1x64xf32>) -> tensor<50x64xf32>
  %u = graph.constant dense<0.1> : tensor<128x64xf32>
  %m1 = graph.matmul %f, %u {transpose_rhs = true} : (tensor<50x64xf32>, tensor<128x64xf32>) -> tensor<50x128xf32>
  %a1 = graph.reshape %m1 {shape = array<i64: 50, 1, 128>} : (tensor<50x128xf32>) -> tensor<50x1x128xf32>
  %z:4 = graph.rnn %a1, %r {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<50x1x128xf32>, tensor<128x128xf32>) -> (tensor<50x1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>, tensor<1x128xf32>)
  func.return
}
