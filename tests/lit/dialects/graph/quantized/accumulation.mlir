// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule' | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.conv %x, %w, %c {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x4x8xui8>, tensor<6x4x3xi8>, tensor<6xi32>) -> tensor<1x6x8xi32>
// CHECK-NEXT: graph.conv_transpose %x, %t {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32, w_zero_point = 1 : i64} : (tensor<1x4x8xui8>, tensor<4x2x3xi4>) -> tensor<1x2x17xi32>
// CHECK-NEXT: graph.matmul %a, %b {accumulator = i32, lhs_zero_point = -5 : i64, rhs_zero_point = 9 : i64} : (tensor<2x3xi16>, tensor<3x5xui8>) -> tensor<2x5xi32>
// A strategy for floats is not asked.
// NARROW-NOT: schedule =
func.func @forms(%x: tensor<1x4x8xui8>, %w: tensor<6x4x3xi8>, %c: tensor<6xi32>, %t: tensor<4x2x3xi4>, %a: tensor<2x3xi16>, %b: tensor<3x5xui8>) {
  %0 = graph.conv %x, %w, %c {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1, accumulator = i32, x_zero_point = 3} : (tensor<1x4x8xui8>, tensor<6x4x3xi8>, tensor<6xi32>) -> tensor<1x6x8xi32>
  %1 = graph.conv_transpose %x, %t {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1, accumulator = i32, w_zero_point = 1} : (tensor<1x4x8xui8>, tensor<4x2x3xi4>) -> tensor<1x2x17xi32>
  %2 = graph.matmul %a, %b {accumulator = i32, lhs_zero_point = -5, rhs_zero_point = 9} : (tensor<2x3xi16>, tensor<3x5xui8>) -> tensor<2x5xi32>
  func.return
}

// Elements are extended by their signs; the zero point leaves x alone outside of the image, where no tap is.
// LOOPS-LABEL: func.func private @conv
// LOOPS:      scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (i32)
// LOOPS-DAG:  %[[X:.*]] = arith.extui %{{.*}} : i8 to i32
// LOOPS-DAG:  arith.extsi %{{.*}} : i8 to i32
// LOOPS-DAG:  arith.subi %[[X]], %{{.*}} : i32
// LOOPS:      arith.muli
// LOOPS-NEXT: arith.addi
func.func private @conv(%x: memref<1x2x8xui8>, %w: memref<6x2x3xi8>, %out: memref<1x6x8xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8xui8> to tensor<1x2x8xui8>
  %1 = bufferization.to_tensor %w : memref<6x2x3xi8> to tensor<6x2x3xi8>
  %2 = graph.conv %0, %1 {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1, accumulator = i32, x_zero_point = 3} : (tensor<1x2x8xui8>, tensor<6x2x3xi8>) -> tensor<1x6x8xi32>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x6x8xi32>, memref<1x6x8xi32>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @matmul
// LOOPS:      scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (i32)
// LOOPS:      arith.extsi %{{.*}} : i16 to i32
// LOOPS:      %[[P:.*]] = arith.muli
// LOOPS-NEXT: arith.addi %[[SUM]], %[[P]] : i32
func.func private @matmul(%a: memref<2x3xi16>, %b: memref<3x5xi8>, %out: memref<2x5xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %a : memref<2x3xi16> to tensor<2x3xi16>
  %1 = bufferization.to_tensor %b : memref<3x5xi8> to tensor<3x5xi8>
  %2 = graph.matmul %0, %1 {accumulator = i32} : (tensor<2x3xi16>, tensor<3x5xi8>) -> tensor<2x5xi32>
  bufferization.materialize_in_destination %2 in %out : (tensor<2x5xi32>, memref<2x5xi32>) -> ()
  func.return
}
