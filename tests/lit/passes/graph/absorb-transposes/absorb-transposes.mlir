// RUN: aotc-opt %s -p absorb-transposes,canonicalize --split-input-file | filecheck %s
// RUN: aotc-opt %s -p absorb-transposes --split-input-file | filecheck %s --check-prefix PLAIN

// Between the transpose and the product: a flattening and a dequantisation. The stored weights are permuted.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.transpose %x
// CHECK:         [[A:%.*]] = graph.reshape {{.*}} {shape = array<i64: 4, 2, 2, 3>} : (tensor<4x12xi8>)
// CHECK-NEXT:    [[B:%.*]] = graph.transpose [[A]] {permutation = array<i64: 0, 3, 1, 2>} : (tensor<4x2x2x3xi8>) -> tensor<4x3x2x2xi8>
// CHECK-NEXT:    [[C:%.*]] = graph.reshape [[B]] {shape = array<i64: 4, 12>}
// CHECK:         [[V:%.*]] = graph.reshape %x {shape = array<i64: 5, 12>} : (tensor<5x3x2x2xi8>) -> tensor<5x12xi8>
// CHECK:         [[X:%.*]] = graph.dequantize [[V]]
// CHECK:         [[D:%.*]] = graph.dequantize [[C]]
// CHECK-NEXT:    graph.matmul [[X]], [[D]] {transpose_rhs = true}
func.func @main(%x: tensor<5x3x2x2xi8>) -> tensor<5x4xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<4x12xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %rows = graph.constant dense<[0.5, 0.25, 2.0, 4.0]> : tensor<4xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<5x3x2x2xi8>) -> tensor<5x2x2x3xi8>
  %1 = graph.reshape %0 {shape = array<i64: 5, 12>} : (tensor<5x2x2x3xi8>) -> tensor<5x12xi8>
  %2 = graph.dequantize %1, %s {to = f32} : (tensor<5x12xi8>, tensor<f32>) -> tensor<5x12xf32>
  %3 = graph.dequantize %w, %rows {axis = 0 : i64, to = f32} : (tensor<4x12xi8>, tensor<4xf32>) -> tensor<4x12xf32>
  %4 = graph.matmul %2, %3 {transpose_rhs = true} : (tensor<5x12xf32>, tensor<4x12xf32>) -> tensor<5x4xf32>
  func.return %4 : tensor<5x4xf32>
}

// -----

// Scales along the permuted axis are permuted with the weights; the weights may be the left operand.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.transpose %x
// CHECK-DAG:     graph.transpose {{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<4x2x3xi8>) -> tensor<4x3x2xi8>
// CHECK-DAG:     graph.transpose {{.*}} {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
// CHECK:         graph.matmul
func.func @main(%x: tensor<3x2x5xf32>) -> tensor<4x5xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<4x6xi8>
  %s = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<3x2x5xf32>) -> tensor<2x3x5xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6, 5>} : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  %2 = graph.dequantize %w, %s {axis = 1 : i64, to = f32} : (tensor<4x6xi8>, tensor<6xf32>) -> tensor<4x6xf32>
  %3 = graph.matmul %2, %1 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>
  func.return %3 : tensor<4x5xf32>
}

// -----

// Channels shuffled before a convolution, and read twice through an operation on each element.
// CHECK-LABEL: func.func @main
// CHECK:         [[T:%.*]] = graph.transpose {{.*}} {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<4x3x2x1x1xf32>) -> tensor<4x2x3x1x1xf32>
// CHECK-NEXT:    [[P:%.*]] = graph.reshape [[T]]
// CHECK:         [[X:%.*]] = graph.reshape %x
// CHECK-NEXT:    [[S:%.*]] = graph.sigmoid [[X]] :
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[X]], [[S]]
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[M]] {shape = array<i64: 1, 6, 4, 4>}
// CHECK-NEXT:    graph.conv [[V]], [[P]]
func.func @main(%x: tensor<1x6x4x4xf32>) -> tensor<1x4x4x4xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<4x6x1x1xf32>
  %0 = graph.reshape %x {shape = array<i64: 1, 2, 3, 4, 4>} : (tensor<1x6x4x4xf32>) -> tensor<1x2x3x4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %2 = graph.sigmoid %1 : (tensor<1x3x2x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %3 = graph.mul %1, %2 : (tensor<1x3x2x4x4xf32>, tensor<1x3x2x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  %4 = graph.reshape %3 {shape = array<i64: 1, 6, 4, 4>} : (tensor<1x3x2x4x4xf32>) -> tensor<1x6x4x4xf32>
  %5 = graph.conv %4, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x6x4x4xf32>, tensor<4x6x1x1xf32>) -> tensor<1x4x4x4xf32>
  func.return %5 : tensor<1x4x4x4xf32>
}

// -----

// An axis may be cut by the reshape: of 6 = 3 x 2 the outer factor counts rows, the inner one belongs to the sum.
// CHECK-LABEL: func.func @main
// CHECK:         graph.transpose {{.*}} {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x7x4xf32>) -> tensor<2x7x5x4xf32>
// CHECK-NOT:     graph.transpose
// CHECK:         graph.matmul
func.func @main(%x: tensor<6x7x5xf32>) -> tensor<3x4xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<70x4xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<6x7x5xf32>) -> tensor<6x5x7xf32>
  %1 = graph.reshape %0 {shape = array<i64: 3, 70>} : (tensor<6x5x7xf32>) -> tensor<3x70xf32>
  %2 = graph.matmul %1, %w : (tensor<3x70xf32>, tensor<70x4xf32>) -> tensor<3x4xf32>
  func.return %2 : tensor<3x4xf32>
}

// -----

// What only moves axes of extent 1 is a view already: the weights stay as they are.
// PLAIN:         graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x1x3xf32>)
func.func @main(%x: tensor<2x1x3xf32>) -> tensor<1x5xf32> attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<6x5xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x1x3xf32>) -> tensor<1x2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6>} : (tensor<1x2x3xf32>) -> tensor<1x6xf32>
  %2 = graph.matmul %1, %w : (tensor<1x6xf32>, tensor<6x5xf32>) -> tensor<1x5xf32>
  func.return %2 : tensor<1x5xf32>
}
