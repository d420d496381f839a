// RUN: aotc-opt %s -p absorb-transposes --split-input-file | filecheck %s

// A slice reads elements in another order than it writes them, though the shape stays.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose %x
// CHECK:         graph.matmul {{.*}}, %w
func.func @main(%x: tensor<5x3x2x2xf32>) -> tensor<5x4xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<12x4xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<5x3x2x2xf32>) -> tensor<5x2x2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 5, 12>} : (tensor<5x2x2x3xf32>) -> tensor<5x12xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 11>, steps = array<i64: 1, -1>, shape = array<i64: 5, 12>} : (tensor<5x12xf32>) -> tensor<5x12xf32>
  %3 = graph.matmul %2, %w : (tensor<5x12xf32>, tensor<12x4xf32>) -> tensor<5x4xf32>
  func.return %3 : tensor<5x4xf32>
}
