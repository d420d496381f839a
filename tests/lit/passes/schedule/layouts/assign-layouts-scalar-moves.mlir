// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule,assign-layouts,dce' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},choose-schedule,assign-layouts,fold-constants,canonicalize,cse,dce' --split-input-file | filecheck %s --check-prefix QUADS

// With the channels last are a tensor of one channel, and one of one pixel. Other transposes than that of the channels do
// not bring them there. Some of the channels of a result are moved to a tensor of their own.
// CHECK-LABEL: func.func @images
// CHECK:       graph.reshape %one {shape = array<i64: 1, 6, 7>}
// CHECK-NOT:   graph.pack {{.*}}layout<channels
// CHECK:       graph.reshape %pixel {shape = array<i64: 1, 1, 3>}
// CHECK:       graph.pack %x {layout = #graph.layout<channels
// CHECK:       graph.channels_last_conv
// CHECK:       graph.pack %{{.*}} {layout = #graph.layout<channels {{.*}} -> tensor<1x1x6x7x4xi8>
// CHECK:       graph.channels_last_conv
func.func @images(%one: tensor<1x1x6x7xi8>, %pixel: tensor<1x3x1x1xi8>, %turned: tensor<1x3x7x6xi8>) -> (tensor<1x8x6x7xi32>, tensor<1x8x1x1xi32>, tensor<1x8x6x7xi32>) attributes {aot.entry} {
  %k = graph.constant dense<1> : tensor<8x1x1x1xi8>
  %w = graph.constant dense<1> : tensor<8x3x1x1xi8>
  %v = graph.constant dense<1> : tensor<8x4x1x1xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.conv %one, %k {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x1x6x7xi8>, tensor<8x1x1x1xi8>) -> tensor<1x8x6x7xi32>
  %1 = graph.conv %pixel, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x3x1x1xi8>, tensor<8x3x1x1xi8>) -> tensor<1x8x1x1xi32>
  %x = graph.transpose %turned {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x3x7x6xi8>) -> tensor<1x3x6x7xi8>
  %2 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x3x6x7xi8>, tensor<8x3x1x1xi8>) -> tensor<1x8x6x7xi32>
  %3 = graph.requantize %2, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x6x7xi32>, tensor<f32>) -> tensor<1x8x6x7xi8>
  %4 = graph.slice %3 {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 4, 6, 7>} : (tensor<1x8x6x7xi8>) -> tensor<1x4x6x7xi8>
  %5 = graph.conv %4, %v {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x4x6x7xi8>, tensor<8x4x1x1xi8>) -> tensor<1x8x6x7xi32>
  func.return %0, %1, %5 : tensor<1x8x6x7xi32>, tensor<1x8x1x1xi32>, tensor<1x8x6x7xi32>
}

// -----

// Neighbouring pixels of a window are one strip; those that are apart, or that another group lies between, are not.
// CHECK-LABEL: func.func @strips
// CHECK-COUNT-2: graph.pack %{{.*}}layout<words {{.*}} : (tensor<8x9x4xi8>)
func.func @strips(%x: tensor<1x4x6x7xi8>, %y: tensor<1x8x6x7xi8>) -> (tensor<1x8x2x3xi32>, tensor<1x8x4x5xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 2, 2>, accumulator = i32} : (tensor<1x4x6x7xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x2x3xi32>
  %1 = graph.conv %y, %w {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x6x7xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x5xi32>
  func.return %0, %1 : tensor<1x8x2x3xi32>, tensor<1x8x4x5xi32>
}

// -----

// The zero point of x stays, or is in what sums start with: 9 ones times -3, 16 ones times -2.
// CHECK-LABEL: func.func @points
// CHECK:       graph.channels_last_depthwise_conv %{{[^,]*}}, %{{[^,]*}} {{.*}}x_zero_point = 3
// CHECK:       graph.interleaved_matmul %{{[^,]*}}, %{{[^,]*}} {{.*}}lhs_zero_point = 2
// QUADS-LABEL: func.func @points
// QUADS-NOT:   zero_point
// QUADS:       %[[D:.*]] = graph.constant dense<-27> : tensor<8xi32>
// QUADS:       graph.channels_last_depthwise_conv %{{[^,]*}}, %{{[^,]*}}, %[[D]] {{.*}}outside = 3
// QUADS:       %[[M:.*]] = graph.constant dense<-32> : tensor<4xi32>
// QUADS:       graph.interleaved_matmul %{{[^,]*}}, %{{[^,]*}}, %[[M]] {
// QUADS-NOT:   zero_point
// QUADS:       func.return
func.func @points(%x: tensor<1x8x6x7xi8>, %l: tensor<3x16xi8>) -> (tensor<1x8x6x7xi32>, tensor<3x4xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x3x3xi8>
  %m = graph.constant dense<1> : tensor<16x4xi8>
  %0 = graph.conv %x, %w {group = 8 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x8x6x7xi8>, tensor<8x1x3x3xi8>) -> tensor<1x8x6x7xi32>
  %1 = graph.matmul %l, %m {accumulator = i32, lhs_zero_point = 2 : i64} : (tensor<3x16xi8>, tensor<16x4xi8>) -> tensor<3x4xi32>
  func.return %0, %1 : tensor<1x8x6x7xi32>, tensor<3x4xi32>
}

// -----

// Of a flattened image the weights are moved, but not where the image holds channels that others lie between, nor where a
// row of the matrix is not an image.
// CHECK-LABEL: func.func @flattened
// CHECK-NOT:   graph.transpose {{.*}}permutation = array<i64: 0, 2, 1>
// CHECK-COUNT-3: graph.interleaved_matmul
func.func @flattened(%x: tensor<2x3x2x2xi8>, %y: tensor<2x16xi8>) -> (tensor<2x5xi32>, tensor<4x5xi32>, tensor<4x5xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x3x1x1xi8>
  %m = graph.constant dense<1> : tensor<5x16xi8>
  %h = graph.constant dense<1> : tensor<5x8xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<2x3x2x2xi8>, tensor<8x3x1x1xi8>) -> tensor<2x8x2x2xi32>
  %1 = graph.requantize %0, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x8x2x2xi32>, tensor<f32>) -> tensor<2x8x2x2xi8>
  %2 = graph.slice %1 {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 2, 4, 2, 2>} : (tensor<2x8x2x2xi8>) -> tensor<2x4x2x2xi8>
  %3 = graph.reshape %2 {shape = array<i64: 2, 16>} : (tensor<2x4x2x2xi8>) -> tensor<2x16xi8>
  %4 = graph.matmul %3, %m {transpose_rhs = true, accumulator = i32} : (tensor<2x16xi8>, tensor<5x16xi8>) -> tensor<2x5xi32>
  %5 = graph.reshape %1 {shape = array<i64: 4, 16>} : (tensor<2x8x2x2xi8>) -> tensor<4x16xi8>
  %6 = graph.matmul %5, %m {transpose_rhs = true, accumulator = i32} : (tensor<4x16xi8>, tensor<5x16xi8>) -> tensor<4x5xi32>
  %7 = graph.reshape %y {shape = array<i64: 4, 8>} : (tensor<2x16xi8>) -> tensor<4x8xi8>
  %8 = graph.matmul %7, %h {transpose_rhs = true, accumulator = i32} : (tensor<4x8xi8>, tensor<5x8xi8>) -> tensor<4x5xi32>
  func.return %4, %6, %8 : tensor<2x5xi32>, tensor<4x5xi32>, tensor<4x5xi32>
}
