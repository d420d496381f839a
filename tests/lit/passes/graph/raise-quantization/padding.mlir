// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

// Integers that stand for 0 are added along spatial axes: the convolution pads itself, dilated too.
// CHECK-LABEL: func.func @main
// CHECK-NOT:  graph.pad
// CHECK:      graph.conv %x, %{{.*}} {strides = array<i64: 1>, pads = array<i64: 9, 0>, dilations = array<i64: 4>, {{.*}}x_zero_point = -128 : i64}
// CHECK-NOT:  graph.pad
// CHECK:      graph.conv %u, %{{.*}} {strides = array<i64: 1>, pads = array<i64: 0, 2>
func.func @main(%x: tensor<1x2x8xi8>, %u: tensor<1x2x8xi8>) -> (tensor<1x1x9xf32>, tensor<1x1x2xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<-128> : tensor<i8>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %w = graph.constant dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi8>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2x3xi8>, tensor<f32>) -> tensor<1x2x3xf32>
  %0 = graph.dequantize %x, %s, %z {to = f32} : (tensor<1x2x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x8xf32>
  %1 = graph.pad %0, %zero {pads = array<i64: 0, 0, 8, 0, 0, 0>, mode = "constant"} : (tensor<1x2x8xf32>, tensor<f32>) -> tensor<1x2x16xf32>
  %2 = graph.conv %1, %wf {strides = array<i64: 1>, pads = array<i64: 1, 0>, dilations = array<i64: 4>, group = 1} : (tensor<1x2x16xf32>, tensor<1x2x3xf32>) -> tensor<1x1x9xf32>
  %3 = graph.dequantize %u, %s {to = f32} : (tensor<1x2x8xi8>, tensor<f32>) -> tensor<1x2x8xf32>
  %4 = graph.pad %3 {pads = array<i64: 0, 0, 0, 0, 0, 2>, mode = "constant"} : (tensor<1x2x8xf32>) -> tensor<1x2x10xf32>
  %5 = graph.conv %4, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 4>, group = 1} : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x2xf32>
  func.return %2, %5 : tensor<1x1x9xf32>, tensor<1x1x2xf32>
}

// -----

// Another number, another channel, the nearest element instead; scales for each channel.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-4: graph.pad
func.func @main(%x: tensor<1x2x8xi8>, %y: tensor<1x1x8xi8>) -> (tensor<1x1x8xf32>, tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %ss = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %z = graph.constant dense<-128> : tensor<i8>
  %one = graph.constant dense<1.0> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %w = graph.constant dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi8>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2x3xi8>, tensor<f32>) -> tensor<1x2x3xf32>
  %0 = graph.dequantize %x, %s, %z {to = f32} : (tensor<1x2x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x8xf32>
  %1 = graph.pad %0, %one {pads = array<i64: 0, 0, 2, 0, 0, 0>, mode = "constant"} : (tensor<1x2x8xf32>, tensor<f32>) -> tensor<1x2x10xf32>
  %2 = graph.conv %1, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x8xf32>
  %3 = graph.dequantize %y, %s, %z {to = f32} : (tensor<1x1x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x8xf32>
  %4 = graph.pad %3, %zero {pads = array<i64: 0, 1, 0, 0, 0, 0>, mode = "constant"} : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<1x2x8xf32>
  %5 = graph.conv %4, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x8xf32>, tensor<1x2x3xf32>) -> tensor<1x1x6xf32>
  %6 = graph.pad %0 {pads = array<i64: 0, 0, 2, 0, 0, 0>, mode = "edge"} : (tensor<1x2x8xf32>) -> tensor<1x2x10xf32>
  %7 = graph.conv %6, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x8xf32>
  %8 = graph.pad %x, %z {pads = array<i64: 0, 0, 2, 0, 0, 0>, mode = "constant"} : (tensor<1x2x8xi8>, tensor<i8>) -> tensor<1x2x10xi8>
  %9 = graph.dequantize %8, %ss {axis = 1, to = f32} : (tensor<1x2x10xi8>, tensor<2xf32>) -> tensor<1x2x10xf32>
  %10 = graph.conv %9, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x2x10xf32>, tensor<1x2x3xf32>) -> tensor<1x1x8xf32>
  func.return %2, %5, %7, %10 : tensor<1x1x8xf32>, tensor<1x1x6xf32>, tensor<1x1x8xf32>, tensor<1x1x8xf32>
}

// -----

// Without a number integers are padded with 0: that stands for 0 where the zero point is 0, too.
// CHECK-LABEL: func.func @main
// CHECK:      %[[P:.*]] = graph.pad %x
// CHECK:      graph.conv %x, %{{.*}} {strides = array<i64: 1>, pads = array<i64: 0, 2>
// CHECK:      graph.conv %[[P]], %{{.*}} {strides = array<i64: 1>, pads = array<i64: 0, 0>
func.func @main(%x: tensor<1x1x8xi8>) -> (tensor<1x1x8xf32>, tensor<1x1x8xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %w = graph.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x1x3xi8>, tensor<f32>) -> tensor<1x1x3xf32>
  %0 = graph.pad %x {pads = array<i64: 0, 0, 0, 0, 0, 2>, mode = "constant"} : (tensor<1x1x8xi8>) -> tensor<1x1x10xi8>
  %1 = graph.dequantize %0, %s {to = f32} : (tensor<1x1x10xi8>, tensor<f32>) -> tensor<1x1x10xf32>
  %2 = graph.conv %1, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x10xf32>, tensor<1x1x3xf32>) -> tensor<1x1x8xf32>
  %3 = graph.dequantize %0, %s, %z {to = f32} : (tensor<1x1x10xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x10xf32>
  %4 = graph.conv %3, %wf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x10xf32>, tensor<1x1x3xf32>) -> tensor<1x1x8xf32>
  func.return %2, %4 : tensor<1x1x8xf32>, tensor<1x1x8xf32>
}
