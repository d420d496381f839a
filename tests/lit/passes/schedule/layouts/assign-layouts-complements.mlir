// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,assign-layouts' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,assign-layouts,fold-constants,prove-narrow-pairs' | filecheck %s --check-prefix PROVED
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule,assign-layouts' | filecheck %s --check-prefix VNNI
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,attach-target{target=test-m4},assign-layouts' | filecheck %s --check-prefix NONE

// Signed integers are multiplied with magnitudes, and what sums start with counts the negative weights that are seen.
// CHECK-LABEL: func.func @signed
// CHECK:       graph.zero_point_bias %{{.*}} {zero_point = 0 : i64, {{.*}}complement{{.*}} : (tensor<8x8x3xi8>) -> tensor<3x8xi32>
// CHECK:       graph.blocked_dot_conv %{{.*}}complement
// CHECK:       graph.zero_point_bias %{{.*}}complement{{.*}} : (tensor<16x64xi8>) -> tensor<16xi32>
// CHECK:       graph.packed_dot_matmul %{{.*}}complement

// Which pairs fit 16 bits does not matter to them.
// PROVED-LABEL: func.func @signed
// PROVED-NOT:  narrow

// An instruction for all four products has no use for them, and where there are no vectors nothing is.
// VNNI-NOT:    complement
// NONE-NOT:    complement
func.func @signed(%x: tensor<1x8x20xi8>, %y: tensor<7x64xi8>) -> (tensor<1x8x20xi32>, tensor<7x16xi32>) attributes {aot.entry} {
  %w = graph.constant dense<-1> : tensor<8x8x3xi8>
  %v = graph.constant dense<-1> : tensor<64x16xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, accumulator = i32} : (tensor<1x8x20xi8>, tensor<8x8x3xi8>) -> tensor<1x8x20xi32>
  %1 = graph.matmul %y, %v {accumulator = i32} : (tensor<7x64xi8>, tensor<64x16xi8>) -> tensor<7x16xi32>
  func.return %0, %1 : tensor<1x8x20xi32>, tensor<7x16xi32>
}

// Without a sign there is nothing to turn, and a depthwise convolution reads zeros beyond its rows, whose complements are
// none.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   complement
// CHECK:       return
// PROVED-LABEL: func.func @others
// PROVED:      graph.blocked_dot_conv {{.*}}narrow
func.func @others(%x: tensor<1x8x20xui8>, %y: tensor<1x8x20xi8>) -> (tensor<1x8x20xi32>, tensor<1x8x20xi32>) attributes {aot.entry} {
  %w = graph.constant dense<-1> : tensor<8x8x3xi8>
  %v = graph.constant dense<-1> : tensor<8x1x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, accumulator = i32} : (tensor<1x8x20xui8>, tensor<8x8x3xi8>) -> tensor<1x8x20xi32>
  %1 = graph.conv %y, %v {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 8 : i64, accumulator = i32} : (tensor<1x8x20xi8>, tensor<8x1x3xi8>) -> tensor<1x8x20xi32>
  func.return %0, %1 : tensor<1x8x20xi32>, tensor<1x8x20xi32>
}
