// RUN: not aotc-opt %s -p bufferize,convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: an epilogue operation reads the anchor's result at another index
func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.kernel} {
  %0 = graph.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = graph.relu %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %2 : tensor<4x4xf32>
}
