// RUN: aotc-opt %s -p transpose-interface | filecheck %s

// Channels last where the model has them first, and first where it has them last; all that reads an input, and a result
// that is an input. Tensors without a note stay.
// CHECK-LABEL: func.func @main(%x: tensor<1x8x9x3xf32> {aot.name = "x", aot.layout = "nhwc"}, %y: tensor<1x5x4xf32> {aot.name = "y", aot.layout = "ncw"}, %z: tensor<1x3x8x9xf32> {aot.name = "z"})
// CHECK-SAME: -> (tensor<1x8x9x3xf32> {aot.name = "a", aot.layout = "nhwc"}, tensor<1x5x4xf32> {aot.name = "b", aot.layout = "ncw"}, tensor<1x3x8x9xf32> {aot.name = "c"})
// CHECK: [[Y:%.*]] = graph.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<1x5x4xf32>) -> tensor<1x4x5xf32>
// CHECK: [[X:%.*]] = graph.transpose %x {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x9x3xf32>) -> tensor<1x3x8x9xf32>
// CHECK: [[A:%.*]] = graph.add [[X]], %z
// CHECK: [[C:%.*]] = graph.mul [[X]], %z
// CHECK: [[T:%.*]] = graph.transpose [[A]] {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: [[U:%.*]] = graph.transpose [[Y]] {permutation = array<i64: 0, 2, 1>}
// CHECK: func.return [[T]], [[U]], [[C]]
builtin.module {
  func.func @main(%x: tensor<1x3x8x9xf32> {aot.name = "x", aot.layout = "nhwc"}, %y: tensor<1x4x5xf32> {aot.name = "y", aot.layout = "ncw"}, %z: tensor<1x3x8x9xf32> {aot.name = "z"}) -> (tensor<1x3x8x9xf32> {aot.name = "a", aot.layout = "nhwc"}, tensor<1x4x5xf32> {aot.name = "b", aot.layout = "ncw"}, tensor<1x3x8x9xf32> {aot.name = "c"}) attributes {aot.entry} {
    %0 = graph.add %x, %z : (tensor<1x3x8x9xf32>, tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
    %1 = graph.mul %x, %z : (tensor<1x3x8x9xf32>, tensor<1x3x8x9xf32>) -> tensor<1x3x8x9xf32>
    func.return %0, %y, %1 : tensor<1x3x8x9xf32>, tensor<1x4x5xf32>, tensor<1x3x8x9xf32>
  }
}
