// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,assign-layouts' | filecheck %s --check-prefix=LAYOUT
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLDED

// CHECK-LABEL: func.func @main
// CHECK: graph.pack %w {layout = #graph.layout<conv_weight (d0 floordiv 2, d1 floordiv 4, d2, d1 mod 4, d0 mod 2), groups = 2>} : (tensor<4x2x1xf32>) -> tensor<2x1x1x4x2xf32>

// Of groups of eight channels, two fill a block of sixteen lanes: lanes of which each sees the eight of its group.
// LAYOUT-LABEL: func.func @main
// LAYOUT: %[[PANELS:.*]] = graph.pack %{{.*}} {layout = #graph.layout<channels (d0, d1 floordiv 16, d2, d1 mod 16)>} : (tensor<8x24x1xf32>) -> tensor<8x2x1x16xf32>
// LAYOUT: graph.blocked_lanes_conv %{{.*}}, %[[PANELS]] {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>

// Of two groups of 24 channels the panels of 16 outputs see 24, 48 and 24: in blocks of eight, halves of those of %y.
// LAYOUT: %[[HALVES:.*]] = graph.pack %{{.*}} {layout = #graph.layout<conv_weight (d0 floordiv 16, d1 floordiv 8, d2, d1 mod 8, d0 mod 16), groups = 2>} : (tensor<48x24x1xf32>) -> tensor<3x6x1x8x16xf32>
// LAYOUT: graph.blocked_conv %{{.*}}, %[[HALVES]] {{.*}} : (tensor<1x3x8x16xf32>, tensor<3x6x1x8x16xf32>) -> tensor<1x3x8x16xf32>

// The second panel sees channels 2 and 3.
// FOLDED-LABEL: func.func @main
// FOLDED: graph.constant dense<{{\[\[\[\[\[}}1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00], [0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]]]], {{\[\[\[\[}}0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00], [5.000000e+00, 7.000000e+00], [6.000000e+00, 8.000000e+00]]]]]>
func.func @main(%x: tensor<1x24x8xf32>, %y: tensor<1x48x8xf32>) -> (tensor<2x1x1x4x2xf32>, tensor<1x24x8xf32>, tensor<1x48x8xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]], [[7.0], [8.0]]]> : tensor<4x2x1xf32>
  %0 = graph.pack %w {layout = #graph.layout<conv_weight (d0 floordiv 2, d1 floordiv 4, d2, d1 mod 4, d0 mod 2), groups = 2>} : (tensor<4x2x1xf32>) -> tensor<2x1x1x4x2xf32>
  %v = graph.constant dense<1.0> : tensor<24x8x1xf32>
  %1 = graph.conv %x, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 3} : (tensor<1x24x8xf32>, tensor<24x8x1xf32>) -> tensor<1x24x8xf32>
  %u = graph.constant dense<1.0> : tensor<48x24x1xf32>
  %2 = graph.conv %y, %u {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2} : (tensor<1x48x8xf32>, tensor<48x24x1xf32>) -> tensor<1x48x8xf32>
  func.return %0, %1, %2 : tensor<2x1x1x4x2xf32>, tensor<1x24x8xf32>, tensor<1x48x8xf32>
}
