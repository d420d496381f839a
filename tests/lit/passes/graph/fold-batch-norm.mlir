// RUN: aotc-opt %s -p fold-batch-norm --split-input-file --print-debuginfo | filecheck %s

// factor = scale / sqrt(variance + epsilon) = [1, 4], offset = bias - mean * factor = [1, -8]
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[W:%.*]] = graph.constant dense<{{\[\[\[\[}}2.000000e+00]]], {{\[\[\[}}1.200000e+01]]]]> : tensor<2x1x1x1xf32>
// CHECK-NEXT:    [[B:%.*]] = graph.constant dense<[1.100000e+01, 7.200000e+01]> : tensor<2xf32>
// CHECK:         [[C:%.*]] = graph.conv %x, [[W]], {{%.*}} {{.*}} loc(fused["Conv", "BatchNorm"])
// CHECK-NEXT:    func.return [[C]]
func.func @main(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> attributes {aot.entry} {
  %w = graph.constant dense<[[[[2.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %b = graph.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %scale = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %bias = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %mean = graph.constant dense<[1.0, 3.0]> : tensor<2xf32>
  %variance = graph.constant dense<[3.0, 0.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("Conv")
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 1.0 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32> loc("BatchNorm")
  func.return %1 : tensor<1x2x4x4xf32>
}

// -----

// The convolution's result has another reader: its weights stay as they are.
// CHECK-LABEL: func.func @main
// CHECK:         [[C:%.*]] = graph.conv %x, %w {
// CHECK:         [[M:%.*]] = graph.mul [[C]], {{%.*}} : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>)
// CHECK:         [[A:%.*]] = graph.add [[M]], {{%.*}} : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>)
// CHECK-NEXT:    func.return [[A]], [[C]]
func.func @main(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[[2.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %p = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.batch_norm %0, %p, %p, %p, %p {epsilon = 0.0 : f64} : (tensor<1x2x4x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %1, %0 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// So do weights that two operations share, and weights that are dequantised at run time.
// CHECK-LABEL: func.func @main
// CHECK:         graph.matmul %x, %w
// CHECK:         graph.mul
// CHECK:         graph.matmul %y, %w
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %f = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.mul %0, %f : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = graph.matmul %y, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  func.return %1, %2 : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Through a bias: (x w + b) f + d = x (w f) + (b f + d), the weight being stored transposed.
// CHECK-LABEL: func.func @main
// CHECK:         [[W:%.*]] = graph.constant dense<{{\[\[}}2.000000e+00, 4.000000e+00], [1.200000e+01, 1.600000e+01]]>
// CHECK:         [[M:%.*]] = graph.matmul %x, [[W]] {transpose_rhs = true}
// CHECK:         [[B:%.*]] = graph.constant dense<[2.100000e+01, 8.200000e+01]> : tensor<2xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.add [[M]], [[B]]
// CHECK-NEXT:    func.return [[A]]
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x2xf32> attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = graph.constant dense<[10.0, 20.0]> : tensor<2xf32>
  %f = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %d = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w {transpose_rhs = true} : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %2 = graph.mul %1, %f : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = graph.add %2, %d : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %3 : tensor<4x2xf32>
}

// -----

// Behind a transposed convolution in two groups, each from two channels to two: input channel c has factors of its own
// group.
// CHECK-LABEL: func.func @main
// CHECK:         [[W:%.*]] = graph.constant dense<{{\[\[\[}}1.000000e+00], [2.000000e+00]], {{\[\[}}1.000000e+00], [2.000000e+00]], {{\[\[}}3.000000e+00], [4.000000e+00]], {{\[\[}}3.000000e+00], [4.000000e+00]]]> : tensor<4x2x1xf32>
// CHECK:         graph.conv_transpose %x, [[W]]
func.func @main(%x: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<4x2x1xf32>
  %f = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64, output_padding = array<i64: 0>} : (tensor<1x4x4xf32>, tensor<4x2x1xf32>) -> tensor<1x4x4xf32>
  %1 = graph.mul %0, %f : (tensor<1x4x4xf32>, tensor<4x1xf32>) -> tensor<1x4x4xf32>
  func.return %1 : tensor<1x4x4xf32>
}

// -----

// Behind one group, input channels share the factors.
// CHECK-LABEL: func.func @main
// CHECK:         [[W:%.*]] = graph.constant dense<{{\[\[\[}}1.000000e+00], [2.000000e+00]], {{\[\[}}1.000000e+00], [2.000000e+00]]]> : tensor<2x2x1xf32>
// CHECK:         graph.conv_transpose %x, [[W]]
func.func @main(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<2x2x1xf32>
  %f = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>} : (tensor<1x2x4xf32>, tensor<2x2x1xf32>) -> tensor<1x2x4xf32>
  %1 = graph.mul %0, %f : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  func.return %1 : tensor<1x2x4xf32>
}

// -----

// Factors that differ along another axis than the channels', or make the result larger, and such of integers stay.
// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = graph.matmul %x, %w
// CHECK-NEXT:    graph.mul [[A]], %rows
// CHECK:         [[B:%.*]] = graph.matmul %x, %v
// CHECK-NEXT:    graph.mul [[B]], %one
// CHECK:         [[C:%.*]] = graph.matmul %i, %u
// CHECK-NEXT:    graph.mul [[C]], %n
func.func @main(%x: tensor<4x2xf32>, %i: tensor<4x2xi8>) -> (tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<4x2xi8>) attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %u = graph.constant dense<[[100, 2], [3, 4]]> : tensor<2x2xi8>
  %rows = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %one = graph.constant dense<3.0> : tensor<1x1x1xf32>
  %n = graph.constant dense<[3, 5]> : tensor<2xi8>
  %0 = graph.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.mul %0, %rows : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %2 = graph.matmul %x, %v : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %3 = graph.mul %2, %one : (tensor<4x2xf32>, tensor<1x1x1xf32>) -> tensor<1x4x2xf32>
  %4 = graph.matmul %i, %u : (tensor<4x2xi8>, tensor<2x2xi8>) -> tensor<4x2xi8>
  %5 = graph.mul %4, %n : (tensor<4x2xi8>, tensor<2xi8>) -> tensor<4x2xi8>
  func.return %1, %3, %5 : tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<4x2xi8>
}

// -----

// A bias that is not constant: neither a factor nor an offset goes before it.
// CHECK-LABEL: func.func @main
// CHECK:         [[A:%.*]] = graph.conv %x, %w, %b
// CHECK-NEXT:    graph.mul [[A]], %f
// CHECK:         [[B:%.*]] = graph.conv %x, %v, %b
// CHECK-NEXT:    graph.add [[B]], %f
func.func @main(%x: tensor<1x1x4xf32>, %b: tensor<2xf32>) -> (tensor<1x2x4xf32>, tensor<1x2x4xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %v = graph.constant dense<[[[4.0]], [[5.0]]]> : tensor<2x1x1xf32>
  %f = graph.constant dense<[[2.0], [4.0]]> : tensor<2x1xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  %1 = graph.mul %0, %f : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  %2 = graph.conv %x, %v, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  %3 = graph.add %2, %f : (tensor<1x2x4xf32>, tensor<2x1xf32>) -> tensor<1x2x4xf32>
  func.return %1, %3 : tensor<1x2x4xf32>, tensor<1x2x4xf32>
}

// -----

// Constants come together: of vectors, not single numbers, which are there to round, nor of a column and a row.
// CHECK-LABEL: func.func @main
// CHECK:         [[S:%.*]] = graph.constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.add %x, [[S]]
// CHECK-NEXT:    [[B:%.*]] = graph.add %x, %big
// CHECK-NEXT:    [[C:%.*]] = graph.add [[B]], %less
// CHECK-NEXT:    [[D:%.*]] = graph.add %x, %column
// CHECK-NEXT:    [[E:%.*]] = graph.add [[D]], %row
// CHECK-NEXT:    func.return [[A]], [[C]], [[E]]
func.func @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) attributes {aot.entry} {
  %one = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %other = graph.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %big = graph.constant dense<1.0e8> : tensor<f32>
  %less = graph.constant dense<-1.0e8> : tensor<f32>
  %column = graph.constant dense<[[1.0], [2.0], [3.0]]> : tensor<3x1xf32>
  %row = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.add %x, %one : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %1 = graph.add %0, %other : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %2 = graph.add %x, %big : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %3 = graph.add %2, %less : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x2xf32>
  %4 = graph.add %x, %column : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %5 = graph.add %4, %row : (tensor<3x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  func.return %1, %3, %5 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// A sum with more elements than either of its constants would be stored: the factor stays behind it. So does one that
// the sum's other side makes larger.
// CHECK-LABEL: func.func @main
// CHECK:         [[M:%.*]] = graph.matmul %x, %w
// CHECK-NEXT:    [[A:%.*]] = graph.add [[M]], %column
// CHECK-NEXT:    graph.mul [[A]], %row
// CHECK:         [[N:%.*]] = graph.matmul %y, %v
// CHECK-NEXT:    [[B:%.*]] = graph.add [[N]], %rows
// CHECK-NEXT:    graph.mul [[B]], %row
func.func @main(%x: tensor<4x2xf32>, %y: tensor<1x2xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>) attributes {aot.entry} {
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %v = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %column = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %rows = graph.constant dense<[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 4.0]]> : tensor<4x2xf32>
  %row = graph.constant dense<[3.0, 5.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w : (tensor<4x2xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = graph.add %0, %column : (tensor<4x2xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %2 = graph.mul %1, %row : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  %3 = graph.matmul %y, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %4 = graph.add %3, %rows : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %5 = graph.mul %4, %row : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  func.return %2, %5 : tensor<4x2xf32>, tensor<4x2xf32>
}

// -----

// Parameters that are not constant: the normalisation stays.
// CHECK-LABEL: func.func @main
// CHECK:         graph.batch_norm
func.func @main(%x: tensor<1x2x4xf32>, %p: tensor<2xf32>) -> tensor<1x2x4xf32> attributes {aot.entry} {
  %c = graph.constant dense<[2.0, 4.0]> : tensor<2xf32>
  %0 = graph.batch_norm %x, %c, %c, %p, %c {epsilon = 0.0 : f64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}
