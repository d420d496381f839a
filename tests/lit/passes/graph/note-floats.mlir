// RUN: aotc-opt %s -p note-floats --split-input-file | filecheck %s

// CHECK: builtin.module attributes {aot.in_floats = ["Softmax_0", "Relu_1", "Add_2"]}
func.func @main(%x: tensor<1x4xi8>) -> (tensor<1x4xf32>, tensor<1x4xf32>) attributes {aot.entry} {
  %s = graph.constant dense<1.250000e-01> : tensor<f32>
  %f = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32> loc("DequantizeLinear_0")
  %a = graph.softmax %f {axes = array<i64: 1>} : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("Softmax_0")
  %r = graph.relu %f : (tensor<1x4xf32>) -> tensor<1x4xf32> loc(fused["Relu_1", "Add_2"])
  %n = graph.neg %r : (tensor<1x4xf32>) -> tensor<1x4xf32> loc("Neg_3")
  func.return %a, %n : tensor<1x4xf32>, tensor<1x4xf32>
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
