// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

// Sums of a transposed convolution have more and fewer terms; a zero point that is known at run time is taken off.
// CHECK-LABEL: func.func @main
// CHECK:      graph.conv_transpose %x, %{{.*}} {{{.*}}accumulator = i32, x_zero_point = 3 : i64}
// CHECK:      %[[A:.*]] = graph.matmul %d, %{{.*}} {accumulator = i32} : (tensor<4x2xui8>, tensor<2x2xi8>) -> tensor<4x2xi32>
// CHECK-NEXT: %[[M:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<i32>, tensor<2xi32>)
// CHECK-NEXT: %[[S:.*]] = graph.sub %[[A]], %[[M]]
// CHECK-NEXT: func.return %{{.*}}, %[[S]]
func.func @main(%x: tensor<1x2x4xi8>, %d: tensor<4x2xui8>, %dz: tensor<ui8>) -> (tensor<1x1x8xf32>, tensor<4x2xi32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4xf32>
  %w = graph.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi8>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x1x2xi8>, tensor<f32>) -> tensor<2x1x2xf32>
  %c = graph.conv_transpose %xf, %wf {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x1x8xf32>
  %k = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %di = graph.cast %d {to = i32} : (tensor<4x2xui8>) -> tensor<4x2xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %dd = graph.sub %di, %zi : (tensor<4x2xi32>, tensor<i32>) -> tensor<4x2xi32>
  %p = graph.matmul %dd, %k : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %c, %p : tensor<1x1x8xf32>, tensor<4x2xi32>
}

// -----

// A zero point that is known at run time is taken off convolutions, too: padding is written as such zero points.
// CHECK-LABEL: func.func @main
// CHECK:      %[[P:.*]] = graph.pad %d, %dz {pads = array<i64: 0, 0, 1, 0, 0, 2>, mode = "constant"} : (tensor<1x4x5xui8>, tensor<ui8>)
// CHECK-NEXT: %[[C:.*]] = graph.conv %[[P]], %{{.*}} {{{.*}}pads = array<i64: 0, 0>, {{.*}}group = 2 : i64, accumulator = i32} : (tensor<1x4x8xui8>, tensor<2x2x2xi8>) -> tensor<1x2x7xi32>
// CHECK-NEXT: %[[M:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<i32>, tensor<2x1xi32>)
// CHECK-NEXT: graph.sub %[[C]], %[[M]]
// CHECK-NOT:  graph.pad
// CHECK:      graph.conv %d, %{{.*}}accumulator = i32} : (tensor<1x4x5xui8>, tensor<3x4x1xi8>) -> tensor<1x3x5xi32>
func.func @main(%d: tensor<1x4x5xui8>, %dz: tensor<ui8>) -> (tensor<1x2x7xi32>, tensor<1x3x5xi32>) attributes {aot.entry} {
  %v = graph.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %w = graph.constant dense<[[[1], [2], [3], [4]], [[5], [6], [7], [8]], [[0], [1], [0], [-9]]]> : tensor<3x4x1xi32>
  %di = graph.cast %d {to = i32} : (tensor<1x4x5xui8>) -> tensor<1x4x5xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %dd = graph.sub %di, %zi : (tensor<1x4x5xi32>, tensor<i32>) -> tensor<1x4x5xi32>
  %a = graph.conv %dd, %v {strides = array<i64: 1>, pads = array<i64: 1, 2>, dilations = array<i64: 1>, group = 2} : (tensor<1x4x5xi32>, tensor<2x2x2xi32>) -> tensor<1x2x7xi32>
  %b = graph.conv %dd, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<3x4x1xi32>) -> tensor<1x3x5xi32>
  func.return %a, %b : tensor<1x2x7xi32>, tensor<1x3x5xi32>
}

// -----

// Not one for each channel, of elements that are left out, or of a transposed convolution.
// CHECK-LABEL: func.func @main
// CHECK-NOT:  accumulator
// CHECK:      func.return
func.func @main(%d: tensor<1x4x5xui8>, %dz: tensor<ui8>, %dc: tensor<4x1xui8>) -> (tensor<1x2x4xi32>, tensor<1x3x5xi32>, tensor<1x3x5xi32>) attributes {aot.entry} {
  %v = graph.constant dense<1> : tensor<2x4x1xi32>
  %w = graph.constant dense<1> : tensor<3x4x1xi32>
  %t = graph.constant dense<1> : tensor<4x3x1xi32>
  %di = graph.cast %d {to = i32} : (tensor<1x4x5xui8>) -> tensor<1x4x5xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %ci = graph.cast %dc {to = i32} : (tensor<4x1xui8>) -> tensor<4x1xi32>
  %dd = graph.sub %di, %zi : (tensor<1x4x5xi32>, tensor<i32>) -> tensor<1x4x5xi32>
  %de = graph.sub %di, %ci : (tensor<1x4x5xi32>, tensor<4x1xi32>) -> tensor<1x4x5xi32>
  %a = graph.conv %dd, %v {strides = array<i64: 1>, pads = array<i64: -1, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<2x4x1xi32>) -> tensor<1x2x4xi32>
  %b = graph.conv %de, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<3x4x1xi32>) -> tensor<1x3x5xi32>
  %c = graph.conv_transpose %dd, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x4x5xi32>, tensor<4x3x1xi32>) -> tensor<1x3x5xi32>
  func.return %a, %b, %c : tensor<1x2x4xi32>, tensor<1x3x5xi32>, tensor<1x3x5xi32>
}

// -----

// A zero point with more elements than the operand makes it larger, and one that is an i32 of run time need not be one
// of its integers.
// CHECK-LABEL: func.func @larger
// CHECK:       graph.matmul %{{.*}} : (tensor<4x2xi32>, tensor<2x2xi32>)
// CHECK:       graph.matmul %{{.*}} : (tensor<1x2xi32>, tensor<2x2xi32>)
func.func @larger(%x: tensor<1x2xi8>, %p: tensor<i32>) -> (tensor<4x2xi32>, tensor<1x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %z = graph.constant dense<3> : tensor<4x2xi32>
  %i = graph.cast %x {to = i32} : (tensor<1x2xi8>) -> tensor<1x2xi32>
  %0 = graph.sub %i, %z : (tensor<1x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>
  %1 = graph.matmul %0, %w : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  %2 = graph.sub %i, %p : (tensor<1x2xi32>, tensor<i32>) -> tensor<1x2xi32>
  %3 = graph.matmul %2, %w : (tensor<1x2xi32>, tensor<2x2xi32>) -> tensor<1x2xi32>
  func.return %1, %3 : tensor<4x2xi32>, tensor<1x2xi32>
}

// -----

// Scales of a transposed convolution's output channels are those of the results; terms of several scales are no sum of
// integers.
// CHECK-LABEL: func.func @scales
// CHECK:       graph.conv_transpose %x, %{{.*}}accumulator = i32
// CHECK:       graph.conv_transpose {{.*}} -> tensor<1x2x8xf32>
func.func @scales(%x: tensor<1x2x4xi8>) -> (tensor<1x2x8xf32>, tensor<1x2x8xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %ss = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %xf = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x2x4xi8>, tensor<f32>) -> tensor<1x2x4xf32>
  %w = graph.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi8>
  %outputs = graph.dequantize %w, %ss {axis = 1, block_size = 0, to = f32} : (tensor<2x2x2xi8>, tensor<2xf32>) -> tensor<2x2x2xf32>
  %inputs = graph.dequantize %w, %ss {axis = 0, block_size = 0, to = f32} : (tensor<2x2x2xi8>, tensor<2xf32>) -> tensor<2x2x2xf32>
  %0 = graph.conv_transpose %xf, %outputs {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x2x4xf32>, tensor<2x2x2xf32>) -> tensor<1x2x8xf32>
  %1 = graph.conv_transpose %xf, %inputs {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x2x4xf32>, tensor<2x2x2xf32>) -> tensor<1x2x8xf32>
  func.return %0, %1 : tensor<1x2x8xf32>, tensor<1x2x8xf32>
}
