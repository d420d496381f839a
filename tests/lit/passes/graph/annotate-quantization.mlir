// RUN: aotc-opt %s -p 'annotate-quantization' --split-input-file | filecheck %s

// The parameters of a dequantization after element movement, and of the quantization before the result.
// CHECK: func.func @main(%x: tensor<2x3xi8> {aot.name = "x", aot.scale = 5.000000e-01 : f64, aot.zero_point = -1 : i64}) -> (tensor<6xui8> {aot.name = "y", aot.scale = 2.500000e-01 : f64, aot.zero_point = 128 : i64})
builtin.module {
  func.func @main(%x: tensor<2x3xi8> {aot.name = "x"}) -> (tensor<6xui8> {aot.name = "y"}) attributes {aot.entry} {
    %scale = graph.constant dense<5.000000e-01> : tensor<f32>
    %zero = graph.constant dense<-1> : tensor<i8>
    %scale_1 = graph.constant dense<2.500000e-01> : tensor<f32>
    %zero_1 = graph.constant dense<128> : tensor<ui8>
    %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xi8>) -> tensor<3x2xi8>
    %1 = graph.dequantize %0, %scale, %zero {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<3x2xi8>, tensor<f32>, tensor<i8>) -> tensor<3x2xf32>
    %2 = graph.quantize %1, %scale_1, %zero_1 {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<3x2xf32>, tensor<f32>, tensor<ui8>) -> tensor<3x2xui8>
    %3 = graph.reshape %2 {shape = array<i64: 6>} : (tensor<3x2xui8>) -> tensor<6xui8>
    func.return %3 : tensor<6xui8>
  }
}

// -----

// Without a zero point it is 0. Something else reads %y: nothing is said. So it is for a scale that is no constant
// (%s), and for one for each channel.
// CHECK: func.func @main(%x: tensor<2xi8> {aot.name = "x", aot.scale = 2.000000e+00 : f64, aot.zero_point = 0 : i64}, 
// CHECK-SAME: %y: tensor<2xi8> {aot.name = "y"}, %z: tensor<2xi8> {aot.name = "z"}, %c: tensor<2xi8> {aot.name = "c"}, %s: tensor<f32> {aot.name = "s"})
builtin.module {
  func.func @main(%x: tensor<2xi8> {aot.name = "x"}, %y: tensor<2xi8> {aot.name = "y"}, %z: tensor<2xi8> {aot.name = "z"}, %c: tensor<2xi8> {aot.name = "c"}, %s: tensor<f32> {aot.name = "s"}) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) attributes {aot.entry} {
    %scale = graph.constant dense<2.000000e+00> : tensor<f32>
    %scales = graph.constant dense<[2.000000e+00, 4.000000e+00]> : tensor<2xf32>
    %0 = graph.dequantize %x, %scale {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    %1 = graph.dequantize %y, %scale {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    %2 = graph.add %y, %y : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
    %3 = graph.dequantize %z, %s {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    %4 = graph.dequantize %c, %scales {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<2xi8>, tensor<2xf32>) -> tensor<2xf32>
    func.return %0, %1, %2, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xi8>, tensor<2xf32>, tensor<2xf32>
  }
}
