// RUN: aotc-opt %s -p simplify-control-flow | filecheck %s

// A condition that holds at first stays where the next one is not known, or does not hold, or nothing else ends the loop.
// CHECK-LABEL: func.func @begun
// CHECK:         [[T:%.*]] = graph.constant dense<true>
// CHECK:         graph.loop [[T]], %x {{.*}}trips = 3 : i64
// CHECK:         graph.loop [[T]], %x {{.*}}trips = 3 : i64
// CHECK:         graph.loop [[T]], %x {operandSegmentSizes
func.func @begun(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %t = graph.constant dense<true> : tensor<i1>
  %0 = graph.loop %t, %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %k = graph.compare %i, %i {how = "le"} : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %k, %e : tensor<i1>, tensor<4xf32>
  }
  %1 = graph.loop %t, %x {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %k = graph.constant dense<false> : tensor<i1>
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %k, %e : tensor<i1>, tensor<4xf32>
  }
  %2 = graph.loop %t, %x {operandSegmentSizes = array<i32: 0, 1, 1, 0, 0>} : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
    %k = graph.constant dense<true> : tensor<i1>
    %e = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %k, %e : tensor<i1>, tensor<4xf32>
  }
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// In front of a loop is what depends on captured values, with copies of the constants that it reads; in it stay what
// depends on constants only, what is quantised, and what is captured and stacked as it is.
// CHECK-LABEL: func.func @in_front
// CHECK:         [[C:%.*]] = graph.constant dense<2.000000e+00>
// CHECK-NEXT:    [[M:%.*]] = graph.mul %w, [[C]]
// CHECK-NEXT:    graph.loop
// CHECK:           graph.neg
// CHECK:           graph.quantize
// CHECK:           graph.yield
func.func @in_front(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xi8>, tensor<3x4xf32>) attributes {aot.entry} {
  %y, %q, %s = graph.loop %x, %w {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 1, 0, 1>} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xi8>, tensor<3x4xf32>) {
  ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %u: tensor<4xf32>):
    %c = graph.constant dense<2.0> : tensor<f32>
    %m = graph.mul %u, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    %n = graph.neg %c : (tensor<f32>) -> tensor<f32>
    %0 = graph.quantize %u, %c {to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
    %1 = graph.add %v, %m : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.mul %1, %n : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %2, %0, %u : tensor<4xf32>, tensor<4xi8>, tensor<4xf32>
  }
  func.return %y, %q, %s : tensor<4xf32>, tensor<3x4xi8>, tensor<3x4xf32>
}
// CHECK-LABEL: func.func @captured
// CHECK:         graph.loop %w {
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<i64>, [[U:%.*]]: tensor<4xf32>):
// CHECK-NEXT:      graph.yield [[U]]
func.func @captured(%w: tensor<4xf32>) -> tensor<3x4xf32> attributes {aot.entry} {
  %s = graph.loop %w {trips = 3 : i64, operandSegmentSizes = array<i32: 0, 0, 0, 0, 1>} : (tensor<4xf32>) -> tensor<3x4xf32> {
  ^bb0(%i: tensor<i64>, %u: tensor<4xf32>):
    graph.yield %u : tensor<4xf32>
  }
  func.return %s : tensor<3x4xf32>
}
