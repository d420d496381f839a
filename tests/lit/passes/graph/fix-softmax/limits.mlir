// RUN: aotc-opt %s -p fix-softmax,dce --split-input-file | filecheck %s

// A scale of 2^-31 is the least; a row of one number, which is 1, has an exponential, too.
// CHECK-LABEL: func.func @least
// CHECK:         graph.fixed_softmax %x, {{.*}}factor = 1 : i64, shift = 31 : i64
// CHECK-NEXT:    graph.quantize
// CHECK:         graph.fixed_softmax %one, {{.*}}accumulator = i32, factor = 1 : i64, shift = 8 : i64
func.func @least(%x: tensor<1x4xi8>, %one: tensor<4x1xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<4x1xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %least = graph.constant dense<4.656612873077392578125e-10> : tensor<f32>
  %less = graph.constant dense<2.3283064365386962890625e-10> : tensor<f32>
  %t = graph.constant dense<3.906250e-03> : tensor<f32>
  %f = graph.dequantize %x, %s {to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %g = graph.dequantize %one, %s {to = f32} : (tensor<4x1xi8>, tensor<f32>) -> tensor<4x1xf32>
  %m = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %n = graph.softmax %g {axes = array<i64: 1>} : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %q0 = graph.quantize %m, %least {to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %m, %less {to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %n, %t {to = i8} : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xi8>
  func.return %q0, %q1, %q2 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<4x1xi8>
}

// -----

// Sums of i32 have room for 32 exponentials of 24 bits, those of i64 for 2^14 with a factor of 24 bits, not for more.
// CHECK-LABEL: func.func @rows
// CHECK:         graph.fixed_softmax %x, {{.*}}accumulator = i32
// CHECK:         graph.fixed_softmax %y, {{.*}}accumulator = i64
// CHECK:         graph.fixed_softmax %z, {{.*}}accumulator = i64
// CHECK-NOT:     graph.fixed_softmax
func.func @rows(%x: tensor<1x32xi8>, %y: tensor<1x33xi8>, %z: tensor<1x16384xi8>, %w: tensor<1x16385xi8>) -> (tensor<1x32xi8>, tensor<1x33xi8>, tensor<1x16384xi8>, tensor<1x16385xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %t = graph.constant dense<3.906250e-03> : tensor<f32>
  %u = graph.constant dense<3.921568859e-03> : tensor<f32>
  %f = graph.dequantize %x, %s {to = f32} : (tensor<1x32xi8>, tensor<f32>) -> tensor<1x32xf32>
  %g = graph.dequantize %y, %s {to = f32} : (tensor<1x33xi8>, tensor<f32>) -> tensor<1x33xf32>
  %h = graph.dequantize %z, %s {to = f32} : (tensor<1x16384xi8>, tensor<f32>) -> tensor<1x16384xf32>
  %i = graph.dequantize %w, %s {to = f32} : (tensor<1x16385xi8>, tensor<f32>) -> tensor<1x16385xf32>
  %k = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x32xf32>) -> tensor<1x32xf32>
  %l = graph.softmax %g {axes = array<i64: 1>} : (tensor<1x33xf32>) -> tensor<1x33xf32>
  %m = graph.softmax %h {axes = array<i64: 1>} : (tensor<1x16384xf32>) -> tensor<1x16384xf32>
  %n = graph.softmax %i {axes = array<i64: 1>} : (tensor<1x16385xf32>) -> tensor<1x16385xf32>
  %q0 = graph.quantize %k, %t {to = i8} : (tensor<1x32xf32>, tensor<f32>) -> tensor<1x32xi8>
  %q1 = graph.quantize %l, %t {to = i8} : (tensor<1x33xf32>, tensor<f32>) -> tensor<1x33xi8>
  %q2 = graph.quantize %m, %u {to = i8} : (tensor<1x16384xf32>, tensor<f32>) -> tensor<1x16384xi8>
  %q3 = graph.quantize %n, %u {to = i8} : (tensor<1x16385xf32>, tensor<f32>) -> tensor<1x16385xi8>
  func.return %q0, %q1, %q2, %q3 : tensor<1x32xi8>, tensor<1x33xi8>, tensor<1x16384xi8>, tensor<1x16385xi8>
}

// -----

// Rows without numbers; another function of quantised numbers.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     graph.fixed_softmax
// CHECK:         func.return
func.func @others(%x: tensor<4x0xi8>, %y: tensor<1x4xi8>) -> (tensor<4x0xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %t = graph.constant dense<3.906250e-03> : tensor<f32>
  %f = graph.dequantize %x, %s {to = f32} : (tensor<4x0xi8>, tensor<f32>) -> tensor<4x0xf32>
  %g = graph.dequantize %y, %s {to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %m = graph.softmax %f {axes = array<i64: 1>} : (tensor<4x0xf32>) -> tensor<4x0xf32>
  %n = graph.sigmoid %g : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %m, %t {to = i8} : (tensor<4x0xf32>, tensor<f32>) -> tensor<4x0xi8>
  %q1 = graph.quantize %n, %t {to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q0, %q1 : tensor<4x0xi8>, tensor<1x4xi8>
}
