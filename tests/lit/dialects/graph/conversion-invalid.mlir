// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: i3 is not an element type
func.func @to(%x: tensor<4xf32>) {
  %0 = graph.cast %x {to = i3} : (tensor<4xf32>) -> tensor<4xi3>
  func.return
}

// -----

// CHECK: the rounding must be up, down or nearest, found 'even'
func.func @rounding(%x: tensor<4xf32>) {
  %0 = graph.cast %x {rounding = "even", to = f8E8M0FNU} : (tensor<4xf32>) -> tensor<4xf8E8M0FNU>
  func.return
}

// -----

// CHECK: the result has element type f16, expected integer or minifloat
func.func @quantized(%x: tensor<4xf32>, %s: tensor<f32>) {
  %0 = graph.quantize %x, %s {to = f16} : (tensor<4xf32>, tensor<f32>) -> tensor<4xf16>
  func.return
}

// -----

// CHECK: the scale's shape is (3,), for x of shape (2, 4) along axis 1 (4,)
func.func @scale(%x: tensor<2x4xf32>, %s: tensor<3xf32>) {
  %0 = graph.quantize %x, %s {axis = 1, to = i8} : (tensor<2x4xf32>, tensor<3xf32>) -> tensor<2x4xi8>
  func.return
}

// -----

// CHECK: the scale's shape is (2, 3), for x of shape (2, 4) along axis 1 (2, 2)
func.func @blocks(%x: tensor<2x4xi8>, %s: tensor<2x3xf32>) {
  %0 = graph.dequantize %x, %s {axis = 1, block_size = 2, to = f32} : (tensor<2x4xi8>, tensor<2x3xf32>) -> tensor<2x4xf32>
  func.return
}

// -----

// CHECK: the zero point has element type ui8, not i8
func.func @zero_point(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<ui8>) {
  %0 = graph.quantize %x, %s, %z {to = i8} : (tensor<4xf32>, tensor<f32>, tensor<ui8>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: axis 2 is out of range for rank 1
func.func @axis(%x: tensor<4xf32>, %s: tensor<4xf32>) {
  %0 = graph.quantize %x, %s {axis = 2, to = i8} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  func.return
}

// -----

// CHECK: the zero point has element type f32, not i8
func.func @float_zero_point(%x: tensor<4xi8>, %s: tensor<f32>, %z: tensor<f32>) {
  %0 = graph.dequantize %x, %s, %z {to = f32} : (tensor<4xi8>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: the zero point's shape () is not the scale's (4,)
func.func @single_zero_point(%x: tensor<4xi8>, %s: tensor<4xf32>, %z: tensor<i8>) {
  %0 = graph.dequantize %x, %s, %z {axis = 0, to = f32} : (tensor<4xi8>, tensor<4xf32>, tensor<i8>) -> tensor<4xf32>
  func.return
}
