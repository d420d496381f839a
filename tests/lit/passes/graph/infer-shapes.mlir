// RUN: aotc-opt %s -p infer-shapes --disable-verify | filecheck %s

// CHECK: func.func private @outside(tensor<2xf32>) -> tensor<2xf32>
func.func private @outside(tensor<2xf32>) -> tensor<2xf32>

// CHECK-LABEL: func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.relu %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:    [[F:%.*]] = graph.fused ([[A:%.*]] = [[R]] : tensor<2x8xf32>) -> (tensor<2x8xf32>) {
// CHECK-NEXT:      [[N:%.*]] = graph.neg [[A]] : (tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK-NEXT:      graph.yield [[N]] : tensor<2x8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[F]] : tensor<2x8xf32>
func.func @main(%x: tensor<2x8xf32>) -> tensor<1x8xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<2x8xf32>) -> tensor<1x8xf32>
  %1 = graph.fused (%a = %0 : tensor<1x8xf32>) -> (tensor<1x8xf32>) {
    %2 = graph.neg %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
    graph.yield %2 : tensor<1x8xf32>
  }
  func.return %1 : tensor<1x8xf32>
}

// Regions get the types of the operands, results those of what is yielded.
// CHECK-LABEL: func.func @regions(%x: tensor<2x8xf32>, %n: tensor<i64>) -> tensor<2x8xf32>
// CHECK:         graph.loop %n, %x {{.*}} : (tensor<i64>, tensor<2x8xf32>) -> tensor<2x8xf32> {
// CHECK-NEXT:    ^bb0(%i: tensor<i64>, %v: tensor<2x8xf32>):
// CHECK-NEXT:      %r = graph.relu %v : (tensor<2x8xf32>) -> tensor<2x8xf32>
func.func @regions(%x: tensor<2x8xf32>, %n: tensor<i64>) -> tensor<1x8xf32> attributes {aot.entry} {
  %y = graph.loop %n, %x {operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>} : (tensor<i64>, tensor<2x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%i: tensor<i64>, %v: tensor<1x8xf32>):
    %r = graph.relu %v : (tensor<1x8xf32>) -> tensor<1x8xf32>
    graph.yield %r : tensor<1x8xf32>
  }
  func.return %y : tensor<1x8xf32>
}
