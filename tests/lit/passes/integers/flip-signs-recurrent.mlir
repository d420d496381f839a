// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},flip-signs' | filecheck %s --check-prefixes CHECK,NARROW
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},flip-signs' | filecheck %s --check-prefixes CHECK,UNSIGNED
// RUN: aotc-opt %s -p 'attach-target{target=test-sdot},flip-signs' | filecheck %s --check-prefixes CHECK,SIGNED

// States are rounded to the type that the machine's dot product wants.
// CHECK-LABEL: func.func @main
// NARROW:      graph.rounded_lstm %x, %small, {{.*}}state_type = ui8{{.*}} tensor<1x4xui8>
// NARROW-NEXT: graph.rounded_lstm %x, %large, {{.*}}state_type = i8{{.*}} tensor<1x4xi8>
// UNSIGNED:      graph.rounded_lstm %x, %small, {{.*}}state_type = ui8
// UNSIGNED-NEXT: graph.rounded_lstm %x, %large, {{.*}}state_type = ui8
// SIGNED:      graph.rounded_lstm %x, %small, {{.*}}state_type = i8
// SIGNED-NEXT: graph.rounded_lstm %x, %large, {{.*}}state_type = i8
// A weight that nobody knows.
// CHECK-NEXT:  graph.rounded_lstm %x, %w, {{.*}}state_type = ui8
func.func @main(%x: tensor<2x1x16xf32>, %s: tensor<16xf32>, %n: tensor<16xi32>, %w: tensor<16x4xi8>) -> tensor<2x1x4xf32> attributes {aot.entry} {
  %small = graph.constant dense<64> : tensor<16x4xi8>
  %large = graph.constant dense<127> : tensor<16x4xi8>
  %0, %1, %2, %3, %4, %5, %6 = graph.rounded_lstm %x, %small, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  %7, %8, %9, %10, %11, %12, %13 = graph.rounded_lstm %x, %large, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  %14, %15, %16, %17, %18, %19, %20 = graph.rounded_lstm %x, %w, %s, %n {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0>, activations = ["sigmoid", "tanh", "tanh"], alphas = array<f64: 0.0, 0.0, 0.0>, betas = array<f64: 0.0, 0.0, 0.0>, state_type = ui8} : (tensor<2x1x16xf32>, tensor<16x4xi8>, tensor<16xf32>, tensor<16xi32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x16xf32>, tensor<1x4xui8>)
  func.return %0 : tensor<2x1x4xf32>
}
