// RUN: not aotc-opt %s -p bufferize,convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: the epilogue's shape (1, 4, 4) is not the anchor's (4, 4)
func.func private @k(%x: tensor<4x4xf32>, %y: tensor<1x4x4xf32>) -> tensor<1x4x4xf32> attributes {aot.kernel} {
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.add %0, %y : (tensor<4x4xf32>, tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  func.return %1 : tensor<1x4x4xf32>
}
