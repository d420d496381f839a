// RUN: aotc-opt %s -p 'fuse-epilogues{most-operations=3}' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'fuse-epilogues{most-buffers=4}' --split-input-file | filecheck %s --check-prefix FEW

// A kernel has three operations, or an anchor and what needs four buffers with its result.
// CHECK-LABEL: func.func @chain
// CHECK:         graph.fused
// CHECK-NEXT:      graph.matmul
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.add
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.add
// FEW-LABEL:   func.func @chain
// FEW:           graph.fused
// FEW-NEXT:        graph.matmul
// FEW-NEXT:        graph.add
// FEW-NEXT:        graph.yield
// FEW-NEXT:      }
// FEW-NEXT:      graph.add
// FEW-NEXT:      graph.add
func.func @chain(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.add %0, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.add %1, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = graph.add %2, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %3 : tensor<4x4xf32>
}

// -----

// Rows that are permuted behind a vectorised anchor count, too: the third operation is the last one.
// CHECK-LABEL: func.func @rows
// CHECK:         graph.fused
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.transpose
// CHECK-NEXT:      graph.yield
// CHECK-LABEL: func.func @long
// CHECK:         graph.fused
// CHECK-NEXT:      graph.softmax
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.neg
// CHECK-NEXT:      graph.yield
// CHECK-NEXT:    }
// CHECK-NEXT:    graph.transpose
func.func @rows(%x: tensor<2x4x8xf32>) -> tensor<4x16xf32> attributes {aot.entry} {
  %0 = graph.softmax %x {axes = array<i64: 2>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.neg %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %3 = graph.reshape %2 {shape = array<i64: 4, 16>} : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  func.return %3 : tensor<4x16xf32>
}
func.func @long(%x: tensor<2x4x8xf32>) -> tensor<4x16xf32> attributes {aot.entry} {
  %0 = graph.softmax %x {axes = array<i64: 2>, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1, rows = 1, stages = 1>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = graph.neg %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = graph.neg %1 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %4 = graph.reshape %3 {shape = array<i64: 4, 16>} : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  func.return %4 : tensor<4x16xf32>
}
