// RUN: aotc-opt %s -p tabulate-quantized,dce --split-input-file | filecheck %s

// x * sigmoid(x) of integers at scale 1 / 8, which begins at the bits of 0: q(0) = 1, q(1 / 8) = 1.06 * .., ...
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[T:.*]] = graph.constant {{.*}} : tensor<256xi8>
// CHECK-NEXT:    %[[L:.*]] = graph.lookup %x, %[[T]] : (tensor<1x4xi8>, tensor<256xi8>) -> tensor<1x4xi8>
// CHECK-NEXT:    func.return %[[L]]
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %z = graph.constant dense<1> : tensor<i8>
  %f = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %g = graph.sigmoid %f : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %h = graph.mul %f, %g : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %h, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}

// -----

// Two in a row are one; what something else reads is still computed for that.
// CHECK-LABEL: func.func @main
// CHECK:         %[[F:.*]] = graph.dequantize %x
// CHECK-NEXT:    %[[L:.*]] = graph.lookup %x
// CHECK-NEXT:    func.return %[[F]], %[[L]]
func.func @main(%x: tensor<1x4xui8>) -> (tensor<1x4xf32>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %z = graph.constant dense<1> : tensor<i8>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xui8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.tanh %f : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %g, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  %h = graph.dequantize %q, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %e = graph.exp %h : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %r = graph.quantize %e, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %f, %r : tensor<1x4xf32>, tensor<1x4xi8>
}

// -----

// Not of two tensors, of one that is broadcast, with a number for each element, of 16 bits, with a scale for each channel, or of a reduction.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.lookup
func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>, %b: tensor<4xi8>, %wide: tensor<1x4xi16>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %ss = graph.constant dense<[1.250000e-01, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.dequantize %y, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %h = graph.dequantize %b, %s {axis = 0, block_size = 0, to = f32} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
  %i = graph.dequantize %wide, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi16>, tensor<f32>) -> tensor<1x4xf32>
  %two = graph.add %f, %g : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %zero = graph.constant dense<[[0.0, 0.0, 0.0, 1.0]]> : tensor<1x4xf32>
  %broadcast = graph.add %h, %zero : (tensor<4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %soft = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %two, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %broadcast, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %i, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q3 = graph.quantize %f, %ss {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi8>
  %q4 = graph.quantize %soft, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %numbers = graph.add %f, %zero : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q5 = graph.quantize %numbers, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q0, %q1, %q2, %q3, %q4, %q5 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// -----

// A number may be quantised itself; then the next function follows in the same table.
// CHECK-LABEL: func.func @rescaled
// CHECK-NEXT:    %[[T:.*]] = graph.constant {{.*}} : tensor<256xi8>
// CHECK-NEXT:    %[[L:.*]] = graph.lookup %x, %[[T]] : (tensor<1x4xi8>, tensor<256xi8>) -> tensor<1x4xi8>
// CHECK-NEXT:    func.return %[[L]]
func.func @rescaled(%x: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %z = graph.constant dense<1> : tensor<i8>
  %n = graph.constant dense<[[43]]> : tensor<1x1xi8>
  %f = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %m = graph.dequantize %n, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x1xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1xf32>
  %h = graph.mul %f, %m : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %h, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}
