// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s --check-prefix M4F
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},choose-schedule' | filecheck %s --check-prefix M4
// RUN: aotc-opt %s -p 'attach-target{target=test-m0},choose-schedule' | filecheck %s --check-prefix M0
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},choose-schedule' | filecheck %s --check-prefix M55
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule{size=true}' | filecheck %s --check-prefix SMALL

// Cores without vectors: words where two products are added up by one instruction, f32 with an FPU only. What is not
// known at compile time or has a zero point of the weight stays as it is. In groups a tile is of outputs of one of them.

// M4F-LABEL: func.func @main
// M4F:      graph.conv %x, %w {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 2, word = 4, unroll = 1, specialized>}
// M4F-NEXT: graph.conv %x, %k {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 4, word = 4, unroll = 1, specialized>}
// M4F-NEXT: graph.matmul %m, %v {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = {{.*}}, word = 4
// M4F-NEXT: graph.conv %f, %fw {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = {{.*}}, word = 1
// M4F-NEXT: graph.conv %x, %g {group = 2 {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 2, word = 4, unroll = 1, specialized>}
// M4F:      graph.conv %x, %y {{.*}} accumulator = i32} :
// M4F:      graph.conv %x, %w {{.*}} w_zero_point = 1 : i64} :
// M4F:      graph.matmul %m, %m {{.*}} accumulator = i32} :
// Three outputs in a group are no two tiles of two.
// M4F:      graph.conv %x, %t {group = 2 {{.*}} columns = {{[13]}}, word = 4
// M4-LABEL: func.func @main
// M4-COUNT-5: word = 4
// M0-LABEL: func.func @main
// M0:       graph.conv %x, %w {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 4, word = 1, unroll = 1, specialized>}
// M0-NEXT:  graph.conv %x, %k {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 1, word = 1, unroll = 1, specialized>}
// M0-NEXT:  graph.matmul %m, %v {{.*}} word = 1
// M0-NEXT:  graph.conv %f, %fw {{.*}} dilations = array<i64: 1, 1>} :
// M0-NEXT:  graph.conv %x, %g {{.*}} word = 1
// M0:      graph.conv %x, %y {{.*}} accumulator = i32} :
// M0:      graph.conv %x, %w {{.*}} w_zero_point = 1 : i64} :
// M0:      graph.matmul %m, %m {{.*}} accumulator = i32} :
// M0:       graph.conv %x, %t {{.*}} word = 1
// On vectors registers of 16 bytes, whose sums become quads; of a depthwise convolution channels in quads. A group of
// three outputs makes none, f32 neither; unsigned bytes (here: weights) are multiplied in runs of eight.
// M55-LABEL: func.func @main
// M55:      graph.conv %x, %w {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>}
// M55-NEXT: graph.conv %x, %k {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 4, columns = 4, word = 1, unroll = 1, specialized>}
// M55-NEXT: graph.matmul %m, %v {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>}
// M55-NEXT: graph.conv %f, %fw {{.*}} schedule = #graph.sums_schedule<lanes = 1, {{.*}} word = 1
// M55-NEXT: graph.conv %x, %g {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16
// M55:      graph.conv %x, %y {{.*}} accumulator = i32} :
// M55:      graph.conv %x, %w {{.*}} w_zero_point = 1 : i64} :
// M55:      graph.matmul %m, %m {{.*}} accumulator = i32} :
// M55:      graph.conv %x, %t {{.*}} schedule = #graph.sums_schedule<lanes = 1, {{.*}} word = 4
// M55:      graph.matmul %m, %u {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 4, columns = 1, word = 8
// A short row of a window with few channels is copied to a patch, where that is small beside the result.
// M55:      graph.conv %p, %q {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized, patch>}
// M55:      graph.conv %r, %q {{.*}} schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>}
// Small code is for one position and two outputs, whose results a loop computes but of floats; and it has none of its own
// at borders.
// SMALL-LABEL: func.func @main
// SMALL:     graph.conv %x, %w {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 4, unroll = 1, rolled>}
// SMALL:     graph.conv %f, %fw {{.*}} schedule = #graph.sums_schedule<lanes = 1, positions = 1, columns = 2, word = 1, unroll = 1>}
func.func @main(%x: tensor<1x8x16x16xi8>, %m: tensor<6x32xi8>, %f: tensor<1x8x16x16xf32>, %y: tensor<8x8x3x3xi8>, %p: tensor<1x1x20x9xi8>, %r: tensor<1x1x11x6xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<16x8x3x3xi8>
  %k = graph.constant dense<1> : tensor<8x1x3x3xi8>
  %v = graph.constant dense<1> : tensor<32x12xi8>
  %fw = graph.constant dense<1.0> : tensor<16x8x3x3xf32>
  %g = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x8x16x16xi8>, tensor<16x8x3x3xi8>) -> tensor<1x16x16x16xi32>
  %1 = graph.conv %x, %k {group = 8 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x16x16xi8>, tensor<8x1x3x3xi8>) -> tensor<1x8x16x16xi32>
  %2 = graph.matmul %m, %v {accumulator = i32} : (tensor<6x32xi8>, tensor<32x12xi8>) -> tensor<6x12xi32>
  %3 = graph.conv %f, %fw {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x8x16x16xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x16x16xf32>
  %4 = graph.conv %x, %g {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x16x16xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x16x16xi32>
  %5 = graph.conv %x, %y {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x16x16xi8>, tensor<8x8x3x3xi8>) -> tensor<1x8x16x16xi32>
  %6 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32, w_zero_point = 1 : i64} : (tensor<1x8x16x16xi8>, tensor<16x8x3x3xi8>) -> tensor<1x16x16x16xi32>
  %7 = graph.matmul %m, %m {transpose_lhs = true, accumulator = i32} : (tensor<6x32xi8>, tensor<6x32xi8>) -> tensor<32x32xi32>
  %t = graph.constant dense<1> : tensor<6x4x3x3xi8>
  %8 = graph.conv %x, %t {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x16x16xi8>, tensor<6x4x3x3xi8>) -> tensor<1x6x16x16xi32>
  %u = graph.constant dense<1> : tensor<32x12xui8>
  %9 = graph.matmul %m, %u {accumulator = i32} : (tensor<6x32xi8>, tensor<32x12xui8>) -> tensor<6x12xi32>
  %q = graph.constant dense<1> : tensor<64x1x9x4xi8>
  %10 = graph.conv %p, %q {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 4, 1, 4, 2>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x1x20x9xi8>, tensor<64x1x9x4xi8>) -> tensor<1x64x20x9xi32>
  %11 = graph.conv %r, %q {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x1x11x6xi8>, tensor<64x1x9x4xi8>) -> tensor<1x64x3x3xi32>
  func.return
}
