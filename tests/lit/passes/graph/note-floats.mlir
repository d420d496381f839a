// RUN: aotc-opt %s -p note-floats --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'note-floats{requantization=true}' --split-input-file | filecheck %s --check-prefix=ROUNDED

// CHECK: builtin.module attributes {aot.in_floats = ["Softmax_0", "Relu_1", "Add_2", "Add_4"]}
func.func @main(%x: tensor<1x4xi8>, %y: tensor<4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32> loc("DequantizeLinear_0")
  %a = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("Softmax_0")
  %r = graph.relu %f : (tensor<1x4xf32>) -> tensor<1x4xf32> loc(fused["Relu_1", "Add_2"])
  %n = graph.neg %r : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("Neg_3")
  %m = graph.add %f, %y : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> loc("Add_4")
  func.return %a, %n, %m : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

// Nothing is said where nothing is dequantised, or only the caller reads it.
// CHECK:     builtin.module {
// CHECK-NOT: aot.in_floats
func.func @main(%x: tensor<1x4xi8>) -> tensor<1x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32> loc("DequantizeLinear_0")
  func.return %f : tensor<1x4xf32>
}

// -----

// A requantisation is fast in vector registers; elsewhere it counts, unless it is in fixed point.
// CHECK:     builtin.module {
// ROUNDED:   builtin.module attributes {aot.in_floats = ["Conv_0"]}
func.func @main(%x: tensor<1x4xi32>) -> (tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %m = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.constant dense<65536> : tensor<i32>
  %a = graph.requantize %x, %m {axis = 0, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x4xi32>, tensor<f32>) -> tensor<1x4xi8> loc("Conv_0")
  %b = graph.fixed_requantize %x, %f {axis = 0, shift = 40, most = 65536, guard = 1, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi8> loc("Conv_1")
  func.return %a, %b : tensor<1x4xi8>, tensor<1x4xi8>
}
