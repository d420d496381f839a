// RUN: aotc-opt %s -p outline-kernels --split-input-file | filecheck %s

// An output that is an input, a constant, a part of a value, or another output is copied; what nobody reads goes.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[C:%.*]] = graph.constant dense<[1.000000e+00, 2.000000e+00]>
// CHECK-NEXT:    [[R:%.*]] = func.call @relu_0(%x)
// CHECK-NEXT:    [[S:%.*]] = graph.slice %x
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[R]]
// CHECK-NEXT:    [[C0:%.*]] = func.call @copy_0([[V]]) : (tensor<4xf32>)
// CHECK-NEXT:    [[C1:%.*]] = func.call @copy_1(%x) : (tensor<2x2xf32>)
// CHECK-NEXT:    [[C2:%.*]] = func.call @copy_2([[C]]) : (tensor<2xf32>)
// CHECK-NEXT:    [[C3:%.*]] = func.call @copy_3([[S]]) : (tensor<1x2xf32>)
// CHECK-NEXT:    func.return [[R]], [[C0]], [[C1]], [[C2]], [[C3]]
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<1x2xf32>) attributes {aot.entry} {
  %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = graph.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %unused = graph.exp %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.slice %x {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>, shape = array<i64: 1, 2>} : (tensor<2x2xf32>) -> tensor<1x2xf32>
  %2 = graph.reshape %0 {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
  func.return %0, %2, %x, %c, %1 : tensor<2x2xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<1x2xf32>
}

// -----

// A float may take the place of an i32, not of an i8; %y is read by both results, which one nest writes together.
// CHECK-LABEL: func.func private @cast_0
// CHECK-SAME:    aot.in_place = {{\[\[}}0 : i64]]
// CHECK-LABEL: func.func private @cast_1
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
// CHECK-LABEL: func.func private @exp_add_0(%x: tensor<4xf32>, %rhs: tensor<4xf32>)
// CHECK-SAME:    aot.in_place = {{\[\[}}0 : i64, 1 : i64], [0 : i64, 1 : i64]]
func.func @main(%x: tensor<4xi32>, %b: tensor<4xi8>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %0 = graph.cast %x {to = f32} : (tensor<4xi32>) -> tensor<4xf32>
  %1 = graph.cast %b {to = f32} : (tensor<4xi8>) -> tensor<4xf32>
  %2, %3 = graph.fused (%p = %0 : tensor<4xf32>, %q = %1 : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    %4 = graph.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    %5 = graph.add %4, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %4, %5 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A transpose of a square reads elsewhere than it writes, whatever the shapes.
// CHECK-LABEL: func.func private @transpose_exp_0
// CHECK-SAME:    aot.in_place = {{\[\[}}]]
func.func @main(%x: tensor<3x3xf32>) -> tensor<3x3xf32> attributes {aot.entry} {
  %0 = graph.fused (%p = %x : tensor<3x3xf32>) -> (tensor<3x3xf32>) {
    %1 = graph.transpose %p {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
    %2 = graph.exp %1 : (tensor<3x3xf32>) -> tensor<3x3xf32>
    graph.yield %2 : tensor<3x3xf32>
  }
  func.return %0 : tensor<3x3xf32>
}

// -----

// A part of what a kernel computes is copied, too.
// CHECK-LABEL: func.func @part
// CHECK-NEXT:    [[R:%.*]] = func.call @relu_0(%x)
// CHECK-NEXT:    [[S:%.*]] = graph.slice [[R]]
// CHECK-NEXT:    [[C:%.*]] = func.call @copy_0([[S]])
// CHECK-NEXT:    func.return [[C]]
func.func @part(%x: tensor<2x2xf32>) -> tensor<1x2xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.slice %0 {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>, shape = array<i64: 1, 2>} : (tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %1 : tensor<1x2xf32>
}

// -----

// %p is read by two loop nests, that of the softmax and another one: neither may write where it is.
// CHECK-LABEL: func.func private @softmax_add_exp_0
// CHECK-SAME:    aot.in_place = {{\[\[}}], []]
func.func @main(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %0, %1 = graph.fused (%a = %x : tensor<4x4xf32>, %p = %y : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
    %2 = graph.softmax %a {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = graph.add %2, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %4 = graph.exp %p : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  func.return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// x - y and y - x are two kernels, though they have the same operations on the same types.
// CHECK-LABEL: func.func @differ
// CHECK-NEXT:    func.call @exp_sub_0(%x, %y)
// CHECK-NEXT:    func.call @exp_sub_1(%x, %y)
func.func @differ(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %0 = graph.fused (%p = %x : tensor<4xf32>, %q = %y : tensor<4xf32>) -> (tensor<4xf32>) {
    %2 = graph.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    %3 = graph.sub %2, %q : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %3 : tensor<4xf32>
  }
  %1 = graph.fused (%p = %x : tensor<4xf32>, %q = %y : tensor<4xf32>) -> (tensor<4xf32>) {
    %2 = graph.exp %p : (tensor<4xf32>) -> tensor<4xf32>
    %3 = graph.sub %q, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %3 : tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
