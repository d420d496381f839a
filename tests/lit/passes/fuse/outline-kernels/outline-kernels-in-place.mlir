// RUN: aotc-opt %s -p outline-kernels --split-input-file | filecheck %s

// A kernel that reads an operand at another index, too, before or behind, may not write over it.
// CHECK-LABEL: func.func private @neg_transpose_add_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = graph.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = graph.add %1, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %3 : tensor<4x4xf32>
  }
  func.return %0 : tensor<4x4xf32>
}

// -----

// CHECK-LABEL: func.func private @transpose_neg_add_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
    %1 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = graph.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = graph.add %1, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %3 : tensor<4x4xf32>
  }
  func.return %0 : tensor<4x4xf32>
}

// -----

// Nor over one of another shape, though of as many bytes, or of narrower elements; an operand that nothing reads has
// no place.
// CHECK-LABEL: func.func private @neg_0
// CHECK-SAME:    aot.in_place = {{\[\[}}1 : i64]]
// CHECK-LABEL: func.func private @reshape_neg_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
// CHECK-LABEL: func.func private @cast_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<2x2xf32>, %n: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>) -> (tensor<4xf32>) {
    %1 = graph.neg %b : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %1 : tensor<4xf32>
  }
  %2 = graph.fused (%a = %z : tensor<2x2xf32>) -> (tensor<4xf32>) {
    %3 = graph.reshape %a {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
    %4 = graph.neg %3 : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %4 : tensor<4xf32>
  }
  %5 = graph.cast %n {to = f32} : (tensor<4xi8>) -> tensor<4xf32>
  func.return %0, %2, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
