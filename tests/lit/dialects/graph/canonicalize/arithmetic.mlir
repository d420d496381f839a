// RUN: aotc-opt %s -p canonicalize | filecheck %s

// What is subtracted or divided is no neutral operand, nor are numbers of which only some are, or that are not in the IR.
// CHECK-LABEL: func.func @operands
// CHECK:      graph.sub {{%.*}}, %x
// CHECK-NEXT: graph.div {{%.*}}, %x
// CHECK-NEXT: graph.sub %x, {{%.*}}
// CHECK-NEXT: graph.mul %x, {{%.*}}
// CHECK-NEXT: graph.add %x, {{%.*}}
// CHECK-NEXT: graph.sub %y, {{%.*}}
// CHECK-NEXT: func.return
func.func @operands(%x: tensor<2xf32>, %y: tensor<65xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<65xf32>) {
  %zero = graph.constant dense<0.0> : tensor<2xf32>
  %one = graph.constant dense<1.0> : tensor<2xf32>
  %some = graph.constant dense<[0.0, 1.0]> : tensor<2xf32>
  %signs = graph.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %stored = graph.constant dense_resource<w> : tensor<65xf32>
  %0 = graph.sub %zero, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = graph.div %one, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = graph.sub %x, %some : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %3 = graph.mul %x, %some : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = graph.add %x, %signs : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = graph.sub %y, %stored : (tensor<65xf32>, tensor<65xf32>) -> tensor<65xf32>
  func.return %0, %1, %2, %3, %4, %5 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<65xf32>
}

// x / 1 is x; another operation of the family between two that undo each other, or that do the same, is read.
// CHECK-LABEL: func.func @others
// CHECK:      [[N:%.*]] = graph.neg %x
// CHECK-NEXT: [[A:%.*]] = graph.abs [[N]]
// CHECK-NEXT: [[R:%.*]] = graph.relu [[A]]
// CHECK-NEXT: func.return %x, [[R]]
func.func @others(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %one = graph.constant dense<1.0> : tensor<f32>
  %0 = graph.div %x, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  %2 = graph.abs %1 : (tensor<2xf32>) -> tensor<2xf32>
  %3 = graph.abs %2 : (tensor<2xf32>) -> tensor<2xf32>
  %4 = graph.relu %3 : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %4 : tensor<2xf32>, tensor<2xf32>
}

// Another zero point than 0 stays, and so does one that is computed.
// CHECK-LABEL: func.func @points
// CHECK:      graph.quantize %x, %s, %{{.*}} {
// CHECK-NEXT: graph.quantize %x, %s, %p {
// CHECK-NEXT: graph.quantize %x, %s {to = i8, axis = 0 : i64
func.func @points(%x: tensor<2xf32>, %s: tensor<f32>, %p: tensor<i8>) -> (tensor<2xi8>, tensor<2xi8>, tensor<2xi8>) {
  %three = graph.constant dense<3> : tensor<i8>
  %zero = graph.constant dense<0> : tensor<i8>
  %0 = graph.quantize %x, %s, %three {to = i8} : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xi8>
  %1 = graph.quantize %x, %s, %p {to = i8} : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xi8>
  %2 = graph.quantize %x, %s, %zero {to = i8, axis = 0 : i64} : (tensor<2xf32>, tensor<f32>, tensor<i8>) -> tensor<2xi8>
  func.return %0, %1, %2 : tensor<2xi8>, tensor<2xi8>, tensor<2xi8>
}
