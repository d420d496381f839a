// RUN: aotc-opt %s -p outline-kernels --split-input-file | filecheck %s

// The kernel of the next value comes after all that reads the last one; no copy.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {aot.name = "x"}, %h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 1 : i64}, tensor<1xf32> {aot.name = "y"}) attributes {aot.entry} {
  // CHECK-NEXT: [[Y:%.*]] = func.call @reduce_0(%h)
  // CHECK-NEXT: [[N:%.*]] = func.call @neg_0(%x)
  // CHECK-NEXT: func.return [[N]], [[Y]]
  %hn = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.reduce %h {axes = array<i64: 0>, kind = "sum", keepdims = true} : (tensor<4xf32>) -> tensor<1xf32>
  func.return %hn, %y : tensor<4xf32>, tensor<1xf32>
}

// -----

// What reads every element wherever it writes may not write over it: its result is copied at the end.

// CHECK-LABEL: func.func @main
func.func @main(%h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 0 : i64}) attributes {aot.entry} {
  // CHECK-NEXT: [[S:%.*]] = func.call @softmax_0(%h)
  // CHECK-NEXT: [[C:%.*]] = func.call @copy_0([[S]])
  // CHECK-NEXT: func.return [[C]]
  %hn = graph.softmax %h {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  func.return %hn : tensor<4xf32>
}

// -----

// A kernel that reads an element only where it writes it overwrites the state.

// CHECK-LABEL: func.func private @add_0
// CHECK-SAME:    aot.in_place = {{\[\[}}0 : i64, 1 : i64]]
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {aot.name = "x"}, %h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 1 : i64}) attributes {aot.entry} {
  // CHECK-NEXT: [[N:%.*]] = func.call @add_0(%x, %h)
  // CHECK-NEXT: func.return [[N]]
  %hn = graph.add %x, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %hn : tensor<4xf32>
}

// -----

// Two states that change places: what cannot be in order is copied once more.

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<4xf32> {aot.name = "a"}, %b: tensor<4xf32> {aot.name = "b"}) -> (tensor<4xf32> {aot.name = "an", aot.state_of = 0 : i64}, tensor<4xf32> {aot.name = "bn", aot.state_of = 1 : i64}) attributes {aot.entry} {
  // CHECK-NEXT: [[T:%.*]] = func.call @copy_0(%a)
  // CHECK-NEXT: [[A:%.*]] = func.call @copy_0(%b)
  // CHECK-NEXT: [[B:%.*]] = func.call @copy_0([[T]])
  // CHECK-NEXT: func.return [[A]], [[B]]
  func.return %b, %a : tensor<4xf32>, tensor<4xf32>
}

// -----

// A state that stays as it is is left alone; as another output it is copied.

// CHECK-LABEL: func.func @main
func.func @main(%h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 0 : i64}, tensor<4xf32> {aot.name = "y"}) attributes {aot.entry} {
  // CHECK-NEXT: [[Y:%.*]] = func.call @copy_0(%h)
  // CHECK-NEXT: func.return %h, [[Y]]
  func.return %h, %h : tensor<4xf32>, tensor<4xf32>
}

// -----

// A recurrence has read its initial state when it writes the last one, and a scatter each element when it writes it.

// CHECK-LABEL: func.func private @rnn_0
// CHECK-SAME:    aot.in_place = [[], [2 : i64]]
// CHECK-LABEL: func.func private @scatter_nd_0
// CHECK-SAME:    aot.in_place = {{\[\[}}0 : i64]]
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x1x4xf32> {aot.name = "x"}, %w: tensor<4x4xf32> {aot.name = "w"}, %h: tensor<1x4xf32> {aot.name = "h"}, %k: tensor<6x4xf32> {aot.name = "k"}, %at: tensor<1x1xi64> {aot.name = "at"}) -> (tensor<1x1x4xf32> {aot.name = "y"}, tensor<1x4xf32> {aot.name = "hn", aot.state_of = 2 : i64}, tensor<6x4xf32> {aot.name = "kn", aot.state_of = 3 : i64}) attributes {aot.entry} {
  // CHECK-NEXT: [[Y:%.*]], [[H:%.*]] = func.call @rnn_0(%x, %w, %h)
  // CHECK-NEXT: [[K:%.*]] = func.call @scatter_nd_0(%k, %at, [[H]])
  // CHECK-NEXT: func.return [[Y]], [[H]], [[K]]
  %y, %hn, %s0, %s1 = graph.rnn %x, %w, %h {activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x1x4xf32>, tensor<4x4xf32>, tensor<1x4xf32>) -> (tensor<1x1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>)
  %kn = graph.scatter_nd %k, %at, %hn {reduction = "none"} : (tensor<6x4xf32>, tensor<1x1xi64>, tensor<1x4xf32>) -> tensor<6x4xf32>
  func.return %y, %hn, %kn : tensor<1x1x4xf32>, tensor<1x4xf32>, tensor<6x4xf32>
}

// -----

// An initial state that is read as another operand, too, is not to be overwritten.

// CHECK-LABEL: func.func private @rnn_0
// CHECK-SAME:    aot.in_place = [[], []]
func.func @main(%x: tensor<1x4x4xf32> {aot.name = "x"}, %h: tensor<4x4xf32> {aot.name = "h"}) -> (tensor<1x4x4xf32> {aot.name = "y"}, tensor<4x4xf32> {aot.name = "hn", aot.state_of = 1 : i64}) attributes {aot.entry} {
  %y, %hn, %s0, %s1 = graph.rnn %x, %h, %h {activations = ["tanh"], alphas = array<f64: 0.0>, betas = array<f64: 0.0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<1x4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<1x4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>)
  func.return %y, %hn : tensor<1x4x4xf32>, tensor<4x4xf32>
}

// -----

// What reads the last state through a view comes before the next one is written, too.

// CHECK-LABEL: func.func private @reduce_0
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xf32> {aot.name = "x"}, %h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 1 : i64}, tensor<2xf32> {aot.name = "y"}) attributes {aot.entry} {
  // CHECK-NEXT: [[V:%.*]] = graph.reshape %h
  // CHECK-NEXT: [[Y:%.*]] = func.call @reduce_0([[V]])
  // CHECK-NEXT: [[N:%.*]] = func.call @neg_0(%x)
  // CHECK-NEXT: func.return [[N]], [[Y]]
  %hn = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %v = graph.reshape %h {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
  %y = graph.reduce %v {axes = array<i64: 0>, kind = "sum", keepdims = false} : (tensor<2x2xf32>) -> tensor<2xf32>
  func.return %hn, %y : tensor<4xf32>, tensor<2xf32>
}

// -----

// Another operand that was computed from the state has a buffer of its own.

// CHECK-LABEL: func.func @main
func.func @main(%h: tensor<4xf32> {aot.name = "h"}) -> (tensor<4xf32> {aot.name = "hn", aot.state_of = 0 : i64}) attributes {aot.entry} {
  // CHECK-NEXT: [[S:%.*]] = func.call @softmax_0(%h)
  // CHECK-NEXT: [[N:%.*]] = func.call @add_0(%h, [[S]])
  // CHECK-NEXT: func.return [[N]]
  %s = graph.softmax %h {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %hn = graph.add %h, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %hn : tensor<4xf32>
}
