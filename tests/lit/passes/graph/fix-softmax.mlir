// RUN: aotc-opt %s -p fix-softmax,dce --split-input-file | filecheck %s

// To a power of two the factor is 1. e^(-k / 2) * 2^27 is at least a half up to k = 38.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[T:.*]] = graph.constant dense<[134217728, 81407167, 49375943, {{.*}}, 1]> : tensor<39xi32>
// CHECK-NEXT:    %{{.*}} = graph.fixed_softmax %x, %[[T]] {axes = array<i64: 1>, accumulator = i32, factor = 1 : i64, shift = 8 : i64, zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi8>, tensor<39xi32>) -> tensor<1x4xi8>
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %t = graph.constant dense<3.906250e-03> : tensor<f32>
  %tz = graph.constant dense<-128> : tensor<i8>
  %f = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %m = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %m, %t, %tz {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}

// -----

// Another scale is an odd number over a power of two, 3 / 2^10; with one of 24 bits sums need 64 of them.
// CHECK-LABEL: func.func @main
// CHECK:         graph.fixed_softmax %x, %{{.*}} {axes = array<i64: 1>, accumulator = i32, factor = 3 : i64, shift = 10 : i64
// CHECK-NEXT:    %{{.*}} = graph.fixed_softmax %x, %{{.*}} {axes = array<i64: 1>, accumulator = i64, factor = 8421505 : i64, shift = 31 : i64
func.func @main(%x: tensor<1x4xui8>) -> (tensor<1x4xui8>, tensor<1x4xui8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %t = graph.constant dense<2.929687500e-03> : tensor<f32>
  %u = graph.constant dense<3.921568859e-03> : tensor<f32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xui8>, tensor<f32>) -> tensor<1x4xf32>
  %m = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %m, %t {axis = 1, block_size = 0, to = ui8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xui8>
  %r = graph.quantize %m, %u {axis = 1, block_size = 0, to = ui8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xui8>
  func.return %q, %r : tensor<1x4xui8>, tensor<1x4xui8>
}

// -----

// Not the logarithm, of 16 bits, to a scale of 1 or one for each channel, or of numbers that are not quantised.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.fixed_softmax
func.func @main(%x: tensor<1x4xi8>, %wide: tensor<1x4xi16>, %real: tensor<1x4xf32>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %ss = graph.constant dense<[1.250000e-01, 0.25, 0.25, 0.5]> : tensor<4xf32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.dequantize %wide, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi16>, tensor<f32>) -> tensor<1x4xf32>
  %l = graph.softmax %f {axes = array<i64: 1>, log = true} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %m = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %w = graph.softmax %g {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %r = graph.softmax %real {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %l, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %w, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %m, %one {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q3 = graph.quantize %m, %ss {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi8>
  %q4 = graph.quantize %r, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q0, %q1, %q2, %q3, %q4 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}
