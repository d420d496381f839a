// RUN: aotc-opt %s -p 'attach-target{target=test-m4},fix-requantization' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m0},fix-requantization' --split-input-file | filecheck %s --check-prefix=NARROW
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},fix-requantization{doubling=true}' --split-input-file | filecheck %s --check-prefix=DOUBLING

// The multiplier is exactly factor / 2^shift; sums of products with these weights are at most 5 * 128 + 100, so x may be shifted
// up, and in 32 bits few bits of factors are lost.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[F:.*]] = graph.constant dense<419430400> : tensor<i32>
// CHECK:      graph.fixed_requantize %{{.*}}, %[[F]] {axis = 1 : i64, shift = 32 : i64, most = 16777215 : i64, guard = 1 : i64, up = 7 : i64, zero_point = 3 : i64, low = 3 : i64, high = 127 : i64, to = i8} : (tensor<1x2xi32>, tensor<i32>) -> tensor<1x2xi8>
// NARROW:     graph.fixed_requantize %{{.*}} {axis = 1 : i64, shift = 32 : i64, most = 1023 : i64, guard = {{[0-9]+}} : i64, drop = 0 : i64, split = {{[0-9]+}} : i64, zero_point
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[1, -2], [4, 3]]> : tensor<2x2xi8>
  %b = graph.constant dense<[-100, 7]> : tensor<2xi32>
  %m = graph.constant dense<9.765625e-02> : tensor<f32>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32>
  %1 = graph.add %0, %b : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
  %2 = graph.requantize %1, %m {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  func.return %2 : tensor<1x2xi8>
}

// -----

// One multiplier for all is that of the channel with the greatest sums: those of the first are all rounded to 0.
// CHECK-LABEL: func.func @main
// CHECK:      graph.constant dense<{{[1-9][0-9]*}}> : tensor<i32>
// CHECK:      graph.fixed_requantize
// NARROW:     graph.fixed_requantize
func.func @main(%x: tensor<1x1xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[1, 90]]> : tensor<1x2xi8>
  %m = graph.constant dense<1.000000e-03> : tensor<f32>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x1xi8>, tensor<1x2xi8>) -> tensor<1x2xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  func.return %1 : tensor<1x2xi8>
}

// -----

// Nothing is known of an argument's range, of an unknown multiplier, or of multipliers without a common shift.
// CHECK-LABEL: func.func @main
// CHECK:      graph.requantize %x
// CHECK:      graph.requantize %{{.*}}, %m
// CHECK:      graph.requantize %{{.*}}, %{{.*}}
// CHECK-NOT:  fixed
// NARROW-NOT: fixed
func.func @main(%x: tensor<1x2xi32>, %a: tensor<1x2xi8>, %m: tensor<f32>) -> (tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>) attributes {aot.entry} {
  %k = graph.constant dense<9.765625e-02> : tensor<f32>
  %ks = graph.constant dense<[3.300000e-01, 1.100000e-05]> : tensor<2xf32>
  %w = graph.constant dense<[[100, 100], [100, 100]]> : tensor<2x2xi16>
  %v = graph.constant dense<[[100, 30000], [100, 30000]]> : tensor<2x2xi16>
  %0 = graph.requantize %x, %k {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  %1 = graph.matmul %a, %w {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>) -> tensor<1x2xi32>
  %2 = graph.requantize %1, %m {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  %3 = graph.matmul %a, %v {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>) -> tensor<1x2xi32>
  %4 = graph.requantize %3, %ks {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<2xf32>) -> tensor<1x2xi8>
  func.return %0, %2, %4 : tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>
}

// -----

// A product of two integers, less their zero points, has a range, too: 128 * 131.
// CHECK-LABEL: func.func @product
// CHECK:      graph.fixed_requantize %{{.*}}, %{{.*}} {axis = 0 : i64, shift = 36 : i64, most = {{[0-9]+}} : i64
// NARROW-LABEL: func.func @product
// NARROW:     graph.fixed_requantize %{{.*}} {axis = 0 : i64, shift = 36 : i64, most = 32767 : i64
func.func @product(%x: tensor<4xi8>, %y: tensor<4xi8>) -> tensor<4xi8> attributes {aot.entry} {
  %m = graph.constant dense<9.765625e-03> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i32>
  %a = graph.cast %x {to = i32} : (tensor<4xi8>) -> tensor<4xi32>
  %b = graph.cast %y {to = i32} : (tensor<4xi8>) -> tensor<4xi32>
  %c = graph.sub %b, %z : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  %0 = graph.mul %a, %c : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %1 = graph.requantize %0, %m {axis = 0, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<4xi32>, tensor<f32>) -> tensor<4xi8>
  func.return %1 : tensor<4xi8>
}

// -----

// TFLite's multipliers are from 2^30 to 2^31 with a shift of their own: 5 / 8 * 2^-1, 1 / 2 * 2^-30, and what is less
// than that is 0. One that is not below 1 stays exact.
// CHECK-LABEL:   func.func @doubling
// DOUBLING-LABEL: func.func @doubling
// DOUBLING-DAG:  %[[F:.*]] = graph.constant dense<[1342177280, 1073741824, 0]> : tensor<3xi32>
// DOUBLING-DAG:  %[[S:.*]] = graph.constant dense<[1, 30, 0]> : tensor<3xi32>
// DOUBLING:      graph.doubling_requantize %x, %[[F]], %[[S]] {axis = 1 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x3xi32>, tensor<3xi32>, tensor<3xi32>) -> tensor<1x3xi8>
// DOUBLING-NOT:  graph.doubling_requantize
func.func @doubling(%x: tensor<1x3xi32>) -> (tensor<1x3xi8>, tensor<1x3xi8>) attributes {aot.entry} {
  %m = graph.constant dense<[3.125000e-01, 4.65661287e-10, 2.32830644e-10]> : tensor<3xf32>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %1 = graph.requantize %x, %m {axis = 1, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x3xi32>, tensor<3xf32>) -> tensor<1x3xi8>
  %2 = graph.requantize %x, %one {axis = 1, zero_point = 3, low = -128, high = 127, to = i8} : (tensor<1x3xi32>, tensor<f32>) -> tensor<1x3xi8>
  func.return %1, %2 : tensor<1x3xi8>, tensor<1x3xi8>
}

// -----

// Two factors of run time: 2 * 131 * 128 at most. Nothing is known of what a convolution multiplies then.
// CHECK-LABEL: func.func @factors
// CHECK:      graph.fixed_requantize
// CHECK:      graph.requantize
// NARROW-LABEL: func.func @factors
// DOUBLING-LABEL: func.func @factors
// NARROW:     graph.fixed_requantize {{.*}}most = 65535 : i64
// NARROW:     graph.requantize
func.func @factors(%x: tensor<3x2xi8>, %y: tensor<2x4xi8>, %z: tensor<1x2x3xi8>, %w: tensor<2x2x1xi8>) -> (tensor<3x4xi8>, tensor<1x2x3xi8>) attributes {aot.entry} {
  %m = graph.constant dense<1.000000e-03> : tensor<f32>
  %0 = graph.matmul %x, %y {accumulator = i32, lhs_zero_point = 3 : i64} : (tensor<3x2xi8>, tensor<2x4xi8>) -> tensor<3x4xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<3x4xi32>, tensor<f32>) -> tensor<3x4xi8>
  %2 = graph.conv %z, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64, accumulator = i32} : (tensor<1x2x3xi8>, tensor<2x2x1xi8>) -> tensor<1x2x3xi32>
  %3 = graph.requantize %2, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x3xi32>, tensor<f32>) -> tensor<1x2x3xi8>
  func.return %1, %3 : tensor<3x4xi8>, tensor<1x2x3xi8>
}
