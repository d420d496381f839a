// RUN: aotc-opt %s -p canonicalize | filecheck %s

// The left operand of a product, and a right one that is transposed already.
// CHECK-LABEL: func.func @products
func.func @products(%x: tensor<5x4x2xf32>, %y: tensor<5x4x3xf32>) -> (tensor<5x2x3xf32>, tensor<5x2x3xf32>) {
  // CHECK-NEXT: [[A:%.*]] = graph.matmul %x, %y {transpose_lhs = true} : (tensor<5x4x2xf32>, tensor<5x4x3xf32>)
  // CHECK-NEXT: [[B:%.*]] = graph.matmul %x, %y {transpose_rhs = false, transpose_lhs = true} : (tensor<5x4x2xf32>, tensor<5x4x3xf32>)
  // CHECK-NEXT: func.return [[A]], [[B]]
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<5x4x2xf32>) -> tensor<5x2x4xf32>
  %1 = graph.matmul %0, %y : (tensor<5x2x4xf32>, tensor<5x4x3xf32>) -> tensor<5x2x3xf32>
  %2 = graph.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<5x4x3xf32>) -> tensor<5x3x4xf32>
  %3 = graph.matmul %0, %2 {transpose_rhs = true} : (tensor<5x2x4xf32>, tensor<5x3x4xf32>) -> tensor<5x2x3xf32>
  func.return %1, %3 : tensor<5x2x3xf32>, tensor<5x2x3xf32>
}

// A batch moves, too; an axis of the batch becomes one of the matrix.
// CHECK-LABEL: func.func @batches
// CHECK-NEXT: [[T:%.*]] = graph.transpose %x
// CHECK-NEXT: graph.matmul %y, [[T]] : (
// CHECK-NEXT: [[T:%.*]] = graph.transpose %z
// CHECK-NEXT: graph.matmul [[T]], %z : (
func.func @batches(%x: tensor<2x2x4x4xf32>, %y: tensor<2x2x4x4xf32>, %z: tensor<4x4x4xf32>) -> (tensor<2x2x4x4xf32>, tensor<4x4x4xf32>) {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 3, 2>} : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %1 = graph.matmul %y, %0 : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %2 = graph.transpose %z {permutation = array<i64: 2, 1, 0>} : (tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  %3 = graph.matmul %2, %z : (tensor<4x4x4xf32>, tensor<4x4x4xf32>) -> tensor<4x4x4xf32>
  func.return %1, %3 : tensor<2x2x4x4xf32>, tensor<4x4x4xf32>
}

// Both zeros count as nothing.
// CHECK-LABEL: func.func @zeros
// CHECK:      graph.conv %x, %w {{.*}}pads = array<i64: 0, 1>
// CHECK-NEXT: graph.conv %x, %w {{.*}}pads = array<i64: 1, 0>
func.func @zeros(%x: tensor<1x2x5xf32>, %w: tensor<2x2x3xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<f32>
  %negative = graph.constant dense<-0.0> : tensor<f32>
  %0 = graph.pad %x, %zero {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  %2 = graph.pad %x, %negative {pads = array<i64: 0, 0, 1, 0, 0, 0>, mode = "constant"} : (tensor<1x2x5xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %3 = graph.conv %2, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  func.return %1, %3 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// What repeats, an unknown number, ones, channels, and a schedule that may want it.
// CHECK-LABEL: func.func @padding
// CHECK:      [[P:%.*]] = graph.pad %x {{.*}}mode = "edge"
// CHECK-NEXT: graph.conv [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %x, %v
// CHECK-NEXT: graph.conv [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %x, %one
// CHECK-NEXT: graph.conv [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %y
// CHECK-NEXT: graph.conv [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %x
// CHECK-NEXT: graph.conv [[P]]
func.func @padding(%x: tensor<1x2x5xf32>, %y: tensor<1x1x6xf32>, %v: tensor<f32>, %w: tensor<2x2x3xf32>)
    -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.pad %x {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "edge"} : (tensor<1x2x5xf32>) -> tensor<1x2x6xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  %2 = graph.pad %x, %v {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %3 = graph.conv %2, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  %4 = graph.pad %x, %one {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %5 = graph.conv %4, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  %6 = graph.pad %y {pads = array<i64: 0, 0, 0, 0, 1, 0>, mode = "constant"} : (tensor<1x1x6xf32>) -> tensor<1x2x6xf32>
  %7 = graph.conv %6, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  %8 = graph.pad %x {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xf32>) -> tensor<1x2x6xf32>
  %9 = graph.conv %8, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>} : (tensor<1x2x6xf32>, tensor<2x2x3xf32>) -> tensor<1x2x4xf32>
  func.return %1, %3, %5, %7, %9 : tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// Zeros are no zeros of integers with another zero point.
// CHECK-LABEL: func.func @points
// CHECK:      [[P:%.*]] = graph.pad %x, %{{.*}}
// CHECK-NEXT: graph.conv [[P]]
func.func @points(%x: tensor<1x2x5xi8>, %w: tensor<2x2x3xi8>) -> tensor<1x2x4xi32> {
  %zero = graph.constant dense<0> : tensor<i8>
  %0 = graph.pad %x, %zero {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xi8>, tensor<i8>) -> tensor<1x2x6xi8>
  %1 = graph.conv %0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32, x_zero_point = 3} : (tensor<1x2x6xi8>, tensor<2x2x3xi8>) -> tensor<1x2x4xi32>
  func.return %1 : tensor<1x2x4xi32>
}
