// RUN: aotc-opt %s -p fuse-epilogues | filecheck %s

// Rows are permuted where they are computed, if no kernel can read them where they were.
// CHECK-LABEL: func.func @permuted
// CHECK:         graph.fused
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.yield
func.func @permuted(%x: tensor<2x4x8xf32>) -> tensor<4x2x8xf32> attributes {aot.entry} {
  %0 = graph.softmax %x {axes = array<i64: 2>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  func.return %1 : tensor<4x2x8xf32>
}

// Not where one of two readers is a kernel, nor where the transpose is a view.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.fused
func.func @others(%x: tensor<2x4x8xf32>, %y: tensor<1x4x8xf32>) -> (tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x1x8xf32>) attributes {aot.entry} {
  %0 = graph.softmax %x {axes = array<i64: 2>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %2 = graph.neg %1 : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  %3 = graph.softmax %y {axes = array<i64: 2>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %4 = graph.transpose %3 {permutation = array<i64: 1, 0, 2>} : (tensor<1x4x8xf32>) -> tensor<4x1x8xf32>
  func.return %1, %2, %4 : tensor<4x2x8xf32>, tensor<4x2x8xf32>, tensor<4x1x8xf32>
}
