// RUN: not aotc-opt %s -p bufferize,convert-graph-to-loops 2>&1 | filecheck %s

// CHECK: kernel @k: a constant of several values must be an argument of the kernel
func.func private @k(%x: tensor<2xf32>) -> tensor<2xf32> attributes {aot.kernel} {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %1 = graph.add %x, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}
