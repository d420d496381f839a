// RUN: aotc-opt %s -p canonicalize,dce | filecheck %s

// What is cut off is not moved first.
// CHECK-LABEL: func.func @moved
func.func @moved(%x: tensor<6x2x4xf32>, %y: tensor<6x3x4xf32>) -> (tensor<2x1x4xf32>, tensor<2x5x4xf32>, tensor<3x2x1x4xf32>) {
  // CHECK-NEXT: [[S:%.*]] = graph.slice %x {starts = array<i64: 5, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>}
  // CHECK-NEXT: [[A:%.*]] = graph.reshape [[S]] {shape = array<i64: 2, 1, 4>}
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 5, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 2, 1, 4>} : (tensor<2x6x4xf32>) -> tensor<2x1x4xf32>
  // CHECK-NEXT: [[S:%.*]] = graph.slice %x {starts = array<i64: 1, 0, 3>, steps = array<i64: 3, 1, -1>, shape = array<i64: 2, 2, 4>}
  // CHECK-NEXT: [[T:%.*]] = graph.slice %y {starts = array<i64: 1, 0, 3>, steps = array<i64: 3, 1, -1>, shape = array<i64: 2, 3, 4>}
  // CHECK-NEXT: [[B:%.*]] = graph.concat [[S]], [[T]] {axis = 1 : i64}
  %2 = graph.concat %x, %y {axis = 1 : i64} : (tensor<6x2x4xf32>, tensor<6x3x4xf32>) -> tensor<6x5x4xf32>
  %3 = graph.slice %2 {starts = array<i64: 1, 0, 3>, steps = array<i64: 3, 1, -1>, shape = array<i64: 2, 5, 4>} : (tensor<6x5x4xf32>) -> tensor<2x5x4xf32>
  // CHECK-NEXT: [[S:%.*]] = graph.slice %x {starts = array<i64: 1, 0, 0>, steps = array<i64: 2, 1, 1>, shape = array<i64: 3, 2, 4>}
  // CHECK-NEXT: [[C:%.*]] = graph.reshape [[S]] {shape = array<i64: 3, 2, 1, 4>}
  // CHECK-NEXT: func.return [[A]], [[B]], [[C]]
  %4 = graph.reshape %x {shape = array<i64: 6, 2, 1, 4>} : (tensor<6x2x4xf32>) -> tensor<6x2x1x4xf32>
  %5 = graph.slice %4 {starts = array<i64: 1, 0, 0, 0>, steps = array<i64: 2, 1, 1, 1>, shape = array<i64: 3, 2, 1, 4>} : (tensor<6x2x1x4xf32>) -> tensor<3x2x1x4xf32>
  func.return %1, %3, %5 : tensor<2x1x4xf32>, tensor<2x5x4xf32>, tensor<3x2x1x4xf32>
}

// Others read all that moves; parts are cut off; axes are split, or have other extents behind them; nothing is left of two.
// CHECK-LABEL: func.func @stays
// CHECK-NEXT: [[T:%.*]] = graph.transpose %x
// CHECK-NEXT: graph.slice [[T]]
// CHECK-NEXT: [[C:%.*]] = graph.concat %x, %y
// CHECK-NEXT: graph.slice [[C]]
// CHECK-NEXT: [[C:%.*]] = graph.concat %x, %x
// CHECK-NEXT: graph.slice [[C]]
// CHECK-NEXT: [[R:%.*]] = graph.reshape %x
// CHECK-NEXT: graph.slice [[R]]
// CHECK-NEXT: [[R:%.*]] = graph.reshape %z
// CHECK-NEXT: graph.slice [[R]]
// CHECK-NEXT: [[R:%.*]] = graph.reshape %u
// CHECK-NEXT: graph.slice [[R]]
func.func @stays(%x: tensor<6x2x4xf32>, %y: tensor<6x3x4xf32>, %z: tensor<4x6x4xf32>, %u: tensor<1x4xf32>)
    -> (tensor<2x6x4xf32>, tensor<2x1x4xf32>, tensor<6x1x4xf32>, tensor<12x2x4xf32>, tensor<1x2x4xf32>, tensor<3x1x2x4xf32>, tensor<2x1x4xf32>, tensor<0x0x4xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<6x2x4xf32>) -> tensor<2x6x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 5, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 2, 1, 4>} : (tensor<2x6x4xf32>) -> tensor<2x1x4xf32>
  %2 = graph.concat %x, %y {axis = 1 : i64} : (tensor<6x2x4xf32>, tensor<6x3x4xf32>) -> tensor<6x5x4xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 4, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 6, 1, 4>} : (tensor<6x5x4xf32>) -> tensor<6x1x4xf32>
  %4 = graph.concat %x, %x {axis = 0 : i64} : (tensor<6x2x4xf32>, tensor<6x2x4xf32>) -> tensor<12x2x4xf32>
  %5 = graph.slice %4 {starts = array<i64: 7, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<12x2x4xf32>) -> tensor<1x2x4xf32>
  %6 = graph.reshape %x {shape = array<i64: 3, 2, 2, 4>} : (tensor<6x2x4xf32>) -> tensor<3x2x2x4xf32>
  %7 = graph.slice %6 {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 3, 1, 2, 4>} : (tensor<3x2x2x4xf32>) -> tensor<3x1x2x4xf32>
  %8 = graph.reshape %z {shape = array<i64: 2, 12, 4>} : (tensor<4x6x4xf32>) -> tensor<2x12x4xf32>
  %9 = graph.slice %8 {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 2, 1, 4>} : (tensor<2x12x4xf32>) -> tensor<2x1x4xf32>
  %10 = graph.reshape %u {shape = array<i64: 1, 1, 4>} : (tensor<1x4xf32>) -> tensor<1x1x4xf32>
  %11 = graph.slice %10 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 0, 0, 4>} : (tensor<1x1x4xf32>) -> tensor<0x0x4xf32>
  func.return %0, %1, %3, %4, %5, %7, %9, %11 : tensor<2x6x4xf32>, tensor<2x1x4xf32>, tensor<6x1x4xf32>, tensor<12x2x4xf32>, tensor<1x2x4xf32>, tensor<3x1x2x4xf32>, tensor<2x1x4xf32>, tensor<0x0x4xf32>
}

// The last state of a recurrent layer, in its direction.
// CHECK-LABEL: func.func @last_states
// CHECK-NEXT: %{{.*}}, [[H:%.*]], %{{.*}}, %{{.*}} = graph.rnn
// CHECK-NEXT: [[A:%.*]] = graph.reshape [[H]] {shape = array<i64: 1, 2, 4>}
// CHECK-NEXT: %{{.*}}, [[H:%.*]], %{{.*}}, %{{.*}} = graph.rnn {{.*}}reverse = true
// CHECK-NEXT: [[B:%.*]] = graph.reshape [[H]] {shape = array<i64: 1, 2, 4>}
// CHECK-NEXT: func.return [[A]], [[B]]
func.func @last_states(%x: tensor<3x2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %4 = graph.slice %0 {starts = array<i64: 2, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<3x2x4xf32>) -> tensor<1x2x4xf32>
  %5, %6, %7, %8 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %9 = graph.slice %5 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<3x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %4, %9 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// Another step than the last, parts of it, more than it; sequences with lengths have their last states anywhere.
// CHECK-LABEL: func.func @other_states
// CHECK-NEXT: [[Y:%.*]], %{{.*}}, %{{.*}}, %{{.*}} = graph.rnn
// CHECK-NEXT: graph.slice [[Y]] {starts = array<i64: 0, 0, 0>
// CHECK-NEXT: graph.slice [[Y]] {starts = array<i64: 2, 1, 0>
// CHECK-NEXT: graph.slice [[Y]] {starts = array<i64: 2, 0, 0>
// CHECK-NEXT: [[Y:%.*]], %{{.*}}, %{{.*}}, %{{.*}} = graph.rnn
// CHECK-NEXT: graph.slice [[Y]]
func.func @other_states(%x: tensor<3x2x4xf32>, %w: tensor<4x4xf32>, %l: tensor<2xi32>) -> (tensor<1x2x4xf32>, tensor<1x1x4xf32>, tensor<2x2x4xf32>, tensor<1x2x4xf32>) {
  %0, %1, %2, %3 = graph.rnn %x, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %4 = graph.slice %0 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<3x2x4xf32>) -> tensor<1x2x4xf32>
  %5 = graph.slice %0 {starts = array<i64: 2, 1, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 1, 4>} : (tensor<3x2x4xf32>) -> tensor<1x1x4xf32>
  %6 = graph.slice %0 {starts = array<i64: 2, 0, 0>, steps = array<i64: -1, 1, 1>, shape = array<i64: 2, 2, 4>} : (tensor<3x2x4xf32>) -> tensor<2x2x4xf32>
  %7, %8, %9, %10 = graph.rnn %x, %w, %l {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<2xi32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %11 = graph.slice %7 {starts = array<i64: 2, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 2, 4>} : (tensor<3x2x4xf32>) -> tensor<1x2x4xf32>
  func.return %4, %5, %6, %11 : tensor<1x2x4xf32>, tensor<1x1x4xf32>, tensor<2x2x4xf32>, tensor<1x2x4xf32>
}
