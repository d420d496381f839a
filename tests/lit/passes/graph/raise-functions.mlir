// RUN: aotc-opt %s -p raise-functions --split-input-file | filecheck %s

// log(1 + exp(x)) is softplus, on whichever side of the sum the 1 is.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    %{{.*}} = graph.softplus %x : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {aot.entry} {
  %one = graph.constant dense<1.0> : tensor<f32>
  %power = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %sum = graph.add %one, %power : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %log = graph.log %sum : (tensor<4xf32>) -> tensor<4xf32>
  func.return %log : tensor<4xf32>
}

// -----

// x tanh(softplus(x)) is Mish, also where softplus was found just before.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.constant
// CHECK-NEXT:    %[[A:.*]] = graph.mish %x : (tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:    %[[B:.*]] = graph.mish %[[A]] : (tensor<4xf64>) -> tensor<4xf64>
// CHECK-NEXT:    func.return %[[B]]
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> attributes {aot.entry} {
  %one = graph.constant dense<1.0> : tensor<1xf64>
  %power = graph.exp %x : (tensor<4xf64>) -> tensor<4xf64>
  %sum = graph.add %power, %one : (tensor<4xf64>, tensor<1xf64>) -> tensor<4xf64>
  %log = graph.log %sum : (tensor<4xf64>) -> tensor<4xf64>
  %tanh = graph.tanh %log : (tensor<4xf64>) -> tensor<4xf64>
  %a = graph.mul %tanh, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %softplus = graph.softplus %a : (tensor<4xf64>) -> tensor<4xf64>
  %gate = graph.tanh %softplus : (tensor<4xf64>) -> tensor<4xf64>
  %b = graph.mul %a, %gate : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  func.return %b : tensor<4xf64>
}

// -----

// Not of another number than 1, one at run time, nor of a sum that is wider, nor where something else reads the exponential, too.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.softplus
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %v: tensor<4xf32>, %n: tensor<f32>) -> (tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %one = graph.constant dense<1.0> : tensor<f32>
  %two = graph.constant dense<2.0> : tensor<f32>
  %ones = graph.constant dense<1.0> : tensor<3x1xf32>
  %power = graph.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %sum = graph.add %power, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %a = graph.log %sum : (tensor<4xf32>) -> tensor<4xf32>
  %wide = graph.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  %sums = graph.add %wide, %ones : (tensor<4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  %b = graph.log %sums : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %read = graph.exp %z : (tensor<4xf32>) -> tensor<4xf32>
  %more = graph.add %read, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %c = graph.log %more : (tensor<4xf32>) -> tensor<4xf32>
  %plain = graph.exp %v : (tensor<4xf32>) -> tensor<4xf32>
  %unknown = graph.add %plain, %n : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %d = graph.log %unknown : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b, %c, %read, %d : tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Not of another factor than x, nor where something else reads the tanh, too.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     graph.mish
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %softplus = graph.softplus %x : (tensor<4xf32>) -> tensor<4xf32>
  %tanh = graph.tanh %softplus : (tensor<4xf32>) -> tensor<4xf32>
  %a = graph.mul %tanh, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %other = graph.softplus %y : (tensor<4xf32>) -> tensor<4xf32>
  %read = graph.tanh %other : (tensor<4xf32>) -> tensor<4xf32>
  %b = graph.mul %y, %read : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %a, %b, %read : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
