// RUN: aotc-opt %s -p outline-kernels | filecheck %s

// A loop begins with what nothing else reads, whoever reads what that is computed from.
// CHECK-LABEL: func.func @alone
// CHECK:         [[A:%.*]] = func.call @neg_0(%x)
// CHECK-NEXT:    graph.loop [[A]]
func.func @alone(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %a = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.loop %a {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %n = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %z = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// A conditional that does not read the last value computes the next one in its place, after the last read; what it
// hands on is copied.
// CHECK-LABEL: func.func @unread
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>, {{.*}}):
// CHECK-NEXT:      [[S:%.*]] = func.call @slice_0([[V]])
// CHECK-NEXT:      [[F:%.*]] = graph.if
// CHECK:             func.call @neg_0
// CHECK:             ^bb0([[B:%.*]]: tensor<4xf32>):
// CHECK-NEXT:          func.call @copy_0([[B]])
// CHECK:           graph.yield [[F]], [[S]]
func.func @unread(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) attributes {aot.entry} {
  %y, %s = graph.loop %x, %c, %z {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 2>} : (tensor<4xf32>, tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<i1>, %w: tensor<4xf32>):
    %f = graph.if %k, %w : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>):
      graph.yield %a : tensor<4xf32>
    }
    %r = graph.slice %v {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %f, %r : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<3x4xf32>
}

// A conditional that has the last value as two operands changes it in place of one while it reads the other.
// CHECK-LABEL: func.func @twice
// CHECK:         [[F:%.*]] = graph.if
// CHECK:         [[C:%.*]] = func.call @copy_0([[F]])
// CHECK-NEXT:    graph.yield [[C]]
func.func @twice(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x, %c {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<i1>):
    %f = graph.if %k, %v, %v : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %r = graph.slice %b {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %r : tensor<4xf32>
    }
    graph.yield %f : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// One that has the last value in another shape computes the next one elsewhere.
// CHECK-LABEL: func.func @reshaped
// CHECK:         [[F:%.*]] = graph.if
// CHECK:         [[C:%.*]] = func.call @copy_{{[0-9]}}([[N:%.*]]) : (tensor<4xf32>)
// CHECK-NEXT:    graph.yield [[C]]
func.func @reshaped(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x, %c {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<i1>):
    %r = graph.reshape %v {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
    %f = graph.if %k, %r : (tensor<i1>, tensor<2x2xf32>) -> tensor<2x2xf32> {
    ^bb0(%a: tensor<2x2xf32>):
      %n = graph.neg %a : (tensor<2x2xf32>) -> tensor<2x2xf32>
      graph.yield %n : tensor<2x2xf32>
    } {
    ^bb0(%a: tensor<2x2xf32>):
      graph.yield %a : tensor<2x2xf32>
    }
    %n = graph.reshape %f {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A kernel that reads the last value element by element, and from the end in another shape, writes the next one apart.
// CHECK-LABEL: func.func @both
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>):
// CHECK:           [[A:%.*]] = func.call @slice_add_0
// CHECK-NEXT:      [[N:%.*]] = graph.reshape [[A]]
// CHECK-NEXT:      [[C:%.*]] = func.call @copy_0([[N]])
// CHECK-NEXT:      graph.yield [[C]]
func.func @both(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %r = graph.reshape %v {shape = array<i64: 1, 4>} : (tensor<4xf32>) -> tensor<1x4xf32>
    %f = graph.fused (%a = %r : tensor<1x4xf32>, %b = %v : tensor<4xf32>) -> (tensor<1x4xf32>) {
      %s = graph.slice %b {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
      %t = graph.add %a, %s : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
      graph.yield %t : tensor<1x4xf32>
    }
    %n = graph.reshape %f {shape = array<i64: 4>} : (tensor<1x4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// What an inner loop stacks, while it reads the last value, is not in its place.
// CHECK-LABEL: func.func @stacked
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<3x4xf32>, {{.*}}):
// CHECK:           [[L:%.*]], [[S:%.*]] = graph.loop {{.*}}, [[V]]
// CHECK:           [[C:%.*]] = func.call @copy_{{[0-9]}}([[S]]) : (tensor<3x4xf32>)
// CHECK-NEXT:      graph.yield [[C]]
func.func @stacked(%x: tensor<3x4xf32>, %u: tensor<4xf32>) -> tensor<3x4xf32> attributes {aot.entry} {
  %y = graph.loop %x, %u {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<3x4xf32>, %w: tensor<4xf32>):
    %l, %s = graph.loop %w, %v {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
    ^bb0(%j: tensor<i64>, %a: tensor<4xf32>, %b: tensor<3x4xf32>):
      %r = graph.reduce %b {axes = array<i64: 0>, kind = "sum", keepdims = false} : (tensor<3x4xf32>) -> tensor<4xf32>
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n, %r : tensor<4xf32>, tensor<4xf32>
    }
    graph.yield %s : tensor<3x4xf32>
  }
  func.return %y : tensor<3x4xf32>
}

// Conditionals within each other, of which none changes a value in its place.
// CHECK-LABEL: func.func @within
// CHECK:         graph.if
// CHECK:           [[G:%.*]] = graph.if
// CHECK:           graph.yield [[G]]
func.func @within(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.if %c, %c, %x : (tensor<i1>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%l: tensor<i1>, %a: tensor<4xf32>):
    %g = graph.if %l, %a : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%d: tensor<4xf32>):
      %n = graph.neg %d : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    } {
    ^bb0(%d: tensor<4xf32>):
      %n = graph.exp %d : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    }
    graph.yield %g : tensor<4xf32>
  } {
  ^bb0(%l: tensor<i1>, %a: tensor<4xf32>):
    %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
