// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be a tensor of i32, found tensor<4xf32>
func.func @operand(%x: tensor<4xf32>, %m: tensor<f32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: multiplier must be a tensor of f32, found tensor<f64>
func.func @multiplier(%x: tensor<4xi32>, %m: tensor<f64>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<f64>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: parameters of shape [3] for [4] along axis 0
func.func @channels(%x: tensor<4xi32>, %m: tensor<3xf32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<3xf32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: the result has element type f32, expected an integer of 2 to 16 bits
func.func @result(%x: tensor<4xi32>, %m: tensor<f32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = f32} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: zero point 0 and clamp 0 to 128 do not fit i8
func.func @clamp(%x: tensor<4xi32>, %m: tensor<f32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = 0, high = 128, to = i8} : (tensor<4xi32>, tensor<f32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: zero point 200 and clamp 0 to 1 do not fit i8
func.func @point(%x: tensor<4xi32>, %m: tensor<f32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 200, low = 0, high = 1, to = i8} : (tensor<4xi32>, tensor<f32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: x must be a tensor of integers of 8 bits, found tensor<4xi16>
func.func @wide(%x: tensor<4xi16>, %t: tensor<256xi8>) {
  %0 = graph.lookup %x, %t : (tensor<4xi16>, tensor<256xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: table must be [256], found tensor<128xi8>
func.func @table(%x: tensor<4xi8>, %t: tensor<128xi8>) {
  %0 = graph.lookup %x, %t : (tensor<4xi8>, tensor<128xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: a guard of 1 is too small for 20 bits of fraction
func.func @guard(%x: tensor<4xi32>, %f: tensor<i32>) {
  %0 = graph.fixed_requantize %x, %f {axis = 0, shift = 40, most = 1024, guard = 1, up = 12, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: 1048576 times 2^12 is not an i32
func.func @most(%x: tensor<4xi32>, %f: tensor<i32>) {
  %0 = graph.fixed_requantize %x, %f {axis = 0, shift = 30, most = 1048576, guard = 9, up = 12, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: a shift of 40, 8 bits of fraction and a guard of 128 do not fit
func.func @fraction(%x: tensor<4xi32>, %f: tensor<i32>) {
  %0 = graph.fixed_requantize %x, %f {axis = 0, shift = 40, most = 1024, guard = 128, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: only products in 64 bits shift the operand up
func.func @forms(%x: tensor<4xi32>, %f: tensor<i32>) {
  %0 = graph.fixed_requantize %x, %f {axis = 0, shift = 40, most = 1024, guard = 9, up = 1, split = 12, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: factor must be a tensor of i32, found tensor<i64>
func.func @factor(%x: tensor<4xi32>, %f: tensor<i64>) {
  %0 = graph.fixed_requantize %x, %f {axis = 0, shift = 40, most = 1024, guard = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<i64>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: x must be a tensor of integers of 2 to 16 bits, found tensor<1x2x3xf32>
func.func @sum(%x: tensor<1x2x3xf32>) {
  %0 = graph.sum_pool %x {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x3xf32>) -> tensor<1x2x1xi32>
  func.return
}

// -----

// CHECK: an operand has element type f32, expected i32 or integers of 2 to 16 bits
func.func @case_0(%x: tensor<4xf32>, %y: tensor<4xi8>) {
  %0 = graph.fixed_add %x, %y {x_factor = 5, y_factor = 9, offset = 7, shift = 4, even = true, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<4xf32>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: x_factor must be -2147483648 to 2147483647, found 2147483648
func.func @case_1(%x: tensor<4xi8>, %y: tensor<4xi8>) {
  %0 = graph.fixed_add %x, %y {x_factor = 2147483648, y_factor = 9, offset = 7, shift = 4, even = true, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: shift must be 1 to 30, found 31
func.func @case_2(%x: tensor<4xi8>, %y: tensor<4xi8>) {
  %0 = graph.fixed_add %x, %y {x_factor = 5, y_factor = 9, offset = 7, shift = 31, even = true, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: zero point 1 and clamp -128 to 128 do not fit i8
func.func @case_3(%x: tensor<4xi8>, %y: tensor<4xi8>) {
  %0 = graph.fixed_add %x, %y {x_factor = 5, y_factor = 9, offset = 7, shift = 4, even = true, zero_point = 1, low = -128, high = 128, to = i8} : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: x must be a tensor of integers of 8 bits, found tensor<4xi16>
func.func @case_4(%x: tensor<4xi16>, %e: tensor<40xi32>) {
  %0 = graph.fixed_softmax %x, %e {axes = array<i64: 0>, accumulator = i32, factor = 1, shift = 8, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<4xi16>, tensor<40xi32>) -> tensor<4xui8>
  func.return
}

// -----

// CHECK: table must have 1 to 256 entries, found 257
func.func @case_5(%x: tensor<4xi8>, %e: tensor<257xi32>) {
  %0 = graph.fixed_softmax %x, %e {axes = array<i64: 0>, accumulator = i32, factor = 1, shift = 8, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<4xi8>, tensor<257xi32>) -> tensor<4xui8>
  func.return
}

// -----

// CHECK: the accumulator must be i32 or i64, found f32
func.func @case_6(%x: tensor<4xi8>, %e: tensor<40xi32>) {
  %0 = graph.fixed_softmax %x, %e {axes = array<i64: 0>, accumulator = f32, factor = 1, shift = 8, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<4xi8>, tensor<40xi32>) -> tensor<4xui8>
  func.return
}

// -----

// CHECK: the scale 256 / 2^8 is not below 1
func.func @case_7(%x: tensor<4xi8>, %e: tensor<40xi32>) {
  %0 = graph.fixed_softmax %x, %e {axes = array<i64: 0>, accumulator = i32, factor = 256, shift = 8, zero_point = 0, low = 0, high = 255, to = ui8} : (tensor<4xi8>, tensor<40xi32>) -> tensor<4xui8>
  func.return
}

// -----

// CHECK: factor must be a tensor of i32, found tensor<f32>
func.func @case_8(%x: tensor<4xi32>, %f: tensor<f32>, %s: tensor<i32>) {
  %0 = graph.doubling_requantize %x, %f, %s {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<f32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// Sums of others are narrow.
// CHECK: the result has element type i32, expected an integer of 2 to 16 bits
func.func @case_wide(%x: tensor<4xi32>, %f: tensor<f32>) {
  %0 = graph.requantize %x, %f {axis = 0, zero_point = 0, low = -128, high = 127, to = i32} : (tensor<4xi32>, tensor<f32>) -> tensor<4xi32>
  func.return
}

// -----

// CHECK: table must have 1 to 256 entries, found 257
func.func @case_softmax(%x: tensor<4xi8>, %e: tensor<257xi32>) {
  %0 = graph.doubling_softmax %x, %e {axes = array<i64: 0>, zero_point = -128, low = -128, high = 127, to = i8} : (tensor<4xi8>, tensor<257xi32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: (4,) factors and () shifts
func.func @case_9(%x: tensor<4xi32>, %f: tensor<4xi32>, %s: tensor<i32>) {
  %0 = graph.doubling_requantize %x, %f, %s {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<4xi32>, tensor<i32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: width and row are given together
func.func @width(%x: tensor<4xi8>, %t: tensor<256xi8>) {
  %0 = graph.lookup %x, %t {width = 64} : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: registers have a power of two of bytes, found 48
func.func @row(%x: tensor<4xi8>, %t: tensor<256xi8>) {
  %0 = graph.lookup %x, %t {width = 64, row = 48} : (tensor<4xi8>, tensor<256xi8>) -> tensor<4xi8>
  func.return
}
