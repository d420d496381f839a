// RUN: aotc-opt %s | aotc-opt | filecheck %s

// CHECK-LABEL: func.func @branches
// CHECK-NEXT:    [[Y:%.*]] = graph.if %c, %x, %w : (tensor<1xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0(%a: tensor<4xf32>, %b: tensor<f32>):
// CHECK-NEXT:      [[M:%.*]] = graph.mul %a, %b
// CHECK-NEXT:      graph.yield [[M]] : tensor<4xf32>
// CHECK-NEXT:    } {
// CHECK-NEXT:    ^bb0([[A:%.*]]: tensor<4xf32>, [[B:%.*]]: tensor<f32>):
// CHECK-NEXT:      graph.yield [[A]] : tensor<4xf32>
// CHECK-NEXT:    }
func.func @branches(%c: tensor<1xi1>, %x: tensor<4xf32>, %w: tensor<f32>) -> tensor<4xf32> {
  %y = graph.if %c, %x, %w : (tensor<1xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<f32>):
    %m = graph.mul %a, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %m : tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>, %b: tensor<f32>):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A condition, a count, a carried and a captured value.
// CHECK-LABEL: func.func @exit
// CHECK:         graph.loop %n, %c, %x, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %u: tensor<f32>):
// CHECK:           graph.yield %go, %m : tensor<i1>, tensor<4xf32>
func.func @exit(%n: tensor<i64>, %c: tensor<i1>, %x: tensor<4xf32>, %w: tensor<f32>) -> tensor<4xf32> {
  %y = graph.loop %n, %c, %x, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %u: tensor<f32>):
    %m = graph.mul %v, %u : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %go = graph.compare %i, %i {how = "lt"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %go, %m : tensor<i1>, tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// Slices in, slices out, the last one first.
// CHECK-LABEL: func.func @slices
// CHECK:         graph.loop %s, %x {trips = 5 : i64, scanned_backward = array<i64: 1>, operandSegmentSizes = array<i32: 0, 0, 1, 1, 0>} : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x2xf32>) {
func.func @slices(%s: tensor<4xf32>, %x: tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x2xf32>) {
  %y, %z = graph.loop %s, %x {trips = 5 : i64, scanned_backward = array<i64: 1>, operandSegmentSizes = array<i32: 0, 0, 1, 1, 0>} : (tensor<4xf32>, tensor<5x4xf32>) -> (tensor<4xf32>, tensor<5x2xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %e: tensor<4xf32>):
    %a = graph.add %v, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %h = graph.slice %a {starts = array<i64: 0>, steps = array<i64: 1>, shape = array<i64: 2>} : (tensor<4xf32>) -> tensor<2xf32>
    graph.yield %a, %h : tensor<4xf32>, tensor<2xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<5x2xf32>
}
