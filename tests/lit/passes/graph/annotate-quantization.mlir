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

// -----

// Nothing is said of an argument that is dequantized in two ways (%x), is a zero point itself (%z), has its own zero
// point at run time (%r), or is chosen from by indices (%g); nor of a result whose zero point is no integer (%f), but for 0.
// CHECK: func.func @main(%x: tensor<2xi8> {aot.name = "x"}, %z: tensor<i8> {aot.name = "z"}, %r: tensor<2xi8> {aot.name = "r"}, %g: tensor<2xi8> {aot.name = "g"})
// CHECK-SAME: tensor<2xf8E4M3FN> {aot.name = "f"}, tensor<2xf8E4M3FN> {aot.name = "e", aot.scale = 2.000000e+00 : f64, aot.zero_point = 0 : i64}
builtin.module {
  func.func @main(%x: tensor<2xi8> {aot.name = "x"}, %z: tensor<i8> {aot.name = "z"}, %r: tensor<2xi8> {aot.name = "r"}, %g: tensor<2xi8> {aot.name = "g"}) -> (tensor<2xf32> {aot.name = "a"}, tensor<2xf32> {aot.name = "b"}, tensor<2xf32> {aot.name = "c"}, tensor<1xf32> {aot.name = "d"}, tensor<2xf8E4M3FN> {aot.name = "f"}, tensor<2xf8E4M3FN> {aot.name = "e"}) attributes {aot.entry} {
    %one = graph.constant dense<1.000000e+00> : tensor<f32>
    %two = graph.constant dense<2.000000e+00> : tensor<f32>
    %point = graph.constant dense<1.000000e+00> : tensor<f8E4M3FN>
    %index = graph.constant dense<1> : tensor<1xi64>
    %0 = graph.dequantize %x, %one {to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    %1 = graph.dequantize %x, %two {to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    %2 = graph.dequantize %r, %two, %z {to = f32} : (tensor<2xi8>, tensor<f32>, tensor<i8>) -> tensor<2xf32>
    %3 = graph.gather %g, %index {axis = 0 : i64} : (tensor<2xi8>, tensor<1xi64>) -> tensor<1xi8>
    %4 = graph.dequantize %3, %two {to = f32} : (tensor<1xi8>, tensor<f32>) -> tensor<1xf32>
    %5 = graph.quantize %0, %two, %point {to = f8E4M3FN} : (tensor<2xf32>, tensor<f32>, tensor<f8E4M3FN>) -> tensor<2xf8E4M3FN>
    %origin = graph.constant dense<0.000000e+00> : tensor<f8E4M3FN>
    %6 = graph.quantize %0, %two, %origin {to = f8E4M3FN} : (tensor<2xf32>, tensor<f32>, tensor<f8E4M3FN>) -> tensor<2xf8E4M3FN>
    func.return %0, %1, %2, %4, %5, %6 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<1xf32>, tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN>
  }
}

// -----

// A zero point that is an argument of its own, beside a constant tensor.
// CHECK: func.func @main(%z: tensor<i8> {aot.name = "z"})
builtin.module {
  func.func @main(%z: tensor<i8> {aot.name = "z"}) -> tensor<f32> attributes {aot.entry} {
    %scale = graph.constant dense<2.000000e+00> : tensor<f32>
    %zero = graph.constant dense<3> : tensor<i8>
    %q = graph.constant dense<5> : tensor<i8>
    %0 = graph.dequantize %q, %scale, %z {to = f32} : (tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<f32>
    %1 = graph.dequantize %z, %scale, %zero {to = f32} : (tensor<i8>, tensor<f32>, tensor<i8>) -> tensor<f32>
    %2 = graph.add %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    func.return %2 : tensor<f32>
  }
}

// -----

// Nor of one that is a result, one of several parts, one that is changed before, or one that nobody reads.
// CHECK: func.func @main(%x: tensor<2xi8> {aot.name = "x"}, %y: tensor<2xi8> {aot.name = "y"}, %n: tensor<2xi8> {aot.name = "n"}, %u: tensor<2xi8> {aot.name = "u"}) -> (tensor<2xi8> {aot.name = "a"}, tensor<4xf32> {aot.name = "b"}, tensor<2xf32> {aot.name = "c"})
builtin.module {
  func.func @main(%x: tensor<2xi8> {aot.name = "x"}, %y: tensor<2xi8> {aot.name = "y"}, %n: tensor<2xi8> {aot.name = "n"}, %u: tensor<2xi8> {aot.name = "u"}) -> (tensor<2xi8> {aot.name = "a"}, tensor<4xf32> {aot.name = "b"}, tensor<2xf32> {aot.name = "c"}) attributes {aot.entry} {
    %scale = graph.constant dense<2.000000e+00> : tensor<f32>
    %0 = graph.concat %y, %y {axis = 0 : i64} : (tensor<2xi8>, tensor<2xi8>) -> tensor<4xi8>
    %1 = graph.dequantize %0, %scale {to = f32} : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
    %2 = graph.neg %n : (tensor<2xi8>) -> tensor<2xi8>
    %3 = graph.dequantize %2, %scale {to = f32} : (tensor<2xi8>, tensor<f32>) -> tensor<2xf32>
    func.return %x, %1, %3 : tensor<2xi8>, tensor<4xf32>, tensor<2xf32>
  }
}
