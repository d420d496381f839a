// RUN: aotc-opt %s -p quantize-interface --split-input-file | filecheck %s

// Two quantizations alike are the caller's, and the dequantization of a result, whoever else reads it.
// CHECK-LABEL: func.func @main(%x: tensor<1x4xui8> {aot.name = "x", aot.dtype = "uint8", aot.scale = 5.000000e-01 : f64, aot.zero_point = 128 : i64})
// CHECK-SAME: -> (tensor<1x4xi8> {aot.name = "y", aot.dtype = "int8", aot.scale = 5.000000e-01 : f64, aot.zero_point = 0 : i64}, tensor<1x4xf32> {aot.name = "z", aot.dtype = "float32"})
// CHECK-NOT: graph.quantize
// CHECK: [[Y:%.*]] = graph.cast %x
// CHECK: [[D:%.*]] = graph.dequantize [[Y]]
// CHECK: [[N:%.*]] = graph.neg [[D]]
// CHECK: func.return [[Y]], [[N]]
builtin.module {
  func.func @main(%x: tensor<1x4xf32> {aot.name = "x", aot.dtype = "float32"}) -> (tensor<1x4xf32> {aot.name = "y", aot.dtype = "float32"}, tensor<1x4xf32> {aot.name = "z", aot.dtype = "float32"}) attributes {aot.entry} {
    %scale = graph.constant dense<5.000000e-01> : tensor<f32>
    %zero = graph.constant dense<128> : tensor<ui8>
    %0 = graph.quantize %x, %scale, %zero {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<1x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x4xui8>
    %1 = graph.quantize %x, %scale, %zero {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<1x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x4xui8>
    %2 = graph.cast %0 {to = i8} : (tensor<1x4xui8>) -> tensor<1x4xi8>
    %3 = graph.dequantize %2, %scale {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
    %4 = graph.neg %3 : (tensor<1x4xf32>) -> tensor<1x4xf32>
    func.return %3, %4 : tensor<1x4xf32>, tensor<1x4xf32>
  }
}

// -----

// Inputs stay that something else reads, that are quantized in two ways or for each channel, by a scale that is no
// constant, and states; results stay that are states, or dequantized for each channel.
// CHECK-LABEL: func.func @main(%a: tensor<1x2xf32> {aot.name = "a"}, %b: tensor<1x2xf32> {aot.name = "b"}, %c: tensor<1x2xf32> {aot.name = "c"}, %d: tensor<1x2xf32> {aot.name = "d"}, %e: tensor<1x2xf32> {aot.name = "e"}, %s: tensor<f32> {aot.name = "s"}, %f: tensor<1x2xi8> {aot.name = "f", aot.dtype = "int8"
// CHECK: -> (tensor<1x2xf32> {aot.name = "u"}, tensor<1x2xf32> {aot.name = "v", aot.state_of = 4 : i64}, tensor<1x2xf32> {aot.name = "w"}
builtin.module {
  func.func @main(%a: tensor<1x2xf32> {aot.name = "a"}, %b: tensor<1x2xf32> {aot.name = "b"}, %c: tensor<1x2xf32> {aot.name = "c"}, %d: tensor<1x2xf32> {aot.name = "d"}, %e: tensor<1x2xf32> {aot.name = "e"}, %s: tensor<f32> {aot.name = "s"}, %f: tensor<1x2xf32> {aot.name = "f"}) -> (tensor<1x2xf32> {aot.name = "u"}, tensor<1x2xf32> {aot.name = "v", aot.state_of = 4 : i64}, tensor<1x2xf32> {aot.name = "w"}, tensor<1x2xi8> {aot.name = "x"}, tensor<1x2xi8> {aot.name = "y"}, tensor<1x2xi8> {aot.name = "z"}, tensor<1x2xi8> {aot.name = "t"}) attributes {aot.entry} {
    %one = graph.constant dense<1.000000e+00> : tensor<f32>
    %two = graph.constant dense<2.000000e+00> : tensor<f32>
    %both = graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
    %0 = graph.quantize %a, %one {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %1 = graph.quantize %b, %one {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %2 = graph.quantize %b, %two {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %3 = graph.quantize %c, %both {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xi8>
    %4 = graph.quantize %d, %s {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %5 = graph.quantize %e, %one {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %6 = graph.dequantize %5, %one {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<1x2xi8>, tensor<f32>) -> tensor<1x2xf32>
    %7 = graph.dequantize %3, %both {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<1x2xi8>, tensor<2xf32>) -> tensor<1x2xf32>
    %8 = graph.quantize %f, %one {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
    %9 = graph.add %1, %2 : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x2xi8>
    func.return %a, %6, %7, %0, %9, %4, %8 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>
  }
}

// -----

// Two quantizations to other types are two, though their numbers are equal.
// CHECK-LABEL: func.func @main(%x: tensor<4xf32> {aot.name = "x"})
builtin.module {
  func.func @main(%x: tensor<4xf32> {aot.name = "x"}) -> (tensor<4xi8> {aot.name = "y"}, tensor<4xui8> {aot.name = "z"}) attributes {aot.entry} {
    %scale = graph.constant dense<5.000000e-01> : tensor<f32>
    %0 = graph.quantize %x, %scale {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
    %1 = graph.quantize %x, %scale {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
    func.return %0, %1 : tensor<4xi8>, tensor<4xui8>
  }
}
