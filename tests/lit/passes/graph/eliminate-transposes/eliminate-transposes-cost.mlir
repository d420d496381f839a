// RUN: aotc-opt %s -p eliminate-transposes | filecheck %s

// Permuting a constant, or repeating a number, costs nothing: two transposes go for the one before the softmax.
// CHECK-LABEL: func.func @constant
// CHECK:         [[C:%.*]] = graph.transpose %c
// CHECK-NEXT:    [[A:%.*]] = graph.add %x, [[C]]
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[A]]
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[T]]
// CHECK-NEXT:    func.return [[A]], [[S]]
func.func @constant(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3x2xf32>) attributes {aot.entry} {
  %c = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.add %0, %c : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %3 = graph.softmax %1 {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  func.return %2, %3 : tensor<2x3xf32>, tensor<3x2xf32>
}
// CHECK-LABEL: func.func @numbers
// CHECK-NEXT:    [[W:%.*]] = graph.where %c, %a, %b
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[W]]
// CHECK-NEXT:    graph.softmax [[T]]
func.func @numbers(%c: tensor<2x2xi1>, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {aot.entry} {
  %0 = graph.transpose %c {permutation = array<i64: 1, 0>} : (tensor<2x2xi1>) -> tensor<2x2xi1>
  %1 = graph.where %0, %a, %b : (tensor<2x2xi1>, tensor<f32>, tensor<f32>) -> tensor<2x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = graph.softmax %1 {axes = array<i64: 1>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %2, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}

// An operand of as many axes is transposed as it is.
// CHECK-LABEL: func.func @column
// CHECK-NEXT:    [[Y:%.*]] = graph.transpose %y
// CHECK-NEXT:    graph.add %x, [[Y]]
// CHECK-NEXT:    func.return
func.func @column(%x: tensor<2x3xf32>, %y: tensor<3x1xf32>) -> tensor<2x3xf32> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = graph.add %0, %y : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
