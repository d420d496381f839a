// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-xeon},choose-algorithms' | filecheck %s --check-prefix=FAR

// All weights stay in L3, so that of Strassen comes fast enough for few rows, where L3 belongs to a few cores; for very
// few it does not.
// FAR-NOT: algorithm
// CHECK-LABEL: func.func @main
// CHECK:      graph.matmul %x, %0 {algorithm = #graph.strassen<rows = 20>}
// CHECK-NOT:  algorithm
func.func @main(%x: tensor<20x512xf32>, %few: tensor<8x512xf32>) -> (tensor<20x760xf32>, tensor<8x760xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<512x760xf32>
  %1 = graph.matmul %x, %0 : (tensor<20x512xf32>, tensor<512x760xf32>) -> tensor<20x760xf32>
  %2 = graph.matmul %few, %0 : (tensor<8x512xf32>, tensor<512x760xf32>) -> tensor<8x760xf32>
  func.return %1, %2 : tensor<20x760xf32>, tensor<8x760xf32>
}
