// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule,assign-layouts,dce' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},choose-schedule,assign-layouts,fold-constants,canonicalize,cse,dce' | filecheck %s --check-prefix QUADS

// Where sums become quads, they start with what the zero point of x comes to over all weights (27 ones, times -3), which
// then is what lies outside of x; without a zero point there is nothing to start with.
// QUADS-LABEL: func.func @main
// QUADS:       %[[B:.*]] = graph.constant dense<-81> : tensor<8xi32>
// QUADS:       graph.channels_last_conv %{{.*}}, %{{.*}}, %[[B]] {{.*}}outside = 3 : i64{{.*}} columns = 4 : i64, word = 16 : i64
// QUADS-NOT:   outside
// QUADS:       graph.channels_last_depthwise_conv %{{.*}}, %{{[^,]*}} {
// QUADS-NOT:   outside
// QUADS:       graph.interleaved_matmul
// QUADS:       func.return

// One block of all channels: the channels are last. From the transpose of an input to the matrix product of the
// flattened result nothing is moved but weights; factors for each channel lie along the last axis.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   %[[X:.*]] = graph.reshape %x {shape = array<i64: 1, 6, 21>} : (tensor<1x6x7x3xi8>) -> tensor<1x6x21xi8>
// CHECK-DAG:   %[[W:.*]] = graph.pack %{{.*}} {layout = #graph.layout<words ({{.*}}, d2 mod 4)), tight>} : (tensor<8x3x9xi8>) -> tensor<216xi8>
// CHECK:       %[[C:.*]] = graph.channels_last_conv %[[X]], %[[W]] {{.*}}x_zero_point = 3 : i64, kernel_shape = array<i64: 3, 3>, channels = 3 : i64, outputs = 8 : i64, {{.*}} -> tensor<1x1x6x7x8xi32>
// CHECK-NEXT:  %[[Q:.*]] = graph.requantize %[[C]], %f {axis = 4 : i64, {{.*}} -> tensor<1x1x6x7x8xi8>
// CHECK-DAG:   %[[K:.*]] = graph.reshape %{{.*}} : (tensor<9x8xi8>) -> tensor<3x3x8xi8>
// CHECK-DAG:   %[[B:.*]] = graph.reshape %[[Q]] {shape = array<i64: 1, 1, 6, 7, 8>}
// CHECK:       %[[D:.*]] = graph.channels_last_depthwise_conv %[[B]], %[[K]] {{.*}} -> tensor<1x1x6x7x8xi32>
// CHECK-NEXT:  %[[R:.*]] = graph.requantize %[[D]], %s {axis = {{.*}} -> tensor<1x1x6x7x8xi8>
// CHECK-NEXT:  %[[L:.*]] = graph.lookup %[[R]], %t : (tensor<1x1x6x7x8xi8>, tensor<256xi8>) -> tensor<1x1x6x7x8xi8>
// CHECK-DAG:   %[[T:.*]] = graph.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<5x8x42xi8>) -> tensor<5x42x8xi8>
// CHECK-DAG:   %[[F:.*]] = graph.reshape %[[L]] {shape = array<i64: 1, 336>}
// CHECK:       graph.interleaved_matmul %[[F]], %{{.*}} : (tensor<1x336xi8>, tensor<1680xi8>) -> tensor<1x5xi32>
// CHECK-NOT:   graph.pack
// CHECK:       func.return
func.func @main(%x: tensor<1x6x7x3xi8>) -> tensor<1x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x3x3x3xi8>
  %k = graph.constant dense<1> : tensor<8x1x3x3xi8>
  %m = graph.constant dense<1> : tensor<5x336xi8>
  %f = graph.constant dense<0.5> : tensor<8xf32>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<1> : tensor<256xi8>
  %0 = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x6x7x3xi8>) -> tensor<1x3x6x7xi8>
  %1 = graph.conv %0, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x3x6x7xi8>, tensor<8x3x3x3xi8>) -> tensor<1x8x6x7xi32>
  %2 = graph.requantize %1, %f {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x6x7xi32>, tensor<8xf32>) -> tensor<1x8x6x7xi8>
  %3 = graph.conv %2, %k {group = 8 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x6x7xi8>, tensor<8x1x3x3xi8>) -> tensor<1x8x6x7xi32>
  %4 = graph.requantize %3, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x6x7xi32>, tensor<f32>) -> tensor<1x8x6x7xi8>
  %5 = graph.lookup %4, %t : (tensor<1x8x6x7xi8>, tensor<256xi8>) -> tensor<1x8x6x7xi8>
  %6 = graph.reshape %5 {shape = array<i64: 1, 336>} : (tensor<1x8x6x7xi8>) -> tensor<1x336xi8>
  %7 = graph.matmul %6, %m {transpose_rhs = true, accumulator = i32} : (tensor<1x336xi8>, tensor<5x336xi8>) -> tensor<1x5xi32>
  func.return %7 : tensor<1x5xi32>
}

// Other axes of factors need plain tensors, and so do products of other matrices than a flattened image.
// CHECK-LABEL: func.func @others
// CHECK:       %[[C:.*]] = graph.channels_last_conv
// CHECK:       %[[U:.*]] = graph.unpack %[[C]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 8{{(, [0-9]+)*}}>}
// CHECK:       graph.requantize %[[U]], %f {axis = 2 : i64
// CHECK:       graph.interleaved_matmul %{{.*}} : (tensor<1x8x42xi8>, tensor<210xi8>) -> tensor<1x8x5xi32>
func.func @others(%x: tensor<1x3x6x7xi8>) -> (tensor<1x8x6x7xi8>, tensor<1x8x5xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x3x1x1xi8>
  %f = graph.constant dense<0.5> : tensor<6xf32>
  %s = graph.constant dense<0.5> : tensor<f32>
  %m = graph.constant dense<1> : tensor<5x42xi8>
  %1 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x3x6x7xi8>, tensor<8x3x1x1xi8>) -> tensor<1x8x6x7xi32>
  %2 = graph.requantize %1, %f {axis = 2 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x6x7xi32>, tensor<6xf32>) -> tensor<1x8x6x7xi8>
  %3 = graph.requantize %1, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x6x7xi32>, tensor<f32>) -> tensor<1x8x6x7xi8>
  %4 = graph.reshape %3 {shape = array<i64: 1, 8, 42>} : (tensor<1x8x6x7xi8>) -> tensor<1x8x42xi8>
  %5 = graph.matmul %4, %m {transpose_rhs = true, accumulator = i32} : (tensor<1x8x42xi8>, tensor<5x42xi8>) -> tensor<1x8x5xi32>
  func.return %2, %5 : tensor<1x8x6x7xi8>, tensor<1x8x5xi32>
}
