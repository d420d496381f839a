// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},pair-steps' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},pair-steps' | filecheck %s --check-prefix VNNI
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},pair-steps' | filecheck %s --check-prefix VNNI
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},pair-steps' | filecheck %s --check-prefix VNNI
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},pair-steps,flip-signs,choose-algorithms,choose-schedule,assign-layouts,fold-constants' | filecheck %s --check-prefix LAID

// Where an instruction does more at once there are no pairs.
// VNNI-NOT:    paired

// Small weights pair without complements, for which activations lose their sign; weights of 64, four of which are 256,
// fit with none; those of 63 fit with complements only.
// CHECK-LABEL: func.func @bounds
// CHECK:       graph.conv %x, %small {{.*}}schedule = #graph.paired_schedule<lanes = 8, mr = 7, order = rows, unsigned>}
// CHECK-NEXT:  graph.conv %x, %large {{.*}}accumulator = i32} :
// CHECK-NEXT:  graph.conv %x, %middle {{.*}}schedule = #graph.paired_schedule<lanes = 8, mr = 7, order = rows>}
// LAID-LABEL:  func.func @bounds
// LAID-DAG:    %[[COUNTS:.*]] = graph.constant dense<{{.*}}> : tensor<8x2xi32>
// LAID:        graph.paired_dot_conv %{{.*}} {strides = array<i64: 1, 1>, extents = array<i64: 14, 14>, products = 256 : i64, schedule = {{.*}}} : (tensor<1x32x14x14x8xui8>, tensor<8x64x32xi8>, tensor<8x64xi32>, tensor<8x2xi32>, tensor<64xi32>) -> tensor<1x8x14x14x8xi32>
// LAID:        graph.blocked_dot_conv
// LAID:        graph.paired_dot_conv %{{.*}} : (tensor<1x32x14x14x8xi8>,
func.func @bounds(%x: tensor<1x256x14x14xi8>) -> (tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>) attributes {aot.entry} {
  %small = graph.constant dense<32> : tensor<64x256x1x1xi8>
  %large = graph.constant dense<64> : tensor<64x256x1x1xi8>
  %middle = graph.constant dense<63> : tensor<64x256x1x1xi8>
  %0 = graph.conv %x, %small {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x256x14x14xi8>, tensor<64x256x1x1xi8>) -> tensor<1x64x14x14xi32>
  %1 = graph.conv %x, %large {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x256x14x14xi8>, tensor<64x256x1x1xi8>) -> tensor<1x64x14x14xi32>
  %2 = graph.conv %x, %middle {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x256x14x14xi8>, tensor<64x256x1x1xi8>) -> tensor<1x64x14x14xi32>
  func.return %0, %1, %2 : tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>
}

// Weights that are not known, groups, cropped windows, and what has a schedule.
// CHECK-LABEL: func.func @others
// CHECK-NOT:   paired
// CHECK:       return
func.func @others(%x: tensor<1x64x14x14xui8>, %w: tensor<64x64x1x1xi8>) -> (tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>, tensor<1x64x12x14xi32>, tensor<1x64x14x14xi32>) attributes {aot.entry} {
  %v = graph.constant dense<1> : tensor<64x32x1x1xi8>
  %u = graph.constant dense<1> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x14x14xui8>, tensor<64x64x1x1xi8>) -> tensor<1x64x14x14xi32>
  %1 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64, accumulator = i32} : (tensor<1x64x14x14xui8>, tensor<64x32x1x1xi8>) -> tensor<1x64x14x14xi32>
  %2 = graph.conv %x, %u {strides = array<i64: 1, 1>, pads = array<i64: -1, 0, -1, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x14x14xui8>, tensor<64x64x1x1xi8>) -> tensor<1x64x12x14xi32>
  %3 = graph.conv %x, %u {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 2, unroll = 2, order = rows>} : (tensor<1x64x14x14xui8>, tensor<64x64x1x1xi8>) -> tensor<1x64x14x14xi32>
  func.return %0, %1, %2, %3 : tensor<1x64x14x14xi32>, tensor<1x64x14x14xi32>, tensor<1x64x12x14xi32>, tensor<1x64x14x14xi32>
}

// Winograd's algorithm is faster yet, and a convolution that has a schedule keeps it.
// CHECK-LABEL: func.func @algorithms
// CHECK:       graph.conv %x, %w {{.*}}x_zero_point = -3 : i64} :
// CHECK-NEXT:  graph.conv %x, %w {{.*}}schedule = #graph.paired_schedule
// LAID-LABEL:  func.func @algorithms
// LAID:        graph.winograd_conv
// LAID:        graph.pad %{{.*}} {pads = array<i64: 0, 0, 1, 1, 0, 0, 0, 1, 1, 0>, mode = "constant"}
// LAID:        graph.paired_dot_conv %{{.*}} {strides = array<i64: 2, 2>, extents = array<i64: 7, 7>, products = 576 : i64
func.func @algorithms(%x: tensor<1x64x14x14xi8>) -> (tensor<1x64x14x14xi32>, tensor<1x64x7x7xi32>) attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x3x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = -3 : i64} : (tensor<1x64x14x14xi8>, tensor<64x64x3x3xi8>) -> tensor<1x64x14x14xi32>
  %1 = graph.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = -3 : i64} : (tensor<1x64x14x14xi8>, tensor<64x64x3x3xi8>) -> tensor<1x64x7x7xi32>
  func.return %0, %1 : tensor<1x64x14x14xi32>, tensor<1x64x7x7xi32>
}
