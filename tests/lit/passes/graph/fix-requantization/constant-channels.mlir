// RUN: aotc-opt %s -p 'attach-target{target=test-m4},fix-requantization,dce' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m0},fix-requantization,dce' --split-input-file | filecheck %s

// The second channel has no weights and a multiplier that nothing is common with, the third weights that are too little
// for a step: they have the first one's, and biases that are 11 and -7 by it, which their results are.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[F:.*]] = graph.constant dense<[[FACTOR:[0-9]+]]> : tensor<3xi32>
// CHECK-DAG:  %[[B:.*]] = graph.constant dense<[3, 5632, -3584]> : tensor<3xi32>
// CHECK-DAG:  %[[W:.*]] = graph.constant dense<{{\[\[\[}}90]], {{\[\[}}0]], {{\[\[}}0]]]> : tensor<3x1x1xi8>
// CHECK:      %[[C:.*]] = graph.conv %x, %[[W]], %[[B]]
// CHECK-NEXT: graph.fixed_requantize %[[C]], %[[F]]
func.func @main(%x: tensor<1x1x4xi8>) -> tensor<1x3x4xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[[90]], [[0]], [[1]]]> : tensor<3x1x1xi8>
  %b = graph.constant dense<[3, 1073741824, -700000000]> : tensor<3xi32>
  %m = graph.constant dense<[0.001953125, 1.01e-8, 1.0e-8]> : tensor<3xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x4xi8>, tensor<3x1x1xi8>, tensor<3xi32>) -> tensor<1x3x4xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x3x4xi32>, tensor<3xf32>) -> tensor<1x3x4xi8>
  func.return %1 : tensor<1x3x4xi8>
}

// -----

// All are constant, and clamped: any multiplier will do.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  graph.constant dense<[254, -256]> : tensor<2xi32>
// CHECK:      graph.fixed_requantize
func.func @main(%x: tensor<1x1x4xi8>) -> tensor<1x2x4xi8> attributes {aot.entry} {
  %w = graph.constant dense<0> : tensor<2x1x1xi8>
  %b = graph.constant dense<[1073741824, -1073741824]> : tensor<2xi32>
  %m = graph.constant dense<[3.1e-2, 1.01e-6]> : tensor<2xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x4xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x4xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x4xi32>, tensor<2xf32>) -> tensor<1x2x4xi8>
  func.return %1 : tensor<1x2x4xi8>
}

// -----

// The sums of the second channel have three results: one multiplier of many whose steps are where they were, and what
// puts them there. The third one has two results, and a multiplier with fewer bits.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[F:.*]] = graph.constant dense<[1073741824, [[MANY:[0-9]+]], [[TWO:[0-9]+]]]> : tensor<3xi32>
// CHECK-DAG:  %[[B:.*]] = graph.constant dense<[3, 200004, 1846]> : tensor<3xi32>
// CHECK-DAG:  %[[W:.*]] = graph.constant dense<{{\[\[\[}}90]], {{\[\[}}100]], {{\[\[}}1]]]> : tensor<3x1x1xi8>
// CHECK:      %[[C:.*]] = graph.conv %x, %[[W]], %[[B]]
// CHECK-NEXT: graph.fixed_requantize %[[C]], %[[F]]
func.func @main(%x: tensor<1x1x4xi8>) -> tensor<1x3x4xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[[90]], [[100]], [[1]]]> : tensor<3x1x1xi8>
  %b = graph.constant dense<[3, 200000, 1050000000]> : tensor<3xi32>
  %m = graph.constant dense<[0.5, 5.0e-5, 1.00e-8]> : tensor<3xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x4xi8>, tensor<3x1x1xi8>, tensor<3xi32>) -> tensor<1x3x4xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x3x4xi32>, tensor<3xf32>) -> tensor<1x3x4xi8>
  func.return %1 : tensor<1x3x4xi8>
}

// -----

// Another reads the sums; no multiplier has steps at the same sums; the sums may leave i32; the weights have a
// zero point; the parameters lie along another axis; several results, and no bias.
// CHECK-LABEL: func.func @main
// CHECK-COUNT-6: graph.requantize
func.func @main(%x: tensor<1x1x2xi8>) -> (tensor<1x2x2xi32>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>) attributes {aot.entry} {
  %w = graph.constant dense<[[[90]], [[0]]]> : tensor<2x1x1xi8>
  %v = graph.constant dense<[[[90]], [[1]]]> : tensor<2x1x1xi8>
  %t = graph.constant dense<[[[90]], [[100]]]> : tensor<2x1x1xi8>
  %o = graph.constant dense<[0.5, 5.0e-5]> : tensor<2xf32>
  %u = graph.constant dense<[[[1]], [[127]]]> : tensor<2x1x1xi8>
  %b = graph.constant dense<[3, 1073741824]> : tensor<2xi32>
  %c = graph.constant dense<[3, 5]> : tensor<2xi32>
  %d = graph.constant dense<[3, 2147483647]> : tensor<2xi32>
  %m = graph.constant dense<[0.001953125, 1.01e-8]> : tensor<2xf32>
  %n = graph.constant dense<[64.0, 1.01e-4]> : tensor<2xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x2xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %2 = graph.conv %x, %u, %c {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x2xi32>
  %3 = graph.requantize %2, %n {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %4 = graph.conv %x, %v, %d {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x2xi32>
  %5 = graph.requantize %4, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %6 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32, w_zero_point = 1} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x2xi32>
  %7 = graph.requantize %6, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %8 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x2xi32>
  %9 = graph.requantize %8, %m {axis = 2, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %10 = graph.conv %x, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x2xi8>, tensor<2x1x1xi8>) -> tensor<1x2x2xi32>
  %11 = graph.requantize %10, %o {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  func.return %0, %1, %3, %5, %7, %9, %11 : tensor<1x2x2xi32>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>
}

// -----

// Where multipliers have a shift in common anyway, a constant channel keeps its own, and its bias.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  graph.constant dense<[3, 5000]> : tensor<2xi32>
// CHECK:      graph.fixed_requantize
func.func @main(%x: tensor<1x1x4xi8>) -> tensor<1x2x4xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[[90]], [[0]]]> : tensor<2x1x1xi8>
  %b = graph.constant dense<[3, 5000]> : tensor<2xi32>
  %m = graph.constant dense<[0.001953125, 0.0009765625]> : tensor<2xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32} : (tensor<1x1x4xi8>, tensor<2x1x1xi8>, tensor<2xi32>) -> tensor<1x2x4xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x4xi32>, tensor<2xf32>) -> tensor<1x2x4xi8>
  func.return %1 : tensor<1x2x4xi8>
}
