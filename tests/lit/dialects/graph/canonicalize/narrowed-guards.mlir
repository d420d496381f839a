// RUN: aotc-opt %s -p canonicalize | filecheck %s

// Rows of an operand besides are other elements of the source of a view, alone and beside a number.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT: [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: [[A:%.*]] = graph.add [[V]], %rows
// CHECK-NEXT: graph.quantize [[A]], %s
// CHECK-NEXT: [[W:%.*]] = graph.where %c, %rows, [[V]]
// CHECK-NEXT: graph.quantize [[W]], %s
func.func @rows(%x: tensor<4x4xf32>, %rows: tensor<4x1xf32>, %c: tensor<i1>, %s: tensor<f32>) -> (tensor<2x4x2xi8>, tensor<2x4x2xi8>) {
  %0 = graph.reshape %x {shape = array<i64: 2, 4, 2>} : (tensor<4x4xf32>) -> tensor<2x4x2xf32>
  %1 = graph.add %0, %rows : (tensor<2x4x2xf32>, tensor<4x1xf32>) -> tensor<2x4x2xf32>
  %2 = graph.quantize %1, %s {to = i8} : (tensor<2x4x2xf32>, tensor<f32>) -> tensor<2x4x2xi8>
  %3 = graph.where %c, %rows, %0 : (tensor<i1>, tensor<4x1xf32>, tensor<2x4x2xf32>) -> tensor<2x4x2xf32>
  %4 = graph.quantize %3, %s {to = i8} : (tensor<2x4x2xf32>, tensor<f32>) -> tensor<2x4x2xi8>
  func.return %2, %4 : tensor<2x4x2xi8>, tensor<2x4x2xi8>
}

// What is narrowed is another, larger tensor.
// CHECK-LABEL: func.func @larger
// CHECK-NEXT: [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: [[R:%.*]] = graph.relu [[V]]
// CHECK-NEXT: [[A:%.*]] = graph.add [[R]], %w
// CHECK-NEXT: graph.quantize [[A]], %s
// CHECK-NEXT: [[P:%.*]] = graph.pad %y
// CHECK-NEXT: [[R:%.*]] = graph.relu [[P]]
// CHECK-NEXT: [[A:%.*]] = graph.add [[R]], %w
// CHECK-NEXT: graph.quantize [[A]], %s
func.func @larger(%x: tensor<4xf32>, %y: tensor<3xf32>, %w: tensor<6x4xf32>, %s: tensor<f32>) -> (tensor<6x4xi8>, tensor<6x4xi8>) {
  %0 = graph.reshape %x {shape = array<i64: 1, 4>} : (tensor<4xf32>) -> tensor<1x4xf32>
  %1 = graph.relu %0 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = graph.add %1, %w : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xi8>
  %4 = graph.pad %y {pads = array<i64: 1, 0>, mode = "edge"} : (tensor<3xf32>) -> tensor<4xf32>
  %5 = graph.relu %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = graph.add %5, %w : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %7 = graph.quantize %6, %s {to = i8} : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xi8>
  func.return %3, %7 : tensor<6x4xi8>, tensor<6x4xi8>
}

// Scales along the last axis of a view are along another of its source.
// CHECK-LABEL: func.func @scales
// CHECK-NEXT: [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: graph.quantize [[V]], %columns
func.func @scales(%x: tensor<2x4x4xf32>, %columns: tensor<4xf32>) -> tensor<8x4xi8> {
  %0 = graph.reshape %x {shape = array<i64: 8, 4>} : (tensor<2x4x4xf32>) -> tensor<8x4xf32>
  %1 = graph.quantize %0, %columns {to = i8, axis = 1 : i64} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xi8>
  func.return %1 : tensor<8x4xi8>
}

// A bias that is itself a view, of another shape.
// CHECK-LABEL: func.func @bias
// CHECK-NEXT: [[B:%.*]] = graph.reshape %b
// CHECK-NEXT: [[A:%.*]] = graph.add %x, [[B]] : (tensor<6x4xf32>, tensor<1x4xf32>)
// CHECK-NEXT: [[Q:%.*]] = graph.quantize [[A]], %s
// CHECK-NEXT: graph.reshape [[Q]] {shape = array<i64: 2, 3, 4>}
func.func @bias(%x: tensor<6x4xf32>, %b: tensor<4xf32>, %s: tensor<f32>) -> tensor<2x3x4xi8> {
  %0 = graph.reshape %x {shape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = graph.reshape %b {shape = array<i64: 1, 4>} : (tensor<4xf32>) -> tensor<1x4xf32>
  %2 = graph.add %0, %1 : (tensor<2x3x4xf32>, tensor<1x4xf32>) -> tensor<2x3x4xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  func.return %3 : tensor<2x3x4xi8>
}
