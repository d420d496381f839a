// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: only integers that are summed up in an accumulator have zero points
func.func @point(%a: tensor<2x3xi8>, %b: tensor<3x5xi8>) {
  %0 = graph.matmul %a, %b {lhs_zero_point = 1} : (tensor<2x3xi8>, tensor<3x5xi8>) -> tensor<2x5xi8>
  func.return
}

// -----

// CHECK: the accumulator must be i32, found i64
func.func @accumulator(%a: tensor<2x3xi8>, %b: tensor<3x5xi8>) {
  %0 = graph.matmul %a, %b {accumulator = i64} : (tensor<2x3xi8>, tensor<3x5xi8>) -> tensor<2x5xi64>
  func.return
}

// -----

// CHECK: an accumulator sums up integers of 2 to 16 bits, found f32
func.func @float(%a: tensor<2x3xi8>, %b: tensor<3x5xf32>) {
  %0 = graph.matmul %a, %b {accumulator = i32} : (tensor<2x3xi8>, tensor<3x5xf32>) -> tensor<2x5xi32>
  func.return
}

// -----

// CHECK: an accumulator sums up integers of 2 to 16 bits, found i32
func.func @wide(%a: tensor<2x3xi32>, %b: tensor<3x5xi8>) {
  %0 = graph.matmul %a, %b {accumulator = i32} : (tensor<2x3xi32>, tensor<3x5xi8>) -> tensor<2x5xi32>
  func.return
}

// -----

// CHECK: rhs_zero_point is 128, i8 has -128 to 127
func.func @range(%a: tensor<2x3xi8>, %b: tensor<3x5xi8>) {
  %0 = graph.matmul %a, %b {accumulator = i32, rhs_zero_point = 128} : (tensor<2x3xi8>, tensor<3x5xi8>) -> tensor<2x5xi32>
  func.return
}

// -----

// CHECK: sums in i32 start with i32, found i8
func.func @bias(%x: tensor<1x3x8xi8>, %w: tensor<2x3x3xi8>, %b: tensor<2xi8>) {
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x3x8xi8>, tensor<2x3x3xi8>, tensor<2xi8>) -> tensor<1x2x6xi32>
  func.return
}

// -----

// CHECK: result type is tensor<2x5xi8>, operands and attributes give tensor<2x5xi32>
func.func @result(%a: tensor<2x3xi8>, %b: tensor<3x5xi8>) {
  %0 = graph.matmul %a, %b {accumulator = i32} : (tensor<2x3xi8>, tensor<3x5xi8>) -> tensor<2x5xi8>
  func.return
}
