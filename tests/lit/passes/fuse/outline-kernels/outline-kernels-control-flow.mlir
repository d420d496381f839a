// RUN: aotc-opt %s -p outline-kernels | filecheck %s

// What a conditional hands on is copied, and so is a constant; kernels of all regions are one function where alike.
// CHECK-LABEL: func.func @branches
// CHECK:         graph.if %c, %x
// CHECK-NEXT:    ^bb0([[A:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[N:%.*]] = func.call @neg_0([[A]])
// CHECK-NEXT:      [[C:%.*]] = func.call @copy_0([[A]])
// CHECK-NEXT:      graph.yield [[N]], [[C]]
// CHECK-NEXT:    } {
// CHECK-NEXT:    ^bb0([[B:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[N2:%.*]] = func.call @neg_0([[B]])
// CHECK-NEXT:      [[C2:%.*]] = func.call @copy_0([[N2]])
// CHECK-NEXT:      graph.yield [[N2]], [[C2]]
func.func @branches(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %y, %z = graph.if %c, %x : (tensor<i1>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n, %a : tensor<4xf32>, tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>):
    %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n, %n : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// An input is copied to where the loop carries its value on. The next value is computed when nothing reads the last
// one any more: %e comes before %n.
// CHECK-LABEL: func.func @in_order
// CHECK:         [[I:%.*]] = func.call @copy_0(%x)
// CHECK-NEXT:    graph.loop [[I]]
// CHECK-NEXT:    ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[S:%.*]] = func.call @slice_0([[V]])
// CHECK-NEXT:      [[N:%.*]] = func.call @neg_0([[V]])
// CHECK-NEXT:      graph.yield [[N]], [[S]]
func.func @in_order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) attributes {aot.entry} {
  %y, %s = graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %n = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
    %r = graph.slice %v {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n, %r : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<3x4xf32>
}

// A kernel that reads other elements than it writes cannot write over them: a copy at the end.
// CHECK-LABEL: func.func @apart
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[R:%.*]] = func.call @slice_0([[V]])
// CHECK-NEXT:      [[C:%.*]] = func.call @copy_0([[R]])
// CHECK-NEXT:      graph.yield [[C]]
func.func @apart(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %r = graph.slice %v {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %r : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// Values that change places: each is copied before either is overwritten, where one kernel alone does not do.
// CHECK-LABEL: func.func @swapped
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>, [[W:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[B:%.*]] = func.call @copy_0([[V]])
// CHECK-NEXT:      [[A:%.*]] = func.call @copy_0([[W]])
// CHECK-NEXT:      [[C:%.*]] = func.call @copy_0([[B]])
// CHECK-NEXT:      graph.yield [[A]], [[C]]
func.func @swapped(%x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %y, %s = graph.loop %x, %z {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 2, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %w: tensor<4xf32>):
    graph.yield %w, %v : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<4xf32>
}

// A conditional that leaves the state as it is, or changes it in its place, copies nothing; one that reads it after it
// has written does not.
// CHECK-LABEL: func.func @sometimes
// CHECK:         [[F:%.*]] = graph.if [[K:%.*]], [[V:%.*]] : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:      ^bb0([[A:%.*]]: tensor<4xf32>):
// CHECK-NEXT:        [[N:%.*]] = func.call @neg_0([[A]])
// CHECK-NEXT:        graph.yield [[N]]
// CHECK-NEXT:      } {
// CHECK-NEXT:      ^bb0([[B:%.*]]: tensor<4xf32>):
// CHECK-NEXT:        graph.yield [[B]]
// CHECK-NEXT:      }
// CHECK-NEXT:      graph.yield [[F]]
func.func @sometimes(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x, %c {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<i1>):
    %f = graph.if %k, %v : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>):
      graph.yield %a : tensor<4xf32>
    }
    graph.yield %f : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// An inner loop begins with a copy in the place of the outer one's value: after the last read of that.
// CHECK-LABEL: func.func @nested
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>, [[W:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[S:%.*]] = func.call @slice_0([[V]])
// CHECK-NEXT:      [[I:%.*]] = func.call @copy_0([[W]])
// CHECK-NEXT:      [[L:%.*]] = graph.loop [[I]]
// CHECK:           graph.yield [[L]], [[S]]
func.func @nested(%x: tensor<4xf32>, %u: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) attributes {aot.entry} {
  %y, %s = graph.loop %x, %u {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %w: tensor<4xf32>):
    %l = graph.loop %w {trips = 5 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%j: tensor<i64>, %a: tensor<4xf32>):
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n : tensor<4xf32>
    }
    %r = graph.slice %v {starts = array<i64: 3>, steps = array<i64: -1>, shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %l, %r : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<3x4xf32>
}

// What a loop begins with is copied where it is read by others, too.
// CHECK-LABEL: func.func @begins
// CHECK:         [[A:%.*]] = func.call @neg_0(%x)
// CHECK-NEXT:    [[I:%.*]] = func.call @copy_0([[A]])
// CHECK-NEXT:    graph.loop [[I]]
func.func @begins(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %a = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.loop %a {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %n = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  %z = graph.exp %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// A branch that hands the state on as another value, too, reads it at its end: it cannot change it in its place.
// CHECK-LABEL: func.func @shifted
// CHECK:         ^bb0({{.*}}, [[V:%.*]]: tensor<4xf32>, [[W:%.*]]: tensor<4xf32>, {{.*}}):
// CHECK-NEXT:      [[F:%.*]], [[G:%.*]] = graph.if
// CHECK:           [[C:%.*]] = func.call @copy_0([[F]])
// CHECK:           graph.yield [[C]]
func.func @shifted(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %y, %s = graph.loop %x, %z, %c {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 2, 0, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %w: tensor<4xf32>, %k: tensor<i1>):
    %f, %g = graph.if %k, %v, %w : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
      graph.yield %n, %a : tensor<4xf32>, tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      graph.yield %a, %b : tensor<4xf32>, tensor<4xf32>
    }
    graph.yield %f, %g : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y, %s : tensor<4xf32>, tensor<4xf32>
}

// An inner conditional that does not read the state computes the next one elsewhere: what it hands on is copied.
// CHECK-LABEL: func.func @anew
// CHECK:         [[F:%.*]] = graph.if
// CHECK:         graph.if %{{[a-z]+}}, %{{[a-z]+}} : (tensor<i1>, tensor<4xf32>)
// CHECK-NEXT:      ^bb0([[D:%.*]]: tensor<4xf32>):
// CHECK-NEXT:        func.call @neg_0([[D]])
// CHECK:           ^bb0([[E:%.*]]: tensor<4xf32>):
// CHECK-NEXT:        [[C:%.*]] = func.call @copy_0([[E]])
// CHECK-NEXT:        graph.yield [[C]]
// CHECK:         graph.yield [[F]]
func.func @anew(%c: tensor<i1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %x, %c, %z {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 2>} : (tensor<4xf32>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<i1>, %w: tensor<4xf32>):
    %f = graph.if %k, %v, %k, %w : (tensor<i1>, tensor<4xf32>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>, %l: tensor<i1>, %b: tensor<4xf32>):
      %g = graph.if %l, %b : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
      ^bb0(%d: tensor<4xf32>):
        %n = graph.neg %d : (tensor<4xf32>) -> tensor<4xf32>
        graph.yield %n : tensor<4xf32>
      } {
      ^bb0(%d: tensor<4xf32>):
        graph.yield %d : tensor<4xf32>
      }
      graph.yield %g : tensor<4xf32>
    } {
    ^bb0(%a: tensor<4xf32>, %l: tensor<i1>, %b: tensor<4xf32>):
      graph.yield %a : tensor<4xf32>
    }
    graph.yield %f : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A condition is no operand of the branches, which could change it in its place.
// CHECK-LABEL: func.func @condition
// CHECK:         [[F:%.*]] = graph.if
// CHECK:           [[C:%.*]] = func.call @copy_{{[0-9]}}([[F]])
// CHECK-NEXT:      graph.yield [[C]]
func.func @condition(%c: tensor<i1>, %z: tensor<i1>) -> tensor<i1> attributes {aot.entry} {
  %y = graph.loop %c, %z {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<i1>, tensor<i1>) -> tensor<i1> {
  ^bb0(%i: tensor<i64>, %k: tensor<i1>, %w: tensor<i1>):
    %f = graph.if %k, %w : (tensor<i1>, tensor<i1>) -> tensor<i1> {
    ^bb0(%a: tensor<i1>):
      %n = graph.not %a : (tensor<i1>) -> tensor<i1>
      graph.yield %n : tensor<i1>
    } {
    ^bb0(%a: tensor<i1>):
      %n = graph.not %a : (tensor<i1>) -> tensor<i1>
      graph.yield %n : tensor<i1>
    }
    graph.yield %f : tensor<i1>
  }
  func.return %y : tensor<i1>
}
