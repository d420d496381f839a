// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.rnn %x, %w, %h, %n {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.000000e+00>, betas = array<f64: 0.000000e+00>, reverse = true} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2xi32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK-NEXT: graph.gru %g, %q, %c {{.*}} : (tensor<3x2x12xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x4xf32>)
// CHECK-NEXT: graph.lstm %l, %p {{.*}} : (tensor<3x2x16xf16>, tensor<2x4x8xf16>) -> (tensor<3x2x4xf16>, tensor<2x4xf16>, tensor<2x4xf16>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x16xf32>)
func.func @forms(%x: tensor<3x2x4xf32>, %w: tensor<4x4xf32>, %h: tensor<2x4xf32>, %n: tensor<2xi32>, %g: tensor<3x2x12xf32>, %q: tensor<8x4xf32>, %c: tensor<4x4xf32>, %l: tensor<3x2x16xf16>, %p: tensor<2x4x8xf16>) {
  %0, %1, %2, %3 = graph.rnn %x, %w, %h, %n {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<3x2x4xf32>, tensor<4x4xf32>, tensor<2x4xf32>, tensor<2xi32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>)
  %4, %5, %6, %7, %8 = graph.gru %g, %q, %c {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0>, resultSegmentSizes = array<i32: 1, 1, 0, 1, 1, 1>, activations = ["sigmoid", "tanh"], alphas = array<f64: 0.0, 0.0>, betas = array<f64: 0.0, 0.0>} : (tensor<3x2x12xf32>, tensor<8x4xf32>, tensor<4x4xf32>) -> (tensor<3x2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x12xf32>, tensor<2x4xf32>)
  %9, %10, %11, %12, %13, %14 = graph.lstm %l, %p {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>} : (tensor<3x2x16xf16>, tensor<2x4x8xf16>) -> (tensor<3x2x4xf16>, tensor<2x4xf16>, tensor<2x4xf16>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x16xf32>)
  func.return
}

// The state lies in a scratch buffer: first 0, then in each step its products and what becomes of them. Steps are in
// reverse. Nothing remains of the state after the last step, which nobody reads.
// LOOPS-LABEL: func.func private @rnn
// LOOPS:      scf.for
// LOOPS-NEXT:   memref.store %{{.*}}, %h[
// LOOPS:      scf.for %[[STEP:.*]] =
// LOOPS-NEXT:   %[[TIME:.*]] = arith.subi %{{.*}}, %[[STEP]] : index
// LOOPS-NEXT:   scf.for
// LOOPS-NEXT:     %[[SUM:.*]] = scf.for
// LOOPS-NEXT:       memref.load %h[
// LOOPS-NEXT:       memref.load %w[
// LOOPS:          memref.store %[[SUM]], %sums[
// LOOPS:        scf.for
// LOOPS-NEXT:     memref.load %x[%[[TIME]],
// LOOPS-NEXT:     memref.load %sums[
// LOOPS:          %[[STATE:.*]] = arith.select
// LOOPS-NEXT:     memref.store %[[STATE]], %h[
// LOOPS-NEXT:     memref.store %[[STATE]], %y[%[[TIME]],
// LOOPS-NOT:  scf.for
// LOOPS:      func.return
func.func private @rnn(%x: memref<3x1x4xf32>, %w: memref<4x4xf32>, %y: memref<3x1x4xf32>, %h: memref<1x4xf32>, %sums: memref<1x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x4xf32> to tensor<3x1x4xf32>
  %1 = bufferization.to_tensor %w : memref<4x4xf32> to tensor<4x4xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, reverse = true} : (tensor<3x1x4xf32>, tensor<4x4xf32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x4xf32>, memref<3x1x4xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  func.return
}

// Lengths known at run time are limited to the steps there are; behind them is 0.
// LOOPS-LABEL: func.func private @lengths
// LOOPS:      %[[N:.*]] = memref.load %n[
// LOOPS:      arith.maxsi %[[N]]
// LOOPS:      arith.minsi
// LOOPS-NEXT: %[[LENGTH:.*]] = arith.index_cast
// LOOPS:      scf.for %{{.*}} = %{{.*}} to %[[LENGTH]] step
// LOOPS:      scf.for %[[TIME:.*]] = %[[LENGTH]] to
// LOOPS-NEXT:   scf.for
// LOOPS-NEXT:     memref.store %{{.*}}, %y[%[[TIME]],
func.func private @lengths(%x: memref<3x1x4xf32>, %w: memref<4x4xf32>, %n: memref<1xi32>, %y: memref<3x1x4xf32>, %h: memref<1x4xf32>, %sums: memref<1x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x1x4xf32> to tensor<3x1x4xf32>
  %1 = bufferization.to_tensor %w : memref<4x4xf32> to tensor<4x4xf32>
  %n_ = bufferization.to_tensor %n : memref<1xi32> to tensor<1xi32>
  %2, %3, %4, %5 = graph.rnn %0, %1, %n_ {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["relu"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<3x1x4xf32>, tensor<4x4xf32>, tensor<1xi32>) -> (tensor<3x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<3x1x4xf32>, memref<3x1x4xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<1x4xf32>, memref<1x4xf32>) -> ()
  func.return
}

// On vectors two lines share each vector of the weight, which is streamed; the last one is alone. A lane beyond the
// last unit is neither loaded nor stored.
// LOOPS-LABEL: func.func private @tiles
// LOOPS:      aot.tile_load %h[%{{.*}}, %{{.*}}] {strides = array<i64: 6, 0, 0>} : memref<3x6xf32> -> vector<2x1x4xf32>
// LOOPS:      aot.tile_load %w[%{{.*}}] {strides = array<i64: 0, 0, 1>} : memref<2x6x4xf32> -> vector<2x1x4xf32>
// LOOPS:      math.fma
// LOOPS:      aot.tile_store %{{.*}}, %sums[%{{.*}}] {strides = array<i64: 6, 0, 1>, valid = 2 : i64}
// LOOPS:      aot.tile_store %{{.*}}, %y[%{{.*}}] {strides = array<i64: 6, 0, 1>, valid = 2 : i64}
// LOOPS:      vector<1x1x4xf32>
func.func private @tiles(%x: memref<1x3x6xf32>, %w: memref<2x6x4xf32>, %y: memref<1x3x6xf32>, %h: memref<3x6xf32>, %sums: memref<3x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x3x6xf32> to tensor<1x3x6xf32>
  %1 = bufferization.to_tensor %w : memref<2x6x4xf32> to tensor<2x6x4xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 2, nr = 1, unroll = 1, units = 1>} : (tensor<1x3x6xf32>, tensor<2x6x4xf32>) -> (tensor<1x3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<1x3x6xf32>, memref<1x3x6xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  func.return
}

// Lines with lengths of their own go through their steps alone, whatever the schedule.
// LOOPS-LABEL: func.func private @alone
// LOOPS-NOT:  vector<2x
// LOOPS:      func.return
func.func private @alone(%x: memref<1x3x6xf32>, %w: memref<2x6x4xf32>, %n: memref<3xi32>, %y: memref<1x3x6xf32>, %h: memref<3x6xf32>, %sums: memref<3x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x3x6xf32> to tensor<1x3x6xf32>
  %1 = bufferization.to_tensor %w : memref<2x6x4xf32> to tensor<2x6x4xf32>
  %n_ = bufferization.to_tensor %n : memref<3xi32> to tensor<3xi32>
  %2, %3, %4, %5 = graph.rnn %0, %1, %n_ {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 2, nr = 1, unroll = 1, units = 1>} : (tensor<1x3x6xf32>, tensor<2x6x4xf32>, tensor<3xi32>) -> (tensor<1x3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<1x3x6xf32>, memref<1x3x6xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  func.return
}

// A weight that is not in panels of the tile's width is not for tiles.
// LOOPS-LABEL: func.func private @unpacked
// LOOPS-SAME: aot.scalar_fallback = "the weight is not packed into panels of the width of the register tile"
func.func private @unpacked(%x: memref<1x3x6xf32>, %w: memref<6x6xf32>, %y: memref<1x3x6xf32>, %h: memref<3x6xf32>, %sums: memref<3x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x3x6xf32> to tensor<1x3x6xf32>
  %1 = bufferization.to_tensor %w : memref<6x6xf32> to tensor<6x6xf32>
  %2, %3, %4, %5 = graph.rnn %0, %1 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, schedule = #graph.recurrence_schedule<lanes = 4, mr = 2, nr = 1, unroll = 1, units = 1>} : (tensor<1x3x6xf32>, tensor<6x6xf32>) -> (tensor<1x3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>)
  bufferization.materialize_in_destination %2 in %y : (tensor<1x3x6xf32>, memref<1x3x6xf32>) -> ()
  bufferization.materialize_in_destination %4 in %h : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  bufferization.materialize_in_destination %5 in %sums : (tensor<3x6xf32>, memref<3x6xf32>) -> ()
  func.return
}

// With an input_weight a sum begins with the bias, then takes the products of the inputs, then those of the state.
// LOOPS-LABEL: func.func private @projected
// LOOPS:        %[[B:.*]] = memref.load %b[
// LOOPS:        %[[S:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[B]]) -> (f32)
// LOOPS:          memref.load %x[
// LOOPS:          memref.load %u[
// LOOPS:        scf.for {{.*}} iter_args(%{{.*}} = %[[S]]) -> (f32)
// LOOPS:          memref.load %h[
// LOOPS:          memref.load %w[
// LOOPS:        memref.store %{{.*}}, %sums[
func.func private @projected(%x: memref<2x1x5xf32>, %w: memref<6x6xf32>, %u: memref<6x5xf32>, %b: memref<6xf32>, %y: memref<2x1x6xf32>, %h: memref<1x6xf32>, %sums: memref<1x6xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x1x5xf32> to tensor<2x1x5xf32>
  %1 = bufferization.to_tensor %w : memref<6x6xf32> to tensor<6x6xf32>
  %2 = bufferization.to_tensor %u : memref<6x5xf32> to tensor<6x5xf32>
  %3 = bufferization.to_tensor %b : memref<6xf32> to tensor<6xf32>
  %4, %5, %6, %7 = graph.rnn %0, %1, %2, %3 {operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 1, 0, 0, 0>, activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>} : (tensor<2x1x5xf32>, tensor<6x6xf32>, tensor<6x5xf32>, tensor<6xf32>) -> (tensor<2x1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>, tensor<1x6xf32>)
  bufferization.materialize_in_destination %4 in %y : (tensor<2x1x6xf32>, memref<2x1x6xf32>) -> ()
  bufferization.materialize_in_destination %6 in %h : (tensor<1x6xf32>, memref<1x6xf32>) -> ()
  bufferization.materialize_in_destination %7 in %sums : (tensor<1x6xf32>, memref<1x6xf32>) -> ()
  func.return
}
