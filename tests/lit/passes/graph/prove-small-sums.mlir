// RUN: aotc-opt %s -p prove-small-sums | filecheck %s

// Sums of products are bounded by their weights, terms of sums by what they are rescaled from.
// CHECK-LABEL: func.func @sums
// CHECK:       graph.doubling_requantize {{.*}}small
// CHECK:       [[A:%.*]] = graph.doubling_requantize {{.*}}small
// CHECK:       [[S:%.*]] = graph.add [[A]], [[A]]
// CHECK-NEXT:  graph.doubling_requantize [[S]], {{.*}}small
func.func @sums(%x: tensor<1x4xi8>) -> (tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %f = graph.constant dense<1073741824> : tensor<i32>
  %s = graph.constant dense<30> : tensor<i32>
  %up = graph.constant dense<1048576> : tensor<i32>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi32>
  %1 = graph.doubling_requantize %0, %f, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %2 = graph.cast %x {to = i32} : (tensor<1x4xi8>) -> tensor<1x4xi32>
  %3 = graph.mul %2, %up : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %4 = graph.doubling_requantize %3, %f, %s {axis = 0 : i64, zero_point = 0 : i64, low = -2147483648 : i64, high = 2147483647 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %5 = graph.add %4, %4 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %6 = graph.doubling_requantize %5, %f, %s {axis = 0 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %1, %6 : tensor<1x4xi8>, tensor<1x4xi8>
}

// Nothing is known of a sum, it is too great with a bias, or half a unit of a shift is; of shifts that are computed nothing is known.
// CHECK-LABEL: func.func @large
// CHECK-NOT:   small
// CHECK:       func.return
func.func @large(%x: tensor<1x4xi8>, %y: tensor<1x4xi32>, %t: tensor<i32>) -> (tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %f = graph.constant dense<1073741824> : tensor<i32>
  %s = graph.constant dense<3> : tensor<i32>
  %most = graph.constant dense<31> : tensor<i32>
  %b = graph.constant dense<1073741312> : tensor<1x4xi32>
  %0 = graph.doubling_requantize %y, %f, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %1 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi32>
  %2 = graph.add %1, %b : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %3 = graph.doubling_requantize %2, %f, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %4 = graph.doubling_requantize %1, %f, %most {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %5 = graph.doubling_requantize %1, %f, %t {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %0, %3, %4, %5 : tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// Terms that are narrow are none that are rescaled to i32.
// CHECK-LABEL: func.func @clamped
// CHECK:       graph.doubling_requantize {{.*}}high = 9 : i64, to = i32
// CHECK-NOT:   small
// CHECK:       func.return
func.func @clamped(%y: tensor<1x4xi32>) -> tensor<1x4xi8> attributes {aot.entry} {
  %f = graph.constant dense<1073741824> : tensor<i32>
  %s = graph.constant dense<3> : tensor<i32>
  %0 = graph.doubling_requantize %y, %f, %s {axis = 0 : i64, zero_point = 0 : i64, low = -9 : i64, high = 9 : i64, to = i32} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %1 = graph.add %0, %0 : (tensor<1x4xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %2 = graph.doubling_requantize %1, %f, %s {axis = 0 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  func.return %2 : tensor<1x4xi8>
}
