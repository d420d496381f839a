// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,assign-layouts,fold-constants' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-sse2},choose-schedule,assign-layouts,fold-constants' | filecheck %s --check-prefix PAIRS
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule,assign-layouts,fold-constants' | filecheck %s --check-prefix VNNI
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},choose-schedule,assign-layouts,fold-constants' | filecheck %s --check-prefix NEON

// Two taps of a column at once, where four neighbouring ones take several instructions; the weights lie as they are.
// CHECK-LABEL: func.func @rows
// CHECK:       graph.blocked_pair_depthwise_conv {{.*}} tensor<2x3x3x8xi8>, tensor<1x1x16xi32>
// PAIRS-LABEL: func.func @rows
// PAIRS:       graph.blocked_pair_depthwise_conv
// VNNI-LABEL:  func.func @rows
// VNNI:        graph.blocked_dot_depthwise_conv
// NEON-LABEL:  func.func @rows
// NEON:        graph.blocked_dot_depthwise_conv
func.func @rows(%x: tensor<1x16x9x9xi8>) -> tensor<1x16x9x9xi32> attributes {aot.entry} {
  %w = graph.constant dense<-128> : tensor<16x1x3x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 16 : i64, accumulator = i32} : (tensor<1x16x9x9xi8>, tensor<16x1x3x3xi8>) -> tensor<1x16x9x9xi32>
  func.return %0 : tensor<1x16x9x9xi32>
}

// Taps of one row are better multiplied four at a time: there are no columns.
// CHECK-LABEL: func.func @one_row
// NEON-LABEL:  func.func @one_row
// CHECK:       graph.blocked_dot_depthwise_conv
func.func @one_row(%x: tensor<1x16x9x9xi8>) -> tensor<1x16x9x6xi32> attributes {aot.entry} {
  %w = graph.constant dense<-128> : tensor<16x1x1x4xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 16 : i64, accumulator = i32} : (tensor<1x16x9x9xi8>, tensor<16x1x1x4xi8>) -> tensor<1x16x9x6xi32>
  func.return %0 : tensor<1x16x9x6xi32>
}

// Those that are no neighbours cannot be.
// CHECK-LABEL: func.func @dilated
// CHECK:       graph.blocked_pair_depthwise_conv
// VNNI-LABEL:  func.func @dilated
// VNNI:        graph.blocked_pair_depthwise_conv
func.func @dilated(%x: tensor<1x16x9x9xi8>) -> tensor<1x16x9x3xi32> attributes {aot.entry} {
  %w = graph.constant dense<-128> : tensor<16x1x1x4xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 2>, group = 16 : i64, accumulator = i32} : (tensor<1x16x9x9xi8>, tensor<16x1x1x4xi8>) -> tensor<1x16x9x3xi32>
  func.return %0 : tensor<1x16x9x3xi32>
}

// The taps of a row are written one by one, unless they are many.
// CHECK-LABEL: func.func @long
// CHECK:       graph.blocked_dot_depthwise_conv
func.func @long(%x: tensor<1x16x9x40xi8>) -> tensor<1x16x7x31xi32> attributes {aot.entry} {
  %w = graph.constant dense<-128> : tensor<16x1x3x10xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 16 : i64, accumulator = i32} : (tensor<1x16x9x40xi8>, tensor<16x1x3x10xi8>) -> tensor<1x16x7x31xi32>
  func.return %0 : tensor<1x16x7x31xi32>
}

// Of groups of two channels sums are of both.
// CHECK-LABEL: func.func @groups
// CHECK:       graph.blocked_dot_conv
func.func @groups(%x: tensor<1x16x9x9xi8>) -> tensor<1x16x7x7xi32> attributes {aot.entry} {
  %w = graph.constant dense<-128> : tensor<16x2x3x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 8 : i64, accumulator = i32} : (tensor<1x16x9x9xi8>, tensor<16x2x3x3xi8>) -> tensor<1x16x7x7xi32>
  func.return %0 : tensor<1x16x7x7xi32>
}
