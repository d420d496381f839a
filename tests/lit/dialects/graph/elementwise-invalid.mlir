// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: element types differ: f32, i32
func.func @types(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  %0 = graph.add %x, %y : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: shapes [2, 3] and [2] do not broadcast
func.func @shapes(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  %0 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2x3xf32>
  func.return
}

// -----

// CHECK: result type is tensor<3xf32>, operands and attributes give tensor<2x3xf32>
func.func @result(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = graph.mul %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: the operand has element type i32, expected float
func.func @domain(%x: tensor<2xi32>) {
  %0 = graph.exp %x : (tensor<2xi32>) -> tensor<2xi32>
  func.return
}

// -----

// CHECK: the left operand has element type f32, expected integer or bool
func.func @bits(%x: tensor<2xf32>) {
  %0 = graph.and %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}

// -----

// CHECK: how must be eq, ne, lt, le, gt or ge, found "above"
func.func @how(%x: tensor<2xf32>) {
  %0 = graph.compare %x, %x {how = "above"} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  func.return
}

// -----

// CHECK: the condition has element type i8, expected bool
func.func @condition(%c: tensor<2xi8>, %x: tensor<2xf32>) {
  %0 = graph.where %c, %x, %x : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return
}
