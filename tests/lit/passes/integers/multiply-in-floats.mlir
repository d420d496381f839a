// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},multiply-in-floats' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},multiply-in-floats' | filecheck %s --check-prefix KEPT

// Cores without vectors multiply integers as fast.
// KEPT-NOT: graph.cast

// Zero points are taken off before; one that is 0 takes nothing.
// CHECK-LABEL: func.func @batch
// CHECK:       [[X:%.*]] = graph.cast %x {to = f32} : (tensor<3x8x64xui8>) -> tensor<3x8x64xf32>
// CHECK-NEXT:  [[Z:%.*]] = graph.constant dense<7.000000e+00> : tensor<f32>
// CHECK-NEXT:  [[S:%.*]] = graph.sub [[X]], [[Z]]
// CHECK-NEXT:  [[Y:%.*]] = graph.cast %y {to = f32} : (tensor<3x9x64xi8>) -> tensor<3x9x64xf32>
// CHECK-NEXT:  [[P:%.*]] = graph.matmul [[S]], [[Y]] {transpose_rhs = true} : {{.*}} -> tensor<3x8x9xf32>
// CHECK-NEXT:  [[I:%.*]] = graph.cast [[P]] {to = i32}
// CHECK-NEXT:  func.return [[I]]
func.func @batch(%x: tensor<3x8x64xui8>, %y: tensor<3x9x64xi8>) -> (tensor<3x8x9xi32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %y {transpose_rhs = true, accumulator = i32, lhs_zero_point = 7 : i64} : (tensor<3x8x64xui8>, tensor<3x9x64xi8>) -> tensor<3x8x9xi32>
  func.return %0 : tensor<3x8x9xi32>
}

// 1024 * 128 * 128 is 2^24, the last sum that is exact; one more term, or a zero point that widens a factor, is not.
// CHECK-LABEL: func.func @last
// CHECK:       graph.matmul {{.*}} : (tensor<1x1024xf32>, tensor<1024x1xf32>)
// CHECK:       graph.matmul %a, %b {accumulator = i32}
// CHECK-NEXT:  graph.matmul %x, %y {accumulator = i32, rhs_zero_point = 1 : i64}
func.func @last(%x: tensor<1x1024xi8>, %y: tensor<1024x1xi8>, %a: tensor<1x1025xi8>, %b: tensor<1025x1xi8>) -> (tensor<1x1xi32>, tensor<1x1xi32>, tensor<1x1xi32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %y {accumulator = i32} : (tensor<1x1024xi8>, tensor<1024x1xi8>) -> tensor<1x1xi32>
  %1 = graph.matmul %a, %b {accumulator = i32} : (tensor<1x1025xi8>, tensor<1025x1xi8>) -> tensor<1x1xi32>
  %2 = graph.matmul %x, %y {accumulator = i32, rhs_zero_point = 1 : i64} : (tensor<1x1024xi8>, tensor<1024x1xi8>) -> tensor<1x1xi32>
  func.return %0, %1, %2 : tensor<1x1xi32>, tensor<1x1xi32>, tensor<1x1xi32>
}

// A constant factor is packed for dot products of bytes.
// CHECK-LABEL: func.func @weight
// CHECK-NOT:   graph.cast
// CHECK:       func.return
func.func @weight(%x: tensor<2x2xi8>) -> (tensor<2x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<2x2xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  func.return %0 : tensor<2x2xi32>
}

// Nor are convolutions products of matrices.
// CHECK-LABEL: func.func @conv
// CHECK-NOT:   graph.cast
// CHECK:       func.return
func.func @conv(%x: tensor<1x2x4x4xi8>, %y: tensor<2x2x1x1xi8>) -> (tensor<1x2x4x4xi32>) attributes {aot.entry} {
  %0 = graph.conv %x, %y {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x2x4x4xi8>, tensor<2x2x1x1xi8>) -> tensor<1x2x4x4xi32>
  func.return %0 : tensor<1x2x4x4xi32>
}
