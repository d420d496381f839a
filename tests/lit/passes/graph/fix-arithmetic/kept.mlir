// RUN: aotc-opt %s -p fix-arithmetic,dce --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'fix-arithmetic{tables=false most-numbers=1},dce' --split-input-file | filecheck %s --check-prefix FEW

// Two constants; a sum that saturates whatever it is of; a function of a product.
// CHECK-LABEL: func.func @constants
// CHECK-NOT:     graph.fixed_add
// CHECK-NOT:     graph.requantize
// CHECK:         graph.quantize
// CHECK-NEXT:    graph.quantize
// CHECK:         graph.quantize
// CHECK:         func.return
func.func @constants(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.000000e-01> : tensor<f32>
  %k = graph.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %l = graph.constant dense<[[2.0, 3.0, 5.0, 7.0]]> : tensor<1x4xf32>
  %most = graph.constant dense<[[1000.0, 2000.0, 3000.0, 4000.0]]> : tensor<1x4xf32>
  %a = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %0 = graph.add %k, %l : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = graph.add %a, %most : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = graph.mul %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = graph.sigmoid %2 : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %0, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %1, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %3, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q0, %q1, %q2 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// -----

// An argument; a sum that is moved; the greater of two tensors, one of them a sum; the greater of integers and of zeros.
// CHECK-LABEL: func.func @operations
// CHECK-NOT:     graph.fixed_add
// CHECK:         graph.transpose
// CHECK-NOT:     graph.fixed_add
// CHECK:         func.return
func.func @operations(%f: tensor<4x4xf32>, %x: tensor<4x4xi8>, %y: tensor<4x4xi8>) -> (tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>) attributes {aot.entry} {
  %half = graph.constant dense<5.000000e-01> : tensor<f32>
  %quarter = graph.constant dense<2.500000e-01> : tensor<f32>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %zeros = graph.constant dense<0.000000e+00> : tensor<4x4xf32>
  %a = graph.dequantize %x, %half {axis = 1, block_size = 0, to = f32} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
  %b = graph.dequantize %y, %quarter {axis = 1, block_size = 0, to = f32} : (tensor<4x4xi8>, tensor<f32>) -> tensor<4x4xf32>
  %0 = graph.add %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.max %0, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = graph.max %a, %zeros : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q0 = graph.quantize %f, %one {axis = 1, block_size = 0, to = i8} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xi8>
  %q1 = graph.quantize %1, %one {axis = 1, block_size = 0, to = i8} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xi8>
  %q2 = graph.quantize %2, %one {axis = 1, block_size = 0, to = i8} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xi8>
  %q3 = graph.quantize %3, %one {axis = 1, block_size = 0, to = i8} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xi8>
  func.return %q0, %q1, %q2, %q3 : tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>, tensor<4x4xi8>
}

// -----

// What is added is a function of a number, or unknown; there are no elements.
// CHECK-LABEL: func.func @operands
// CHECK-NOT:     graph.fixed_add
// CHECK:         func.return
func.func @operands(%x: tensor<1x4xi8>, %f: tensor<1x4xf32>, %none: tensor<0x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<0x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<1.000000e-01> : tensor<f32>
  %o = graph.constant dense<1.700000e-01> : tensor<f32>
  %empty = graph.constant dense<1.0> : tensor<0x4xf32>
  %a = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %e = graph.dequantize %none, %s {axis = 1, block_size = 0, to = f32} : (tensor<0x4xi8>, tensor<f32>) -> tensor<0x4xf32>
  %r = graph.sigmoid %s : (tensor<f32>) -> tensor<f32>
  %0 = graph.add %a, %r : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %1 = graph.add %a, %f : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = graph.add %e, %empty : (tensor<0x4xf32>, tensor<0x4xf32>) -> tensor<0x4xf32>
  %q0 = graph.quantize %0, %o {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %1, %o {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q2 = graph.quantize %2, %o {axis = 1, block_size = 0, to = i8} : (tensor<0x4xf32>, tensor<f32>) -> tensor<0x4xi8>
  func.return %q0, %q1, %q2 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<0x4xi8>
}

// -----

// Twice the scale, which is added to a sum, is one more function of it; a constant of as many numbers as there may be, without tables.
// CHECK-LABEL: func.func @fixed
// CHECK:         graph.fixed_add %x, %y
// CHECK:         graph.fixed_add %x, %{{.*}}
// FEW-LABEL: func.func @fixed
// FEW:         graph.fixed_add %x, %y
// FEW:         graph.fixed_add %x, %{{.*}}
func.func @fixed(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %sx = graph.constant dense<4.370000e-02> : tensor<f32>
  %sy = graph.constant dense<5.710000e-02> : tensor<f32>
  %two = graph.constant dense<6.380000e-02> : tensor<f32>
  %s = graph.constant dense<3.190000e-02> : tensor<f32>
  %k = graph.constant dense<3.0> : tensor<1x4xf32>
  %a = graph.dequantize %x, %sx {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %sy {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %0 = graph.add %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = graph.add %0, %two : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
  %2 = graph.add %a, %k : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %1, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %2, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  func.return %q0, %q1 : tensor<1x4xi8>, tensor<1x4xi8>
}

// -----

// The constant may be on the left; a scale for each block stays, although there is one block.
// CHECK-LABEL: func.func @left
// CHECK:         %[[S:.*]] = graph.fixed_add %{{.*}}, %x {x_factor = 1 : i64
// CHECK-NOT:     graph.fixed_add
// CHECK:         func.return %[[S]]
func.func @left(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %sx = graph.constant dense<4.370000e-02> : tensor<f32>
  %sy = graph.constant dense<5.710000e-02> : tensor<f32>
  %s = graph.constant dense<3.190000e-02> : tensor<f32>
  %blocks = graph.constant dense<3.190000e-02> : tensor<1x1xf32>
  %k = graph.constant dense<[[0.1, 0.2, 0.3, 0.4]]> : tensor<1x4xf32>
  %a = graph.dequantize %x, %sx {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %sy {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %0 = graph.sub %k, %a : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = graph.add %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q0 = graph.quantize %0, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi8>
  %q1 = graph.quantize %1, %blocks {axis = 1, block_size = 4, to = i8} : (tensor<1x4xf32>, tensor<1x1xf32>) -> tensor<1x4xi8>
  func.return %q0, %q1 : tensor<1x4xi8>, tensor<1x4xi8>
}
