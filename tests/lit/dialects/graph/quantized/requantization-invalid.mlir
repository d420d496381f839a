// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: the operand has element type f32, expected i32
func.func @operand(%x: tensor<4xf32>, %m: tensor<f32>) {
  %0 = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: the multiplier has element type f64, expected f32
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

// CHECK: the operand has element type i16, expected an integer of 8 bits
func.func @wide(%x: tensor<4xi16>, %t: tensor<256xi8>) {
  %0 = graph.lookup %x, %t : (tensor<4xi16>, tensor<256xi8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: the table has shape [128], expected [256]
func.func @table(%x: tensor<4xi8>, %t: tensor<128xi8>) {
  %0 = graph.lookup %x, %t : (tensor<4xi8>, tensor<128xi8>) -> tensor<4xi8>
  func.return
}
