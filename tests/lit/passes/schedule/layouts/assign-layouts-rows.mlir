// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' | filecheck %s

// One row times the transpose of what the model computes: the terms of each sum are neighbours, and nothing is packed.

// CHECK-LABEL: func.func @one
// CHECK-NEXT: [[TERMS:%.*]] = graph.mul %q, %k : (tensor<2x1x8xf32>, tensor<2x32x8xf32>) -> tensor<2x32x8xf32>
// CHECK-NEXT: [[SUMS:%.*]] = graph.reduce [[TERMS]] {kind = "sum", axes = array<i64: -1>{{.*}}} : (tensor<2x32x8xf32>) -> tensor<2x32xf32>
// CHECK-NEXT: [[ROW:%.*]] = graph.reshape [[SUMS]] {{.*}} -> tensor<2x1x32xf32>
// CHECK-NEXT: func.return [[ROW]]
func.func @one(%q: tensor<2x1x8xf32>, %k: tensor<2x32x8xf32>) -> tensor<2x1x32xf32> attributes {aot.entry} {
  %0 = graph.matmul %q, %k {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 1, nr = 2, unroll = 4, order = rows>} : (tensor<2x1x8xf32>, tensor<2x32x8xf32>) -> tensor<2x1x32xf32>
  func.return %0 : tensor<2x1x32xf32>
}

// Two rows share what is packed; a constant is packed when compiling; sums of f16 are f32, also where one operand is
// widened already; a transposed row has its elements apart.

// CHECK-LABEL: func.func @packed
// CHECK-COUNT-5: graph.packed_matmul
// CHECK-NOT:     graph.reduce
func.func @packed(%q: tensor<2x8xf32>, %k: tensor<32x8xf32>, %r: tensor<1x8xf32>, %f: tensor<1x8xf16>, %g: tensor<32x8xf16>, %c: tensor<8x1xf32>) -> (tensor<2x32xf32>, tensor<1x32xf32>, tensor<1x32xf16>, tensor<1x32xf32>, tensor<1x32xf16>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x8xf32>
  %0 = graph.matmul %q, %k {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 2, nr = 2, unroll = 4, order = rows>} : (tensor<2x8xf32>, tensor<32x8xf32>) -> tensor<2x32xf32>
  %1 = graph.matmul %r, %w {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 1, nr = 2, unroll = 4, order = rows>} : (tensor<1x8xf32>, tensor<32x8xf32>) -> tensor<1x32xf32>
  %2 = graph.matmul %f, %g {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 1, nr = 2, unroll = 4, order = rows>} : (tensor<1x8xf16>, tensor<32x8xf16>) -> tensor<1x32xf16>
  %3 = graph.matmul %c, %k {transpose_lhs = true, transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 1, nr = 2, unroll = 4, order = rows>} : (tensor<8x1xf32>, tensor<32x8xf32>) -> tensor<1x32xf32>
  %4 = graph.matmul %r, %g {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 1, nr = 2, unroll = 4, order = rows>} : (tensor<1x8xf32>, tensor<32x8xf16>) -> tensor<1x32xf16>
  func.return %0, %1, %2, %3, %4 : tensor<2x32xf32>, tensor<1x32xf32>, tensor<1x32xf16>, tensor<1x32xf32>, tensor<1x32xf16>
}
