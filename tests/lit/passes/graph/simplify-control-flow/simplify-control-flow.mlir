// RUN: aotc-opt %s -p simplify-control-flow | filecheck %s

// A constant condition: the branch, in place.
// CHECK-LABEL: func.func @taken(%x: tensor<4xf32>)
// CHECK:         [[N:%.*]] = graph.neg %x
// CHECK-NEXT:    func.return [[N]]
func.func @taken(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %c = graph.constant dense<false> : tensor<1xi1>
  %y = graph.if %c, %x : (tensor<1xi1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>):
    %n = graph.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// What nothing reads goes; a captured constant is one of the region.
// CHECK-LABEL: func.func @unread
// CHECK:         [[Y:%.*]] = graph.if %c, %x : (tensor<1xi1>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0([[A:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[W:%.*]] = graph.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT:      [[M:%.*]] = graph.mul [[A]], [[W]]
// CHECK-NEXT:      graph.yield [[M]] : tensor<4xf32>
// CHECK-NEXT:    } {
// CHECK-NEXT:    ^bb0([[A:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      graph.yield [[A]] : tensor<4xf32>
func.func @unread(%c: tensor<1xi1>, %x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %w = graph.constant dense<2.0> : tensor<4xf32>
  %u, %y = graph.if %c, %w, %x, %z : (tensor<1xi1>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%v: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    %m = graph.mul %a, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %n = graph.neg %b : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %n, %m : tensor<4xf32>, tensor<4xf32>
  } {
  ^bb0(%v: tensor<4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>):
    graph.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A constant count; a condition that always holds; what is computed from captured values only; a carried value that
// stays what it is. What becomes larger is computed in every iteration.
// CHECK-LABEL: func.func @counted
// CHECK:         [[E:%.*]] = graph.exp %w
// CHECK-NEXT:    [[Y:%.*]] = graph.loop %x, %k, [[E]] {trips = 9 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 2>} : (tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, [[V:%.*]]: tensor<4xf32>, [[K:%.*]]: tensor<f32>, [[U:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      [[B:%.*]] = graph.broadcast [[K]]
// CHECK-NEXT:      [[A:%.*]] = graph.add [[V]], [[U]]
// CHECK-NEXT:      [[R:%.*]] = graph.mul [[A]], [[B]]
// CHECK-NEXT:      graph.yield [[R]] : tensor<4xf32>
// CHECK:         func.return [[Y]], %k
func.func @counted(%x: tensor<4xf32>, %w: tensor<4xf32>, %k: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) attributes {aot.entry} {
  %n = graph.constant dense<9> : tensor<i64>
  %c = graph.constant dense<true> : tensor<i1>
  %y, %z = graph.loop %n, %c, %x, %k, %w {operandSegmentSizes = array<i32: 1, 1, 2, 0, 1>} : (tensor<i64>, tensor<i1>, tensor<4xf32>, tensor<f32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %f: tensor<f32>, %u: tensor<4xf32>):
    %t = graph.constant dense<true> : tensor<i1>
    %e = graph.exp %u : (tensor<4xf32>) -> tensor<4xf32>
    %b = graph.broadcast %f {shape = array<i64: 4>} : (tensor<f32>) -> tensor<4xf32>
    %a = graph.add %v, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %r = graph.mul %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %t, %r, %f : tensor<i1>, tensor<4xf32>, tensor<f32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<f32>
}

// A loop whose condition may end it keeps it, and a condition that no longer holds at first ends it before it begins.
// CHECK-LABEL: func.func @ended
// CHECK:         graph.loop %c, %x {{.*}} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NOT:     graph.loop
// CHECK:         func.return {{.*}}, %x
func.func @ended(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %y = graph.loop %c, %x {operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %t = graph.constant dense<true> : tensor<i1>
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %t, %e : tensor<i1>, tensor<4xf32>
  }
  %f = graph.constant dense<false> : tensor<i1>
  %z = graph.loop %f, %x {operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %t = graph.compare %i, %i {how = "le"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %t, %e : tensor<i1>, tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// One iteration is the body.
// CHECK-LABEL: func.func @once
// CHECK:         [[S:%.*]] = graph.reshape %y {shape = array<i64: 4>}
// CHECK-NEXT:    [[A:%.*]] = graph.add %x, [[S]]
// CHECK-NEXT:    [[Z:%.*]] = graph.reshape [[A]] {shape = array<i64: 1, 4>}
// CHECK-NEXT:    func.return [[A]], [[Z]]
func.func @once(%x: tensor<4xf32>, %y: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) attributes {aot.entry} {
  %r, %z = graph.loop %x, %y {trips = 1 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 1, 0>} : (tensor<4xf32>, tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %e: tensor<4xf32>):
    %a = graph.add %v, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %r, %z : tensor<4xf32>, tensor<1x4xf32>
}

// What is dequantised outside would be lost for the integer kernels inside.
// CHECK-LABEL: func.func @quantized
// CHECK-NOT:     graph.dequantize
// CHECK:         graph.loop
// CHECK:           graph.dequantize
func.func @quantized(%n: tensor<i64>, %x: tensor<4xf32>, %i: tensor<4xi32>, %s: tensor<f32>) -> tensor<4xf32> attributes {aot.entry} {
  %y = graph.loop %n, %x, %i, %s {operandSegmentSizes = array<i32: 1, 0, 1, 0, 2>} : (tensor<i64>, tensor<4xf32>, tensor<4xi32>, tensor<f32>) -> tensor<4xf32> {
  ^bb0(%j: tensor<i64>, %v: tensor<4xf32>, %u: tensor<4xi32>, %t: tensor<f32>):
    %d = graph.dequantize %u, %t {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>
    %a = graph.add %v, %d : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// A condition that holds: the other branch.
// CHECK-LABEL: func.func @holds(%x: tensor<4xf32>)
// CHECK:         [[E:%.*]] = graph.exp %x
// CHECK-NEXT:    func.return [[E]]
func.func @holds(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %c = graph.constant dense<true> : tensor<i1>
  %y = graph.if %c, %x : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %e = graph.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %e : tensor<4xf32>
  } {
  ^bb0(%a: tensor<4xf32>):
    graph.yield %a : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
