// RUN: aotc-opt %s -p simplify-control-flow | filecheck %s

// What one branch reads stays captured, and a constant is in that branch only.
// CHECK-LABEL: func.func @one_side
// CHECK:         graph.if %c, %x, %z : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>)
// CHECK:           graph.constant
// CHECK-NEXT:      graph.mul
// CHECK:         ^bb0
// CHECK-NEXT:      graph.yield
func.func @one_side(%c: tensor<1xi1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %k = graph.constant dense<2.0> : tensor<f32>
  %y = graph.if %c, %x, %z, %k : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %f: tensor<f32>):
    %m = graph.mul %a, %f : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %m : tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>, %f: tensor<f32>):
    graph.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A loop carries on what the next iteration reads, or who is behind the loop; the others go, and so do slices that
// nobody reads, from wherever they come.
// CHECK-LABEL: func.func @carried
// CHECK:         %{{.*}}, [[R:%.*]] = graph.loop %x, %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 2, 0, 0>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<i64>, [[V:%.*]]: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK-NEXT:      [[E:%.*]] = graph.exp [[V]]
// CHECK-NEXT:      [[N:%.*]] = graph.neg [[V]]
// CHECK-NEXT:      graph.yield [[E]], [[N]] : tensor<4xf32>, tensor<4xf32>
// CHECK:         func.return [[R]]
func.func @carried(%x: tensor<4xf32>, %s: tensor<3x4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %p, %q, %r, %t = graph.loop %x, %x, %x, %s {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 3, 1, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %w: tensor<4xf32>, %u: tensor<4xf32>, %e: tensor<4xf32>):
    %0 = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    %1 = graph.neg %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %0, %0, %1, %e : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %r : tensor<4xf32>
}

// The most trips that are known; of more the count stays, unless a condition ends the loop before.
// CHECK-LABEL: func.func @most
// CHECK:         graph.loop %x {trips = 2147483647 : i64,
// CHECK:         [[N:%.*]] = graph.constant dense<2147483648>
// CHECK:         graph.loop [[N]], %x {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}
// CHECK:         graph.loop %c, %x {operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>}
func.func @most(%x: tensor<4xf32>, %c: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %m = graph.constant dense<2147483647> : tensor<i64>
  %0 = graph.loop %m, %x {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  %n = graph.constant dense<2147483648> : tensor<i64>
  %1 = graph.loop %n, %x {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>} : (tensor<i64>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  }
  %2 = graph.loop %n, %c, %x {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (tensor<i64>, tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    %k = graph.compare %i, %i {how = "le"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %k, %e : tensor<i1>, tensor<4xf32>
  }
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Of an operation with two results one may be read.
// CHECK-LABEL: func.func @two_results
// CHECK:           %{{.*}}, [[P:%.*]] = graph.top_k
// CHECK-NEXT:      graph.yield [[P]]
func.func @two_results(%c: tensor<1xi1>, %x: tensor<4xf32>) -> tensor<2xi64> attributes {aot.entry} {
  %u, %y = graph.if %c, %x : (tensor<1xi1>, tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  ^bb0(%a: tensor<4xf32>):
    %v, %p = graph.top_k %a {k = 2, axis = 0} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    graph.yield %v, %p : tensor<2xf32>, tensor<2xi64>
  } {
  ^bb0(%a: tensor<4xf32>):
    %v, %p = graph.top_k %a {k = 2, axis = 0, smallest = true} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    graph.yield %v, %p : tensor<2xf32>, tensor<2xi64>
  }
  func.return %y : tensor<2xi64>
}
