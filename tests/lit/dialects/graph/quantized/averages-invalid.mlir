// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be a tensor of integers of 8 bits, found tensor<1x2x8xi16>
func.func @wide(%x: tensor<1x2x8xi16>, %f: tensor<1xi32>, %m: tensor<1x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi16>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: counts must be positive and grow, found {{.}}3, 2]
func.func @order(%x: tensor<1x2x8xi8>, %f: tensor<2xi32>, %m: tensor<2x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 3, 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<2xi32>, tensor<2x255xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: factors must be [1] of i32, found tensor<2xi32>
func.func @factors(%x: tensor<1x2x8xi8>, %f: tensor<2xi32>, %m: tensor<1x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<2xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: middles must be [1, 255] of i32, found tensor<1x254xi32>
func.func @middles(%x: tensor<1x2x8xi8>, %f: tensor<1xi32>, %m: tensor<1x254xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<1xi32>, tensor<1x254xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: a guard of 262144 is too great
func.func @guard(%x: tensor<1x2x8xi8>, %f: tensor<1xi32>, %m: tensor<1x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 262144, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: a mantissa has 24 bits, found 16777216
func.func @mantissa(%x: tensor<1x2x8xi8>, %f: tensor<1xi32>, %m: tensor<1x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 16777216, fraction = 20, guard = 300, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  func.return
}

// -----

// CHECK: zero point 300 and clamp
func.func @clamp(%x: tensor<1x2x8xi8>, %f: tensor<1xi32>, %m: tensor<1x255xi32>) {
  %0 = graph.fixed_average_pool %x, %f, %m {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, counts = array<i64: 2>, x_zero_point = 3, mantissa = 8388609, fraction = 20, guard = 300, zero_point = 300, low = -128, high = 127, to = i8} : (tensor<1x2x8xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x4xi8>
  func.return
}
