// RUN: aotc-opt %s -p outline-kernels --print-debuginfo | filecheck %s

// Identical bodies are one kernel, in order of first use; it keeps the locations of all its calls.
// CHECK-LABEL: func.func private @relu_0(%x: tensor<1x8xf32> loc(unknown)) -> tensor<1x8xf32>
// CHECK-SAME:    attributes {aot.kernel, aot.in_place = {{\[\[}}0 : i64]]}
// CHECK-NEXT:    [[R:%.*]] = graph.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("Relu_0")
// CHECK-NEXT:    func.return [[R]]
// CHECK-NEXT:  } loc(fused["Relu_0", "Relu_1"])

// A constant of one element stands in the kernel, which is not where that is, so that another one makes another kernel.
// CHECK-LABEL: func.func private @add_0(%lhs: tensor<1x8xf32> loc(unknown)) -> tensor<1x8xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    graph.add %lhs, [[C]]
// CHECK:       } loc("Add_0")
// CHECK-LABEL: func.func private @add_1(%lhs: tensor<1x8xf32> loc(unknown)) -> tensor<1x8xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.constant dense<3.000000e+00> : tensor<f32>

// A larger constant is an argument; a broadcast operand may not be overwritten.
// CHECK-LABEL: func.func private @add_2(%lhs: tensor<2x8xf32> loc(unknown), %rhs: tensor<8xf32> loc(unknown)) -> tensor<2x8xf32>
// CHECK-SAME:    aot.in_place = {{\[\[}}0 : i64]]

// The anchor reads %lhs elsewhere; the epilogue reads %lhs_1 only where it writes.
// CHECK-LABEL: func.func private @matmul_add_relu_0(%lhs: tensor<2x8xf32> loc(unknown), %rhs: tensor<8x8xf32> loc(unknown), %lhs_1: tensor<2x8xf32>
// CHECK-SAME:    aot.in_place = {{\[\[}}2 : i64]]

// CHECK-LABEL: func.func @main
// CHECK:         [[R0:%.*]] = func.call @relu_0(%x) {{.*}} loc("Relu_0")
// CHECK-NEXT:    [[R1:%.*]] = func.call @relu_0([[R0]]) {{.*}} loc("Relu_1")
// CHECK-NEXT:    [[A0:%.*]] = func.call @add_0([[R1]])
// CHECK-NEXT:    [[A1:%.*]] = func.call @add_1([[A0]])
// CHECK-NEXT:    [[V:%.*]] = graph.reshape [[A1]]
// CHECK-NEXT:    [[A2:%.*]] = func.call @add_2(%z, %bias)
// CHECK-NEXT:    [[M:%.*]] = func.call @matmul_add_relu_0([[A2]], %w, %z) {{.*}} loc(fused["MatMul", "Add", "Relu"])
// CHECK-NEXT:    func.return [[V]], [[M]]
func.func @main(%x: tensor<1x8xf32>, %z: tensor<2x8xf32>, %w: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) attributes {aot.entry} {
  %two = graph.constant dense<2.0> : tensor<f32> loc("Two")
  %three = graph.constant dense<3.0> : tensor<f32>
  %bias = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = graph.relu %x : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("Relu_0")
  %1 = graph.relu %0 : (tensor<1x8xf32>) -> tensor<1x8xf32> loc("Relu_1")
  %2 = graph.add %1, %two : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32> loc("Add_0")
  %3 = graph.add %2, %three : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %4 = graph.reshape %3 {shape = array<i64: 8>} : (tensor<1x8xf32>) -> tensor<8xf32>
  %5 = graph.add %z, %bias : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
  %6 = graph.fused (%a = %5 : tensor<2x8xf32>, %b = %w : tensor<8x8xf32>, %c = %z : tensor<2x8xf32>) -> (tensor<2x8xf32>) {
    %7 = graph.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> loc("MatMul")
    %8 = graph.add %c, %7 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32> loc("Add")
    %9 = graph.relu %8 : (tensor<2x8xf32>) -> tensor<2x8xf32> loc("Relu")
    graph.yield %9 : tensor<2x8xf32>
  } loc(fused["MatMul", "Add", "Relu"])
  func.return %4, %6 : tensor<8xf32>, tensor<2x8xf32>
}

// A copy is where the value that it copies is computed; of an input, where that is read.
// CHECK-LABEL: func.func @copied
// CHECK:         [[N:%.*]] = func.call @neg_0(%x) {{.*}} loc("Neg")
// CHECK-NEXT:    func.call @copy_0([[N]]) {{.*}} loc("Neg")
// CHECK-NEXT:    func.call @copy_0(%x) {{.*}} loc("Outputs")
func.func @copied(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<4xf32>) -> tensor<4xf32> loc("Neg")
  func.return %0, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32> loc("Outputs")
}
