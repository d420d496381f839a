// RUN: aotc-opt %s -p fold-channels --split-input-file | filecheck %s

// A relu of what is never positive: of 8 channels 4 are -128, the zero point of the next sum. They go, and so do the
// multipliers; bytes of the weights that are left are those of the other channels.
// CHECK:      builtin.module attributes {aot.folded_channels = [{node = "First", channels = 4 : i64, of = 8 : i64}]} {
// CHECK-LABEL: func.func @main
// CHECK-DAG:     graph.constant dense<[5, 6, 7, 8]> : tensor<4xi32>
// CHECK-DAG:     graph.constant dense<{{\[\[\[\[}}2]], {{\[\[}}4]], {{\[\[}}6]], {{\[\[}}8]]]]> : tensor<1x4x1x1xi8>
// CHECK:         graph.conv %x, {{.*}} : (tensor<1x1x2x2xi8>, tensor<4x1x1x1xi8>, tensor<4xi32>) -> tensor<1x4x2x2xi32>
// CHECK-NEXT:    graph.requantize {{.*}} : (tensor<1x4x2x2xi32>, tensor<4xf32>) -> tensor<1x4x2x2xi8>
// CHECK-NEXT:    graph.conv {{.*}} : (tensor<1x4x2x2xi8>, tensor<1x4x1x1xi8>, tensor<1xi32>) -> tensor<1x1x2x2xi32>
func.func @main(%x: tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x1x1xi8>
  %b = graph.constant dense<[-200, 5, -200, 6, -200, 7, -200, 8]> : tensor<8xi32>
  %m = graph.constant dense<[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]> : tensor<8xf32>
  %v = graph.constant dense<[[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]]> : tensor<1x8x1x1xi8>
  %c = graph.constant dense<3> : tensor<1xi32>
  %0 = graph.conv %x, %w, %b {accumulator = i32, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x2x2xi8>, tensor<8x1x1x1xi8>, tensor<8xi32>) -> tensor<1x8x2x2xi32> loc("First")
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x2x2xi32>, tensor<8xf32>) -> tensor<1x8x2x2xi8>
  %2 = graph.conv %1, %v, %c {accumulator = i32, x_zero_point = -128 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x8x2x2xi8>, tensor<1x8x1x1xi8>, tensor<1xi32>) -> tensor<1x1x2x2xi32>
  func.return %2 : tensor<1x1x2x2xi32>
}

// -----

// Constants that are 28 from the zero point are in the bias: 3 + 28 * (1 + 3 + 5 + 7).
// CHECK-LABEL: func.func @main
// CHECK:         graph.constant dense<451> : tensor<1xi32>
// CHECK:         -> tensor<1x4x2x2xi8>
func.func @main(%x: tensor<1x1x2x2xi8>) -> tensor<1x1x2x2xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x1x1xi8>
  %b = graph.constant dense<[-200, 5, -200, 6, -200, 7, -200, 8]> : tensor<8xi32>
  %m = graph.constant dense<1.0> : tensor<f32>
  %v = graph.constant dense<[[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]]> : tensor<1x8x1x1xi8>
  %c = graph.constant dense<3> : tensor<1xi32>
  %0 = graph.conv %x, %w, %b {accumulator = i32, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x2x2xi8>, tensor<8x1x1x1xi8>, tensor<8xi32>) -> tensor<1x8x2x2xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = -100 : i64, low = -100 : i64, high = 127 : i64, to = i8} : (tensor<1x8x2x2xi32>, tensor<f32>) -> tensor<1x8x2x2xi8>
  %2 = graph.conv %1, %v, %c {accumulator = i32, x_zero_point = -128 : i64, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x8x2x2xi8>, tensor<1x8x1x1xi8>, tensor<1xi32>) -> tensor<1x1x2x2xi32>
  func.return %2 : tensor<1x1x2x2xi32>
}

// -----

// With padding, which is the zero point, a constant that is another one is not the same everywhere: nothing changes.
// CHECK-LABEL: func.func @main
// CHECK:         -> tensor<1x8x2x2xi8>
func.func @main(%x: tensor<1x1x2x2xi8>) -> tensor<1x1x4x4xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x1x1xi8>
  %b = graph.constant dense<[-200, 5, -200, 6, -200, 7, -200, 8]> : tensor<8xi32>
  %m = graph.constant dense<1.0> : tensor<f32>
  %v = graph.constant dense<[[[[1]], [[2]], [[3]], [[4]], [[5]], [[6]], [[7]], [[8]]]]> : tensor<1x8x1x1xi8>
  %0 = graph.conv %x, %w, %b {accumulator = i32, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x2x2xi8>, tensor<8x1x1x1xi8>, tensor<8xi32>) -> tensor<1x8x2x2xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = -100 : i64, low = -100 : i64, high = 127 : i64, to = i8} : (tensor<1x8x2x2xi32>, tensor<f32>) -> tensor<1x8x2x2xi8>
  %2 = graph.conv %1, %v {accumulator = i32, x_zero_point = -128 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x8x2x2xi8>, tensor<1x8x1x1xi8>) -> tensor<1x1x4x4xi32>
  func.return %2 : tensor<1x1x4x4xi32>
}

// -----

// A result has all channels, and so has what an operation reads that says nothing of them.
// CHECK-LABEL: func.func @main
// CHECK:         -> tensor<1x8x2x2xi8>
// CHECK-NEXT:    graph.transpose
func.func @main(%x: tensor<1x1x2x2xi8>) -> tensor<1x2x2x8xi8> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x1x1x1xi8>
  %b = graph.constant dense<[-200, 5, -200, 6, -200, 7, -200, 8]> : tensor<8xi32>
  %m = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.conv %x, %w, %b {accumulator = i32, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x2x2xi8>, tensor<8x1x1x1xi8>, tensor<8xi32>) -> tensor<1x8x2x2xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = -128 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8x2x2xi32>, tensor<f32>) -> tensor<1x8x2x2xi8>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x2x2xi8>) -> tensor<1x2x2x8xi8>
  func.return %2 : tensor<1x2x2x8xi8>
}

// -----

// Weights of none but zero points read nothing: 4 columns of the first product go, and so do the rows of the second.
// CHECK-LABEL: func.func @main
// CHECK:         graph.matmul %x, {{.*}} -> tensor<1x4xi32>
// CHECK:         graph.matmul {{.*}} : (tensor<1x4xi8>, tensor<4x1xi8>) -> tensor<1x1xi32>
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x1xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<2x8xi8>
  %m = graph.constant dense<1.0> : tensor<f32>
  %v = graph.constant dense<[[1], [2], [2], [3], [2], [4], [2], [5]]> : tensor<8x1xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x2xi8>, tensor<2x8xi8>) -> tensor<1x8xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8xi32>, tensor<f32>) -> tensor<1x8xi8>
  %2 = graph.matmul %1, %v {accumulator = i32, rhs_zero_point = 2 : i64} : (tensor<1x8xi8>, tensor<8x1xi8>) -> tensor<1x1xi32>
  func.return %2 : tensor<1x1xi32>
}

// -----

// Sums that leave i32 wrap around: 2^31 - 1 and more is any number.
// CHECK-LABEL: func.func @main
// CHECK:         -> tensor<1x8xi8>
func.func @main(%x: tensor<1x1xi8>) -> tensor<1x1xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<1x8xi8>
  %b = graph.constant dense<2147483647> : tensor<8xi32>
  %m = graph.constant dense<1.0> : tensor<f32>
  %v = graph.constant dense<1> : tensor<8x1xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x1xi8>, tensor<1x8xi8>) -> tensor<1x8xi32>
  %a = graph.add %0, %b : (tensor<1x8xi32>, tensor<8xi32>) -> tensor<1x8xi32>
  %1 = graph.requantize %a, %m {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x8xi32>, tensor<f32>) -> tensor<1x8xi8>
  %2 = graph.matmul %1, %v {accumulator = i32} : (tensor<1x8xi8>, tensor<8x1xi8>) -> tensor<1x1xi32>
  func.return %2 : tensor<1x1xi32>
}

// -----

// Of floats nothing is known.
// CHECK-LABEL: func.func @main
// CHECK:         -> tensor<1x8xf32>
func.func @main(%x: tensor<1x2xf32>) -> tensor<1x1xf32> attributes {aot.entry} {
  %w = graph.constant dense<0.0> : tensor<2x8xf32>
  %v = graph.constant dense<1.0> : tensor<8x1xf32>
  %0 = graph.matmul %x, %w : (tensor<1x2xf32>, tensor<2x8xf32>) -> tensor<1x8xf32>
  %1 = graph.matmul %0, %v : (tensor<1x8xf32>, tensor<8x1xf32>) -> tensor<1x1xf32>
  func.return %1 : tensor<1x1xf32>
}
