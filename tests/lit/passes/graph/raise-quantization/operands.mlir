// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

// Weights that no narrow type holds: sums of i32 stay as they are.
// CHECK-LABEL: func.func @main
// CHECK:       graph.matmul %{{.*}}, %{{.*}} : (tensor<4x2xi32>, tensor<2x2xi32>)
func.func @main(%d: tensor<4x2xi8>) -> tensor<4x2xi32> attributes {aot.entry} {
  %k = graph.constant dense<[[1, -2], [3, 40000]]> : tensor<2x2xi32>
  %di = graph.cast %d {to = i32} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %p = graph.matmul %di, %k : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %p : tensor<4x2xi32>
}

// -----

// Whatever is constant may be the left operand.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   graph.constant dense<[2, -8]> : tensor<2xi32>
// CHECK:       %[[A:.*]] = graph.matmul %x, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32>
// CHECK-NEXT:  %[[B:.*]] = graph.add %[[A]], %{{.*}} : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
// CHECK-NEXT:  %[[Q:.*]] = graph.requantize %[[B]]
// CHECK-NEXT:  func.return %[[Q]]
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %ws = graph.constant dense<2.500000e-01> : tensor<f32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %bias = graph.constant dense<[1.750000e+00, -2.500000e-01]> : tensor<2xf32>
  %most = graph.constant dense<6.000000e+00> : tensor<f32>
  %p = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a = graph.add %bias, %p : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %m = graph.min %most, %a : (tensor<f32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %q = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %q : tensor<1x2xi8>
}

// -----

// What is added to sums of i32 is one of their units.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   %[[B:.*]] = graph.constant dense<[7, -1]> : tensor<2xi32>
// CHECK:       %[[A:.*]] = graph.matmul %x, %{{.*}} {accumulator = i32}
// CHECK-NEXT:  %[[S:.*]] = graph.add %[[A]], %[[B]]
// CHECK-NEXT:  graph.requantize %[[S]]
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %bias = graph.constant dense<[7, -1]> : tensor<2xi32>
  %xi = graph.cast %x {to = i32} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %p = graph.matmul %xi, %w : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<1x2xi32>
  %a = graph.add %p, %bias : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  %f = graph.cast %a {to = f32} : (tensor<1x2xi32>) -> tensor<1x2xf32>
  %m = graph.mul %f, %s : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xf32>
  %q = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %q : tensor<1x2xi8>
}
