// RUN: aotc-opt %s -p canonicalize | filecheck %s

// What narrows goes above a view, with what stands between; so do a bias along the last axes, and two views alike.
// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<6x4xf32>, %y: tensor<6x4xf32>, %b: tensor<1x4xf32>, %s: tensor<f32>) -> (tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<2x3x4xi8>) {
  // CHECK-NEXT: [[R:%.*]] = graph.relu %x : (tensor<6x4xf32>)
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize [[R]], %s {{.*}} -> tensor<6x4xi8>
  // CHECK-NEXT: [[A:%.*]] = graph.reshape [[Q]] {shape = array<i64: 2, 3, 4>} : (tensor<6x4xi8>)
  %0 = graph.reshape %x {shape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = graph.relu %0 : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %2 = graph.quantize %1, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  // CHECK-NEXT: [[R:%.*]] = graph.add %b, %x : (tensor<1x4xf32>, tensor<6x4xf32>)
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize [[R]], %s {{.*}} -> tensor<6x4xi8>
  // CHECK-NEXT: [[B:%.*]] = graph.reshape [[Q]]
  %3 = graph.add %b, %0 : (tensor<1x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %4 = graph.quantize %3, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  // CHECK-NEXT: [[R:%.*]] = graph.sub %x, %y : (tensor<6x4xf32>, tensor<6x4xf32>)
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize [[R]], %s {{.*}} -> tensor<6x4xi8>
  // CHECK-NEXT: [[C:%.*]] = graph.reshape [[Q]]
  // CHECK-NEXT: func.return [[A]], [[B]], [[C]]
  %5 = graph.reshape %y {shape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %6 = graph.sub %0, %5 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %7 = graph.quantize %6, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  func.return %2, %4, %7 : tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<2x3x4xi8>
}

// Nothing narrows; somebody reads what is wide; it is wide between.
// CHECK-LABEL: func.func @stays_wide
// CHECK-NEXT: [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: graph.relu [[V]]
// CHECK-NEXT: [[A:%.*]] = graph.neg [[V]]
// CHECK-NEXT: graph.quantize [[A]]
// CHECK-NEXT: [[W:%.*]] = graph.cast [[V]] {to = f64}
// CHECK-NEXT: graph.cast [[W]] {to = i8}
func.func @stays_wide(%x: tensor<6x4xf32>, %s: tensor<f32>) -> (tensor<24xf32>, tensor<24xf32>, tensor<24xi8>, tensor<24xi8>) {
  %0 = graph.reshape %x {shape = array<i64: 24>} : (tensor<6x4xf32>) -> tensor<24xf32>
  %1 = graph.relu %0 : (tensor<24xf32>) -> tensor<24xf32>
  %2 = graph.neg %0 : (tensor<24xf32>) -> tensor<24xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<24xf32>, tensor<f32>) -> tensor<24xi8>
  %4 = graph.cast %0 {to = f64} : (tensor<24xf32>) -> tensor<24xf64>
  %5 = graph.cast %4 {to = i8} : (tensor<24xf64>) -> tensor<24xi8>
  func.return %1, %2, %3, %5 : tensor<24xf32>, tensor<24xf32>, tensor<24xi8>, tensor<24xi8>
}

// Scales for each row; a bias along other axes; views of other shapes; a view that is broadcast; one of a constant, which folds.
// CHECK-LABEL: func.func @views_that_stay
// CHECK:      [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: graph.quantize [[V]], %rows
// CHECK-NEXT: [[A:%.*]] = graph.add [[V]], %b
// CHECK-NEXT: graph.quantize [[A]], %s
// CHECK-NEXT: [[Z:%.*]] = graph.reshape %y
// CHECK-NEXT: [[A:%.*]] = graph.add [[V]], [[Z]]
// CHECK-NEXT: graph.quantize [[A]], %s
// CHECK-NEXT: [[Z:%.*]] = graph.reshape %z
// CHECK-NEXT: [[A:%.*]] = graph.add [[Z]], %w
// CHECK-NEXT: graph.quantize [[A]], %s
// CHECK-NEXT: [[Z:%.*]] = graph.reshape %{{.*}}
// CHECK-NEXT: graph.quantize [[Z]], %s
func.func @views_that_stay(%x: tensor<6x4xf32>, %y: tensor<4x6xf32>, %z: tensor<4xf32>, %w: tensor<6x4xf32>, %rows: tensor<2xf32>, %b: tensor<3x4xf32>, %s: tensor<f32>)
    -> (tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<6x4xi8>, tensor<4xi8>) {
  %c = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.reshape %x {shape = array<i64: 2, 3, 4>} : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %1 = graph.quantize %0, %rows {to = i8, axis = 0 : i64} : (tensor<2x3x4xf32>, tensor<2xf32>) -> tensor<2x3x4xi8>
  %2 = graph.add %0, %b : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  %4 = graph.reshape %y {shape = array<i64: 2, 3, 4>} : (tensor<4x6xf32>) -> tensor<2x3x4xf32>
  %5 = graph.add %0, %4 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %6 = graph.quantize %5, %s {to = i8} : (tensor<2x3x4xf32>, tensor<f32>) -> tensor<2x3x4xi8>
  %7 = graph.reshape %z {shape = array<i64: 1, 4>} : (tensor<4xf32>) -> tensor<1x4xf32>
  %8 = graph.add %7, %w : (tensor<1x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %9 = graph.quantize %8, %s {to = i8} : (tensor<6x4xf32>, tensor<f32>) -> tensor<6x4xi8>
  %10 = graph.reshape %c {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
  %11 = graph.quantize %10, %s {to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  func.return %1, %3, %6, %9, %11 : tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<2x3x4xi8>, tensor<6x4xi8>, tensor<4xi8>
}

// A triangle is not that of a view, whatever narrows it.
// CHECK-LABEL: func.func @triangle
// CHECK:      [[V:%.*]] = graph.reshape %x
// CHECK-NEXT: [[T:%.*]] = graph.trilu [[V]]
// CHECK-NEXT: graph.quantize [[T]]
func.func @triangle(%x: tensor<9x1xf32>, %k: tensor<i64>, %s: tensor<f32>) -> tensor<3x3xi8> {
  %0 = graph.reshape %x {shape = array<i64: 3, 3>} : (tensor<9x1xf32>) -> tensor<3x3xf32>
  %1 = graph.trilu %0, %k {upper = true} : (tensor<3x3xf32>, tensor<i64>) -> tensor<3x3xf32>
  %2 = graph.quantize %1, %s {to = i8} : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xi8>
  func.return %2 : tensor<3x3xi8>
}

// What is added is narrowed, too.
// CHECK-LABEL: func.func @padding
func.func @padding(%x: tensor<1x5xf32>, %v: tensor<f32>, %s: tensor<f32>) -> (tensor<1x7xi8>, tensor<1x7xi8>, tensor<1x7xi8>) {
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize %x, %s
  // CHECK-NEXT: [[V:%.*]] = graph.quantize %v, %s
  // CHECK-NEXT: [[A:%.*]] = graph.pad [[Q]], [[V]] {pads = array<i64: 0, 2, 0, 0>, mode = "constant"}
  %0 = graph.pad %x, %v {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x7xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<1x7xf32>, tensor<f32>) -> tensor<1x7xi8>
  // CHECK-NEXT: [[Z:%.*]] = graph.constant dense<0.{{0*(e\+00)?}}> : tensor<f32>
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize %x, %s
  // CHECK-NEXT: [[V:%.*]] = graph.quantize [[Z]], %s
  // CHECK-NEXT: [[B:%.*]] = graph.pad [[Q]], [[V]] {pads = array<i64: 0, 2, 0, 0>, mode = "constant"}
  %2 = graph.pad %x {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %3 = graph.quantize %2, %s {to = i8} : (tensor<1x7xf32>, tensor<f32>) -> tensor<1x7xi8>
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize %x, %s
  // CHECK-NEXT: [[C:%.*]] = graph.pad [[Q]] {pads = array<i64: 0, 2, 0, 0>, mode = "edge"}
  // CHECK-NEXT: func.return [[A]], [[B]], [[C]]
  %4 = graph.pad %x {pads = array<i64: 0, 2, 0, 0>, mode = "edge"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %5 = graph.quantize %4, %s {to = i8} : (tensor<1x7xf32>, tensor<f32>) -> tensor<1x7xi8>
  func.return %1, %3, %5 : tensor<1x7xi8>, tensor<1x7xi8>, tensor<1x7xi8>
}

// What others read is padded anyway; nothing narrows; an operand besides has as many elements; scales for each column.
// CHECK-LABEL: func.func @padding_that_stays
// CHECK-NEXT: [[P:%.*]] = graph.pad %x
// CHECK-NEXT: graph.quantize [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %y
// CHECK-NEXT: graph.relu [[P]]
// CHECK-NEXT: [[P:%.*]] = graph.pad %z
// CHECK-NEXT: graph.compare [[P]], %w
// CHECK-NEXT: [[P:%.*]] = graph.pad %y
// CHECK-NEXT: graph.quantize [[P]]
func.func @padding_that_stays(%x: tensor<1x5xf32>, %y: tensor<1x5xf32>, %z: tensor<1x5xf32>, %w: tensor<1x7xf32>, %columns: tensor<7xf32>, %s: tensor<f32>)
    -> (tensor<1x7xf32>, tensor<1x7xi8>, tensor<1x7xf32>, tensor<1x7xi1>, tensor<1x7xi8>) {
  %0 = graph.pad %x {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %1 = graph.quantize %0, %s {to = i8} : (tensor<1x7xf32>, tensor<f32>) -> tensor<1x7xi8>
  %2 = graph.pad %y {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %3 = graph.relu %2 : (tensor<1x7xf32>) -> tensor<1x7xf32>
  %4 = graph.pad %z {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %5 = graph.compare %4, %w {how = "lt"} : (tensor<1x7xf32>, tensor<1x7xf32>) -> tensor<1x7xi1>
  %6 = graph.pad %y {pads = array<i64: 0, 2, 0, 0>, mode = "constant"} : (tensor<1x5xf32>) -> tensor<1x7xf32>
  %7 = graph.quantize %6, %columns {to = i8, axis = 1 : i64} : (tensor<1x7xf32>, tensor<7xf32>) -> tensor<1x7xi8>
  func.return %0, %1, %3, %5, %7 : tensor<1x7xf32>, tensor<1x7xi8>, tensor<1x7xf32>, tensor<1x7xi1>, tensor<1x7xi8>
}
