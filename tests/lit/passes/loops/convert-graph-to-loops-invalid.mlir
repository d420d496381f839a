// RUN: not aotc-opt %s --split-input-file -p bufferize,convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: more than one anchor: graph.softmax, graph.softmax
func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.kernel} {
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.softmax %0 {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}

// -----

// CHECK: kernel @k: a constant of several values must be an argument of the kernel
func.func private @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {aot.kernel} {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// CHECK: kernel @k: the epilogue's shape (1, 4, 4) is not the anchor's (4, 4)
func.func private @k(%x: tensor<4x4xf32>, %y: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> attributes {aot.kernel} {
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.add %0, %y : (tensor<4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  func.return %1 : tensor<1x4x4xf32>
}

// -----

// CHECK: kernel @k: an epilogue operation reads the anchor's result at another index
func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.kernel} {
  %0 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.relu %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}

// -----

// CHECK: kernel @two: a result depends on two results of the anchor
func.func private @two(%x: tensor<2x1x4xf32>, %w: tensor<4x4xf32>, %h: tensor<1x4xf32>) -> tensor<2x1x4xf32> attributes {aot.kernel} {
  %y, %n, %s0, %s1 = graph.rnn %x, %w, %h {activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<2x1x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> (tensor<2x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  %0 = graph.add %y, %n : (tensor<2x1x4xf32>, tensor<1x4xf32>) -> tensor<2x1x4xf32>
  func.return %0 : tensor<2x1x4xf32>
}
