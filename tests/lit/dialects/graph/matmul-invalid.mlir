// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: [2, 3] and [4, 5] do not multiply: inner dimensions are 3 and 4
func.func @inner(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>) {
  %0 = graph.matmul %a, %b : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  func.return
}

// -----

// CHECK: operands must be matrices or batches of them, found [3] and [3, 5]
func.func @vector(%a: tensor<3xf32>, %b: tensor<3x5xf32>) {
  %0 = graph.matmul %a, %b : (tensor<3xf32>, tensor<3x5xf32>) -> tensor<5xf32>
  func.return
}

// -----

// CHECK: element types differ: f64, f16
func.func @types(%a: tensor<2x3xf64>, %b: tensor<3x5xf16>) {
  %0 = graph.matmul %a, %b : (tensor<2x3xf64>, tensor<3x5xf16>) -> tensor<2x5xf16>
  func.return
}

// -----

// CHECK: element types differ: f16, bf16
func.func @narrow(%a: tensor<2x3xf16>, %b: tensor<3x5xbf16>) {
  %0 = graph.matmul %a, %b : (tensor<2x3xf16>, tensor<3x5xbf16>) -> tensor<2x5xf16>
  func.return
}

// -----

// CHECK: result type is tensor<2x5xf32>, operands and attributes give tensor<2x5xf16>
func.func @widened(%a: tensor<2x3xf32>, %b: tensor<3x5xf16>) {
  %0 = graph.matmul %a, %b : (tensor<2x3xf32>, tensor<3x5xf16>) -> tensor<2x5xf32>
  func.return
}
