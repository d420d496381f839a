// RUN: aotc-opt %s -p outline-kernels | filecheck %s

// A kernel names four operators, of more the first from the anchor on. An argument is named after the operand as which
// it is used first; what is computed has no name.
// CHECK-LABEL: func.func private @exp_neg_relu_add_0(%x: tensor<2x4xf32>)
// CHECK-NEXT:    %0 = graph.exp %x
// CHECK-NEXT:    %1 = graph.neg %0
// CHECK-NEXT:    %2 = graph.relu %1
// CHECK-NEXT:    %3 = graph.add %2, %x
// CHECK-LABEL: func.func private @softmax_neg_relu_abs_and_2_0(%x: tensor<2x4xf32>, %parts: tensor<2x4xf32>)
func.func @main(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>) attributes {aot.entry} {
  %0 = graph.fused (%p = %a : tensor<2x4xf32>) -> (tensor<2x4xf32>) {
    %e = graph.exp %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %n = graph.neg %e : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %r = graph.relu %n : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %s = graph.add %r, %p : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    graph.yield %s : tensor<2x4xf32>
  }
  %1 = graph.fused (%p = %a : tensor<2x4xf32>, %q = %b : tensor<2x4xf32>) -> (tensor<4x4xf32>) {
    %e = graph.exp %p : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %m = graph.concat %e, %q {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %s = graph.softmax %m {axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %n = graph.neg %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %r = graph.relu %n : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %u = graph.abs %r : (tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.yield %u : tensor<4x4xf32>
  }
  func.return %0, %1 : tensor<2x4xf32>, tensor<4x4xf32>
}

// What code generators compute is a declaration; scratch is no result of its call.
// CHECK-LABEL: func.func private @first_any_0(tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:    settings = {}}}
// CHECK-LABEL: func.func private @first_some_0(tensor<4xf32>) -> tensor<4xf32>
// CHECK-SAME:    scratch_bytes = 64 : i64}
// CHECK-LABEL: func.func @outside
func.func @outside(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.external %x {codegen = "first", kernel = "any", settings = {}} : (tensor<4xf32>) -> tensor<4xf32>
  %1, %2 = graph.external %0 {codegen = "first", kernel = "some", settings = {}} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<64xi8>)
  func.return %1 : tensor<4xf32>
}

// A concatenation that nobody reads takes no place from the parts of another one.
// CHECK-LABEL: func.func @unread
// CHECK-NEXT:    [[R:%.*]] = func.call @relu_0(%x)
// CHECK-NEXT:    [[N:%.*]] = func.call @neg_0(%x)
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[R]], [[N]]
// CHECK-NEXT:    func.call @reduce_0([[C]])
func.func @unread(%x: tensor<2x4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = graph.neg %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = graph.concat %1, %0 {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %3 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  %4 = graph.reduce %3 {kind = "sum", axes = array<i64: 1>, keepdims = false} : (tensor<4x4xf32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}
