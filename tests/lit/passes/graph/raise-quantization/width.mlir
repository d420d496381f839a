// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'raise-quantization{most-bits=8},dce' --split-input-file | filecheck %s --check-prefix=BYTES

// Activations of 16 bits are summed up as integers, or not where registers are for bytes; wide weights are no reason.
// CHECK-LABEL: func.func @width
// CHECK:       graph.matmul %x, %{{.*}} {accumulator = i32} : (tensor<1x2xi16>, tensor<2x2xi8>)
// CHECK:       graph.matmul %y, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>)
// CHECK:       graph.matmul %y, %x {transpose_lhs = true, accumulator = i32} : (tensor<1x2xi8>, tensor<1x2xi16>)
// BYTES-LABEL: func.func @width
// BYTES-NOT:   accumulator
// BYTES:       graph.matmul %{{.*}}, %{{.*}} : (tensor<1x2xf32>, tensor<2x2xf32>)
// BYTES-NEXT:  graph.matmul %{{.*}}, %{{.*}} {transpose_lhs = true} : (tensor<1x2xf32>, tensor<1x2xf32>)
// BYTES:       graph.matmul %y, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>)
func.func @width(%x: tensor<1x2xi16>, %y: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x2xi8>, tensor<2x2xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %xf = graph.dequantize %x, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2xi16>, tensor<f32>) -> tensor<1x2xf32>
  %yf = graph.dequantize %y, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %v = graph.constant dense<[[300, 2], [3, 4]]> : tensor<2x2xi16>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %vf = graph.dequantize %v, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi16>, tensor<f32>) -> tensor<2x2xf32>
  %0 = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = graph.matmul %yf, %vf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %2 = graph.matmul %yf, %xf {transpose_lhs = true} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %a = graph.quantize %0, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
  %b = graph.quantize %1, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
  %c = graph.quantize %2, %s {axis = 1, block_size = 0, to = i8} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi8>
  func.return %a, %b, %c : tensor<1x2xi8>, tensor<1x2xi8>, tensor<2x2xi8>
}
