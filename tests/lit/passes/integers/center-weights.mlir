// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},center-weights,cse' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},center-weights,cse' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},center-weights,cse' | filecheck %s --check-prefix KEPT
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},center-weights,cse' | filecheck %s --check-prefix LANES
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},center-weights,cse' | filecheck %s --check-prefix QUADS

// Without vectors, and those of Helium are some, weights are multiplied as they are.
// KEPT-NOT: graph.add

// Weights of some channels leave i8: the middle of each is taken off them, and multiplied with what all of them see.
// CHECK-LABEL: func.func @conv
// CHECK-DAG:   [[ONES:%.*]] = graph.constant dense<1> : tensor<1x1x1x2xi8>
// CHECK-DAG:   [[MIDDLES:%.*]] = graph.constant dense<{{\[\[\[}}78{{\]\], \[\[}}0{{\]\], \[\[}}-128{{\]\]\]}}> : tensor<3x1x1xi32>
// CHECK-DAG:   [[W:%.*]] = graph.constant dense<{{.*}}-128, 127{{.*}}-128, 127{{.*}}-127, 127{{.*}}> : tensor<3x1x1x2xi8>
// CHECK:       [[SUMS:%.*]] = graph.conv %x, [[ONES]] {{{.*}}pads = array<i64: 0, 1, 0, 0>{{.*}}x_zero_point = 9 : i64} : (tensor<1x1x4x4xui8>, tensor<1x1x1x2xi8>) -> tensor<1x1x4x4xi32>
// CHECK-NEXT:  [[MORE:%.*]] = graph.mul [[SUMS]], [[MIDDLES]] {{.*}} -> tensor<1x3x4x4xi32>
// CHECK-NEXT:  [[CONV:%.*]] = graph.conv %x, [[W]], %b {{.*}} -> tensor<1x3x4x4xi32>
// CHECK-NEXT:  [[ALL:%.*]] = graph.add [[CONV]], [[MORE]]
// CHECK-NEXT:  func.return [[ALL]]
func.func @conv(%x: tensor<1x1x4x4xui8>, %b: tensor<3xi32>) -> (tensor<1x3x4x4xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[[-50, 205]]], [[[-128, 127]]], [[[-255, -1]]]]> : tensor<3x1x1x2xi16>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 9 : i64} : (tensor<1x1x4x4xui8>, tensor<3x1x1x2xi16>, tensor<3xi32>) -> tensor<1x3x4x4xi32>
  func.return %0 : tensor<1x3x4x4xi32>
}

// Of several groups each channel has sums of its own.
// CHECK-LABEL: func.func @groups
// CHECK:       graph.constant dense<1> : tensor<2x1x1x2xi8>
// CHECK:       graph.conv {{.*}}group = 2{{.*}} -> tensor<1x2x4x3xi32>
// CHECK:       graph.conv {{.*}}group = 2{{.*}} -> tensor<1x2x4x3xi32>
func.func @groups(%x: tensor<1x2x4x4xi8>) -> (tensor<1x2x4x3xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[[0, 255]]], [[[1, 3]]]]> : tensor<2x1x1x2xui8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 2 : i64, accumulator = i32} : (tensor<1x2x4x4xi8>, tensor<2x1x1x2xui8>) -> tensor<1x2x4x3xi32>
  func.return %0 : tensor<1x2x4x3xi32>
}

// Weights that fit i8 less their zero point need nothing else; the operand's zero point stays.
// CHECK-LABEL: func.func @fits
// CHECK:       [[V:%.*]] = graph.constant dense<{{\[\[}}-128, 127], [3, 4]]> : tensor<2x2xi8>
// CHECK-NEXT:  [[PRODUCT:%.*]] = graph.matmul %x, [[V]] {transpose_rhs = true, accumulator = i32, lhs_zero_point = 7 : i64}
// CHECK-NEXT:  func.return [[PRODUCT]]
func.func @fits(%x: tensor<2x2xui8>) -> (tensor<2x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[0, 255], [131, 132]]> : tensor<2x2xui8>
  %0 = graph.matmul %x, %w {transpose_rhs = true, accumulator = i32, lhs_zero_point = 7 : i64, rhs_zero_point = 128 : i64} : (tensor<2x2xui8>, tensor<2x2xui8>) -> tensor<2x2xi32>
  func.return %0 : tensor<2x2xi32>
}

// Columns of a product.
// CHECK-LABEL: func.func @columns
// CHECK:       graph.constant dense<1> : tensor<2x1xi8>
// CHECK:       graph.matmul {{.*}} : (tensor<3x2xui8>, tensor<2x1xi8>) -> tensor<3x1xi32>
func.func @columns(%x: tensor<3x2xui8>) -> (tensor<3x4xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[0, 255, 3, 4], [255, 0, 5, 9]]> : tensor<2x4xui8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<3x2xui8>, tensor<2x4xui8>) -> tensor<3x4xi32>
  func.return %0 : tensor<3x4xi32>
}

// Rows of a transposed one. Those that fit i8 to its ends have no middle.
// CHECK-LABEL: func.func @rows
// CHECK-DAG:   graph.constant dense<1> : tensor<1x2xi8>
// CHECK-DAG:   graph.constant dense<[128, 0, 0]> : tensor<3xi32>
// CHECK:       graph.matmul {{.*}}transpose_rhs = true{{.*}} : (tensor<3x2xui8>, tensor<1x2xi8>) -> tensor<3x1xi32>
func.func @rows(%x: tensor<3x2xui8>) -> (tensor<3x3xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[0, 255], [1, 127], [-128, 2]]> : tensor<3x2xi16>
  %0 = graph.matmul %x, %w {transpose_rhs = true, accumulator = i32} : (tensor<3x2xui8>, tensor<3x2xi16>) -> tensor<3x3xi32>
  func.return %0 : tensor<3x3xi32>
}

// As they are: weights that span more than 255, that nobody knows, and those multiplied with 16 bits.
// CHECK-LABEL: func.func @kept
// CHECK:       graph.matmul %x, %{{.*}} : (tensor<2x2xui8>, tensor<2x2xi16>)
// CHECK-NEXT:  graph.matmul %x, %u {{.*}} : (tensor<2x2xui8>, tensor<2x2xui8>)
// CHECK-NEXT:  graph.matmul %y, %{{.*}} : (tensor<2x2xi16>, tensor<2x2xui8>)
// CHECK-NEXT:  func.return
func.func @kept(%x: tensor<2x2xui8>, %y: tensor<2x2xi16>, %u: tensor<2x2xui8>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[0, -1], [256, 0]]> : tensor<2x2xi16>
  %v = graph.constant dense<[[0, 1], [255, 0]]> : tensor<2x2xui8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x2xui8>, tensor<2x2xi16>) -> tensor<2x2xi32>
  %1 = graph.matmul %x, %u {accumulator = i32} : (tensor<2x2xui8>, tensor<2x2xui8>) -> tensor<2x2xi32>
  %2 = graph.matmul %y, %v {accumulator = i32} : (tensor<2x2xi16>, tensor<2x2xui8>) -> tensor<2x2xi32>
  func.return %0, %1, %2 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>
}

// Nor are those of several products at once shifted, of none, or of a transposed convolution.
// CHECK-LABEL: func.func @more
// CHECK:       graph.matmul %x, %w {accumulator = i32} : (tensor<2x1x2xui8>, tensor<2x2x1xui8>)
// CHECK-NEXT:  graph.matmul %e, %n {transpose_rhs = true, accumulator = i32} : (tensor<2x0xui8>, tensor<2x0xui8>)
// CHECK-NEXT:  graph.conv_transpose %y, %t {{.*}} : (tensor<1x1x5xui8>, tensor<1x1x2xui8>)
// CHECK-NEXT:  func.return
func.func @more(%x: tensor<2x1x2xui8>, %e: tensor<2x0xui8>, %y: tensor<1x1x5xui8>) -> (tensor<2x1x1xi32>, tensor<2x2xi32>, tensor<1x1x6xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[0], [255]], [[1], [2]]]> : tensor<2x2x1xui8>
  %n = graph.constant dense<[[], []]> : tensor<2x0xui8>
  %t = graph.constant dense<[[[0, 255]]]> : tensor<1x1x2xui8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x1x2xui8>, tensor<2x2x1xui8>) -> tensor<2x1x1xi32>
  %1 = graph.matmul %e, %n {transpose_rhs = true, accumulator = i32} : (tensor<2x0xui8>, tensor<2x0xui8>) -> tensor<2x2xi32>
  %2 = graph.conv_transpose %y, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xui8>, tensor<1x1x2xui8>) -> tensor<1x1x6xi32>
  func.return %0, %1, %2 : tensor<2x1x1xi32>, tensor<2x2xi32>, tensor<1x1x6xi32>
}

// A zero point is taken off weights of i8, too; without one they are as kernels take them. So are those of four bits
// where Helium's kernels multiply them.
// CHECK-LABEL: func.func @point
// CHECK:       [[V:%.*]] = graph.constant dense<{{.*}}-2, -1], [0, 1]]> : tensor<2x2xi8>
// CHECK-NEXT:  graph.matmul %x, [[V]] {accumulator = i32}
// CHECK-NEXT:  graph.matmul %x, %w {accumulator = i32}
// LANES-LABEL: func.func @point
// LANES:       graph.constant dense<{{.*}}1, -2], [3, -4]]> : tensor<2x2xi8>
// QUADS-LABEL: func.func @point
// QUADS:       graph.matmul %x, %n {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi4>)
func.func @point(%x: tensor<2x2xi8>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %n = graph.constant dense<[[1, -2], [3, -4]]> : tensor<2x2xi4>
  %0 = graph.matmul %x, %w {accumulator = i32, rhs_zero_point = 3 : i64} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %1 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %2 = graph.matmul %x, %n {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi4>) -> tensor<2x2xi32>
  func.return %0, %1, %2 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>
}
