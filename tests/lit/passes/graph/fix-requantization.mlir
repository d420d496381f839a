// RUN: aotc-opt %s -p fix-requantization --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'fix-requantization{long-multiply=false}' --split-input-file | filecheck %s --check-prefix=NARROW

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
