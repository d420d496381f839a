// RUN: aotc-opt %s -p fix-arithmetic,dce --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'fix-arithmetic{most-numbers=1},dce' --split-input-file | filecheck %s --check-prefix FLOATS

// A relu is in the clamp; the zero points of both sides are in the offset.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[S:.*]] = graph.fixed_add %x, %y {x_factor = 1398101 : i64, y_factor = 4893354 : i64, offset = -28311547 : i64, shift = 21 : i64, even = false, zero_point = 0 : i64, low = 3 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi8>, tensor<4xui8>) -> tensor<1x4xi8>
// CHECK-NEXT:    func.return %[[S]]
func.func @main(%x: tensor<1x4xi8>, %y: tensor<4xui8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %sx = graph.constant dense<1.000000e-01> : tensor<f32>
  %zx = graph.constant dense<1> : tensor<i8>
  %sy = graph.constant dense<3.500000e-01> : tensor<f32>
  %zy = graph.constant dense<7> : tensor<ui8>
  %s = graph.constant dense<1.500000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %a = graph.dequantize %x, %sx, %zx {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %sy, %zy {axis = 0, block_size = 0, to = f32} : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>
  %c = graph.add %a, %b : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %r = graph.relu %c : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %r, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}

// -----

// Halves are exact with powers of two: they go to the even integer. What is subtracted has a factor below 0.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %{{.*}} = graph.fixed_add %x, %y {x_factor = 8388608 : i64, y_factor = -4194304 : i64, offset = 0 : i64, shift = 24 : i64, even = true, zero_point = 5 : i64, low = -91 : i64, high = 101 : i64, to = i8}
func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %half = graph.constant dense<5.000000e-01> : tensor<f32>
  %quarter = graph.constant dense<2.500000e-01> : tensor<f32>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %z = graph.constant dense<5> : tensor<i8>
  %a = graph.dequantize %x, %half {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %quarter {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %c = graph.sub %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %c, %one, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}

// -----

// A product is requantised; a constant is terms of its own; a function of one side is a table of terms.
// CHECK-LABEL: func.func @main
// CHECK:         %[[TABLE:.*]] = graph.constant {{.*}} : tensor<256xi32>
// CHECK:         %[[TERMS:.*]] = graph.constant {{.*}} : tensor<4xi32>
// CHECK:         %[[A:.*]] = graph.cast %x {to = i32}
// CHECK-NEXT:    %[[Z:.*]] = graph.sub %[[A]], %{{.*}} : (tensor<1x4xi32>, tensor<i32>)
// CHECK-NEXT:    %[[B:.*]] = graph.cast %y {to = i32}
// CHECK-NEXT:    %[[P:.*]] = graph.mul %[[Z]], %[[B]]
// CHECK-NEXT:    %{{.*}} = graph.requantize %[[P]], %{{.*}} {axis = 0 : i64, zero_point = 1 : i64, low = -128 : i64, high = 127 : i64, to = i8}
// CHECK-NEXT:    %{{.*}} = graph.fixed_add %x, %[[TERMS]] {x_factor = {{[0-9]+}} : i64, y_factor = 1 : i64
// CHECK-NEXT:    %[[L:.*]] = graph.lookup %x, %[[TABLE]]
// CHECK-NEXT:    %{{.*}} = graph.fixed_add %[[L]], %y {x_factor = 1 : i64
func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %sx = graph.constant dense<4.370000e-02> : tensor<f32>
  %zx = graph.constant dense<1> : tensor<i8>
  %sy = graph.constant dense<5.710000e-02> : tensor<f32>
  %s = graph.constant dense<3.190000e-02> : tensor<f32>
  %k = graph.constant dense<[1.000000e-01, -2.330000e+00, 0.000000e+00, 7.710000e+00]> : tensor<4xf32>
  %a = graph.dequantize %x, %sx, %zx {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %sy {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %p = graph.mul %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %c = graph.add %a, %k : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %t = graph.sigmoid %a : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %d = graph.add %t, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %p, %s, %zx {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  %q1 = graph.quantize %c, %s, %zx {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  %q2 = graph.quantize %d, %s, %zx {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q0, %q1, %q2 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// -----

// Not where errors of floats decide, half of a sum at equal scales; not of 16 bits, three tensors, a scale for each
// channel, functions of a sum, or products of functions; not a sum of another shape than what is quantised.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.fixed_add
// CHECK-NOT:     graph.requantize
// CHECK:         func.return
func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>, %wide: tensor<1x4xi16>, %row: tensor<4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.000000e-01> : tensor<f32>
  %other = graph.constant dense<1.700000e-01> : tensor<f32>
  %double = graph.constant dense<2.000000e-01> : tensor<f32>
  %ss = graph.constant dense<[1.250000e-01, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %a = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %w = graph.dequantize %wide, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi16>, tensor<f32>) -> tensor<1x4xf32>
  %r = graph.dequantize %row, %s {axis = 0, block_size = 0, to = f32} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
  %sum = graph.add %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %mixed = graph.add %a, %w : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %three = graph.add %sum, %r : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
  %function = graph.exp %sum : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %gate = graph.sigmoid %a : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %gated = graph.mul %gate, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %zero = graph.constant dense<0.000000e+00> : tensor<1x1x1xf32>
  %spread = graph.max %sum, %zero : (tensor<1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x4xf32>
  %q0 = graph.quantize %sum, %double {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %mixed, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %three, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q3 = graph.quantize %sum, %ss {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi8>
  %q4 = graph.quantize %function, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q5 = graph.quantize %gated, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q6 = graph.quantize %spread, %other {axis = 1, block_size = 0, to = i8} : (tensor<1x1x4xf32>, tensor<f32>) -> tensor<1x1x4xi8>
  func.return %q0, %q1, %q2, %q3, %q4, %q5, %q6 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x1x4xi8>
}

// -----

// A constant operand may have as many different numbers as pairs of them with all integers are tried.
// CHECK-LABEL: func.func @numbers
// CHECK:         graph.fixed_add
// FLOATS-LABEL: func.func @numbers
// FLOATS-NOT:     graph.fixed_add
// FLOATS:         graph.add
func.func @numbers(%x: tensor<1x2xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<5> : tensor<i8>
  %c = graph.constant dense<[[1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>
  %a = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>) -> tensor<1x2xf32>
  %b = graph.add %a, %c : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %q = graph.quantize %b, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %q : tensor<1x2xi8>
}

// -----

// Sums of f16 are rounded to less than those of f32.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT:     graph.fixed_add
// CHECK:         graph.sub
func.func @narrow(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %half = graph.constant dense<5.000000e-01> : tensor<f16>
  %quarter = graph.constant dense<2.500000e-01> : tensor<f16>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %z = graph.constant dense<5> : tensor<i8>
  %a = graph.dequantize %x, %half {axis = 1, block_size = 0, to = f16} : (tensor<1x4xi8>, tensor<f16>) -> tensor<1x4xf16>
  %b = graph.dequantize %y, %quarter {axis = 1, block_size = 0, to = f16} : (tensor<1x4xi8>, tensor<f16>) -> tensor<1x4xf16>
  %c = graph.sub %a, %b : (tensor<1x4xf16>, tensor<1x4xf16>) -> tensor<1x4xf16>
  %d = graph.cast %c {to = f32} : (tensor<1x4xf16>) -> tensor<1x4xf32>
  %q = graph.quantize %d, %one, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q : tensor<1x4xi8>
}
