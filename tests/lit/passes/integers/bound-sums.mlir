// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},bound-sums' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},bound-sums' | filecheck %s --check-prefix NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},bound-sums' | filecheck %s --check-prefix NONE

// Without an instruction for pairs of 16 bits nobody asks.
// NONE-NOT: sum_bits

// Two weights of 50: elements of -128 to 127 less a zero point of 0 make sums of up to 128 * 100 in magnitude: 14 bits and
// a sign. Less -128 they are 0 to 255, and elements without sign less 255 are -255 to 0: 255 * 100.
// CHECK-LABEL: func.func @signs
// CHECK:       graph.conv %x, %{{.*}}sum_bits = 15 : i64
// CHECK-NEXT:  graph.conv %x, %{{.*}}x_zero_point = -128 : i64, {{.*}}sum_bits = 16 : i64
// CHECK-NEXT:  graph.conv %u, %{{.*}}x_zero_point = 255 : i64, {{.*}}sum_bits = 16 : i64
// Weights of both signs: 50 * 127 + 50 * 128 at most with a zero point of 0, 255 * 50 with one at the end of the range.
// CHECK-NEXT:  graph.conv %x, %both {{.*}}sum_bits = 15 : i64
// CHECK-NEXT:  graph.conv %x, %both {{.*}}x_zero_point = -128 : i64, {{.*}}sum_bits = 15 : i64
// Weights less a zero point of -64; a weight that is not constant; no product of matrices.
// CHECK-NEXT:  graph.conv %x, %both {{.*}}w_zero_point = -64 : i64, {{.*}}sum_bits = 16 : i64
// CHECK-NEXT:  graph.conv %x, %w {
// CHECK-NEXT:  graph.matmul %m, %{{.*}} {accumulator = i32}
func.func @signs(%x: tensor<1x2x8x8xi8>, %u: tensor<1x2x8x8xui8>, %w: tensor<1x2x1x1xi8>, %m: tensor<2x2xi8>) attributes {aot.entry} {
  %0 = graph.constant dense<50> : tensor<1x2x1x1xi8>
  %square = graph.constant dense<1> : tensor<2x2xi8>
  %both = graph.constant dense<[[[[50]], [[-50]]]]> : tensor<1x2x1x1xi8>
  %1 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, x_zero_point = -128 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %3 = graph.conv %u, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, x_zero_point = 255 : i64, accumulator = i32} : (tensor<1x2x8x8xui8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %4 = graph.conv %x, %both {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %5 = graph.conv %x, %both {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, x_zero_point = -128 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %6 = graph.conv %x, %both {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, w_zero_point = -64 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %7 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x2x8x8xi8>, tensor<1x2x1x1xi8>) -> tensor<1x1x8x8xi32>
  %8 = graph.matmul %m, %square {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  func.return
}
