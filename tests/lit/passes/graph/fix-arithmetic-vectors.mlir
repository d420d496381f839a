// RUN: aotc-opt %s -p 'fix-arithmetic{tables=false},dce' | filecheck %s

// A sum of the integers needs no table; one of a function of them does, and stays a sum of floats.
// CHECK-LABEL: func.func @main
// CHECK:         %[[S:.*]] = graph.fixed_add %x, %y
// CHECK-NOT:     graph.lookup
// CHECK-NOT:     graph.fixed_add
// CHECK:         %[[Q:.*]] = graph.quantize
// CHECK-NEXT:    func.return %[[S]], %[[Q]]
func.func @main(%x: tensor<1x4xi8>, %y: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %sx = graph.constant dense<4.370000e-02> : tensor<f32>
  %zx = graph.constant dense<1> : tensor<i8>
  %sy = graph.constant dense<5.710000e-02> : tensor<f32>
  %s = graph.constant dense<3.190000e-02> : tensor<f32>
  %a = graph.dequantize %x, %sx, %zx {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4xf32>
  %b = graph.dequantize %y, %sy {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %c = graph.add %a, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %t = graph.sigmoid %a : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %d = graph.add %t, %b : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %q1 = graph.quantize %c, %s, %zx {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  %q2 = graph.quantize %d, %s, %zx {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %q1, %q2 : tensor<1x4xi8>, tensor<1x4xi8>
}
