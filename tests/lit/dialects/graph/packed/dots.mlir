// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule' | filecheck %s --check-prefix CHOSEN

// CHECK-LABEL: func.func @dots
// CHECK-NEXT:  graph.pack %m {layout = #graph.layout<rows (d0 floordiv 4, (d1, d0 mod 4))>} : (tensor<7x6xi8>) -> tensor<2x24xi8>
// CHECK-NEXT:  graph.flip_sign %m : (tensor<7x6xi8>) -> tensor<7x6xui8>
// CHECK-NEXT:  graph.zero_point_bias %k, %b {{.*}} -> tensor<3x3x32xi32>
// CHECK-NEXT:  graph.blocked_dot_conv %x, %w, %t {{{.*}}} : {{.*}} -> tensor<1x2x8x8x16xi32>
// CHECK-NEXT:  graph.blocked_dot_depthwise_conv %x, %d, %t {{{.*}}} : {{.*}} -> tensor<1x2x8x8x16xi32>
// CHECK-NEXT:  graph.packed_dot_matmul %r, %p, %b {narrow} : {{.*}} -> tensor<5x32xi32>
// CHECK-NEXT:  graph.unfold_taps %f {{{.*}}} : (tensor<1x2x5x9xui8>) -> tensor<1x1x5x4x12xui8>
// CHOSEN:      graph.blocked_dot_conv {{.*}}schedule = #graph.matmul_schedule<lanes = 16
// CHOSEN-NEXT: graph.blocked_dot_depthwise_conv {{.*}}schedule = #graph.window_schedule<lanes = 16
// CHOSEN-NEXT: graph.packed_dot_matmul {{.*}}schedule = #graph.matmul_schedule<lanes = 16
func.func @dots(%m: tensor<7x6xi8>, %k: tensor<32x32x3x3xi8>, %b: tensor<32xi32>, %x: tensor<1x2x8x8x16xui8>, %w: tensor<1x2x3x3x4x128xi8>, %d: tensor<2x3x1x64xi8>, %t: tensor<3x3x32xi32>, %r: tensor<5x30xui8>, %p: tensor<1x8x128xi8>, %f: tensor<1x2x5x9xui8>) attributes {aot.entry} {
  %0 = graph.pack %m {layout = #graph.layout<rows (d0 floordiv 4, (d1, d0 mod 4))>} : (tensor<7x6xi8>) -> tensor<2x24xi8>
  %1 = graph.flip_sign %m : (tensor<7x6xi8>) -> tensor<7x6xui8>
  %2 = graph.zero_point_bias %k, %b {zero_point = 3 : i64, extents = array<i64: 8, 8>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x32x3x3xi8>, tensor<32xi32>) -> tensor<3x3x32xi32>
  %3 = graph.blocked_dot_conv %x, %w, %t {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 32 : i64, outputs = 32 : i64, block = 16 : i64} : (tensor<1x2x8x8x16xui8>, tensor<1x2x3x3x4x128xi8>, tensor<3x3x32xi32>) -> tensor<1x2x8x8x16xi32>
  %4 = graph.blocked_dot_depthwise_conv %x, %d, %t {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, taps_across = 3 : i64} : (tensor<1x2x8x8x16xui8>, tensor<2x3x1x64xi8>, tensor<3x3x32xi32>) -> tensor<1x2x8x8x16xi32>
  %5 = graph.packed_dot_matmul %r, %p, %b {narrow} : (tensor<5x30xui8>, tensor<1x8x128xi8>, tensor<32xi32>) -> tensor<5x32xi32>
  %6 = graph.unfold_taps %f {size = 5 : i64, stride = 2 : i64, before = 1 : i64, after = 2 : i64, fill = 9 : i64} : (tensor<1x2x5x9xui8>) -> tensor<1x1x5x4x12xui8>
  func.return
}

// CHECK-LABEL: func.func @pairs
// CHECK-NEXT:  graph.blocked_pair_depthwise_conv %x, %w, %t {{{.*}}} : {{.*}} -> tensor<1x2x8x6x16xi32>
// CHOSEN:      graph.blocked_pair_depthwise_conv {{.*}}schedule = #graph.window_schedule<lanes = 16
func.func @pairs(%x: tensor<1x2x8x8x16xi8>, %w: tensor<2x3x3x16xi8>, %t: tensor<3x1x32xi32>) attributes {aot.entry} {
  %0 = graph.blocked_pair_depthwise_conv %x, %w, %t {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 2>} : (tensor<1x2x8x8x16xi8>, tensor<2x3x3x16xi8>, tensor<3x1x32xi32>) -> tensor<1x2x8x6x16xi32>
  func.return
}
