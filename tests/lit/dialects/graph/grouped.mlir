// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'choose-schedule{target=x86-64-v4},assign-layouts' | filecheck %s --check-prefix=LAYOUT
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLDED

// CHECK-LABEL: func.func @main
// CHECK: graph.join_groups %w {group = 4 : i64, by = 2 : i64} : (tensor<4x2x1xf32>) -> tensor<4x4x1xf32>

// Four groups of four channels make a block of sixteen.
// LAYOUT-LABEL: func.func @main
// LAYOUT: %[[W:.*]] = graph.join_groups %{{.*}} {group = 8 : i64, by = 4 : i64} : (tensor<64x4x1xf32>) -> tensor<64x16x1xf32>
// LAYOUT: %[[PANELS:.*]] = graph.pack_conv_weight %[[W]]
// LAYOUT: graph.blocked_conv %{{.*}}, %[[PANELS]] {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64, channels = 32 : i64, outputs = 64 : i64,

// FOLDED-LABEL: func.func @main
// FOLDED: graph.constant dense<{{\[\[\[}}1.000000e+00], [2.000000e+00], [0.000000e+00], [0.000000e+00]], {{\[\[}}0.000000e+00], [0.000000e+00], [3.000000e+00], [4.000000e+00]],
func.func @main(%x: tensor<1x32x8xf32>) -> (tensor<4x4x1xf32>, tensor<1x64x8xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<4x2x1xf32>
  %0 = graph.join_groups %w {group = 4, by = 2} : (tensor<4x2x1xf32>) -> tensor<4x4x1xf32>
  %v = graph.constant dense<1.0> : tensor<64x4x1xf32>
  %1 = graph.conv %x, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 8} : (tensor<1x32x8xf32>, tensor<64x4x1xf32>) -> tensor<1x64x8xf32>
  func.return %0, %1 : tensor<4x4x1xf32>, tensor<1x64x8xf32>
}
