// RUN: not aotc-opt %s -p infer-shapes --disable-verify 2>&1 | filecheck %s

// What does not fit together is named, and nothing goes on.
// CHECK: [invalid-shape]
// CHECK-NOT: func.func @main
func.func @main(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) -> tensor<2x8xf32> attributes {aot.entry} {
  %0 = graph.add %x, %y : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}
