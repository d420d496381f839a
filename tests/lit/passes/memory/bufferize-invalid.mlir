// RUN: not aotc-opt %s -p bufferize --split-input-file 2>&1 | filecheck %s

// CHECK: an output is not a separate result of a kernel; run outline-kernels first
func.func @input(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  func.return %x : tensor<4xf32>
}

// -----

// CHECK: an output is not a separate result of a kernel; run outline-kernels first
func.func @constant() -> tensor<2xf32> attributes {aot.entry} {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  func.return %0 : tensor<2xf32>
}
