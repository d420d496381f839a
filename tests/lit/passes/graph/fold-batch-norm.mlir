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
