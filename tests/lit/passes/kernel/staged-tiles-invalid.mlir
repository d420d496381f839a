// RUN: aotc-opt %s --split-input-file -p outline-kernels,bufferize,convert-graph-to-loops --verify-diagnostics | filecheck %s

// Which tiles there are, and what they need, kernel strategies know: they are asked where loops are written.

// CHECK: graph.staged: graph.softmax cannot be computed in tiles [4, 2]
func.func @across(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {aot.entry} {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>) attributes {tile = array<i64: 4, 2>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}

// -----

// CHECK: graph.staged: tiles need a scratch buffer tensor<2x8xf32>, found tensor<1x8xf32>
func.func @small(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {aot.entry} {
  %y, %m = graph.staged (%a = %x : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<1x8xf32>) attributes {tile = array<i64: 2, 8>} {
    %0 = graph.softmax %a {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = graph.softmax %0 {axes = array<i64: 1>, log = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.yield %1 : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}

