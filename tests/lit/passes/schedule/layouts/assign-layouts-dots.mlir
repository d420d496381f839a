// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule,assign-layouts,fold-constants,cse,dce' | filecheck %s

// The taps of one channel are unfolded to channels, of which four are multiplied at once, with the zero point where taps
// see no element; sums start with the sums of all of their weights. Of three channels the taps are left: it would take
// 7 groups of four instead of 7. So are taps that are no neighbours.
// CHECK-LABEL: func.func @few_channels
// CHECK:       [[X:%.*]] = graph.unfold_taps %x {size = 8 : i64, stride = 2 : i64, before = 3 : i64, after = 3 : i64, fill = 5 : i64} : (tensor<1x1x20x40xui8>) -> tensor<1x1x20x20x8xui8>
// CHECK:       graph.blocked_dot_conv [[X]], %{{.*}} {strides = array<i64: 1, 1>, pads = array<i64: 4, 0, 5, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 8 : i64
// CHECK-SAME:  (tensor<1x1x20x20x8xui8>, tensor<1x1x10x1x2x64xi8>, tensor<10x1x16xi32>)
// CHECK:       graph.pack %y {layout = #graph.layout<channels ({{[^)]*}} mod 4)>}
// CHECK:       graph.pack %x {layout = #graph.layout<channels ({{[^)]*}} mod 4)>}
func.func @few_channels(%x: tensor<1x1x20x40xui8>, %y: tensor<1x3x5x40xui8>) -> (tensor<1x8x20x20xi32>, tensor<1x8x5x38xi32>, tensor<1x8x20x34xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x10x8xi8>
  %v = graph.constant dense<1> : tensor<8x3x1x3xi8>
  %u = graph.constant dense<1> : tensor<8x1x1x4xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 4, 3, 5, 3>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 5 : i64} : (tensor<1x1x20x40xui8>, tensor<8x1x10x8xi8>) -> tensor<1x8x20x20xi32>
  %1 = graph.conv %y, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x3x5x40xui8>, tensor<8x3x1x3xi8>) -> tensor<1x8x5x38xi32>
  %2 = graph.conv %x, %u {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 2>, group = 1 : i64, accumulator = i32} : (tensor<1x1x20x40xui8>, tensor<8x1x1x4xi8>) -> tensor<1x8x20x34xi32>
  func.return %0, %1, %2 : tensor<1x8x20x20xi32>, tensor<1x8x5x38xi32>, tensor<1x8x20x34xi32>
}

// The panel of a matrix of few columns is no wider than these, to whole groups.
// CHECK-LABEL: func.func @few_columns
// CHECK:       graph.packed_dot_matmul %x, %{{.*}} : (tensor<1x64xui8>, tensor<1x16x16xi8>, tensor<3xi32>)
func.func @few_columns(%x: tensor<1x64xui8>) -> tensor<1x3xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<64x3xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x64xui8>, tensor<64x3xi8>) -> tensor<1x3xi32>
  func.return %0 : tensor<1x3xi32>
}

// Factors for each channel lie as the channels do, of several blocks, too: nothing is unpacked before the requantisation.
// CHECK-LABEL: func.func @factors
// CHECK:       [[SUMS:%.*]] = graph.blocked_dot_conv
// CHECK-NOT:   graph.unpack
// CHECK:       [[Q:%.*]] = graph.requantize [[SUMS]], {{.*}} (tensor<1x2x5x5x16xi32>, tensor<1x2x1x1x16xf32>) -> tensor<1x2x5x5x16xui8>
func.func @factors(%x: tensor<1x16x5x5xui8>) -> tensor<1x32x5x5xui8> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<32x16x1x1xi8>
  %m = graph.constant dense<0.5> : tensor<32xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x16x5x5xui8>, tensor<32x16x1x1xi8>) -> tensor<1x32x5x5xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = 0 : i64, low = 0 : i64, high = 255 : i64, to = ui8} : (tensor<1x32x5x5xi32>, tensor<32xf32>) -> tensor<1x32x5x5xui8>
  func.return %1 : tensor<1x32x5x5xui8>
}
