// RUN: not aotc-opt %s -p bufferize,convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: more than one anchor: graph.softmax, graph.softmax
func.func private @k(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.kernel} {
  %0 = graph.softmax %x {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = graph.softmax %0 {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %1 : tensor<4x4xf32>
}
