// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: a stage adds 2 to 5 numbers, found 7
func.func @radix(%x: tensor<1x7x1x2xf32>, %t: tensor<7x1x2xf32>, %u: tensor<7x2xf32>) {
  %0 = graph.butterfly %x, %t, %u : (tensor<1x7x1x2xf32>, tensor<7x1x2xf32>, tensor<7x2xf32>) -> tensor<1x7x1x2xf32>
  func.return
}

// -----

// CHECK: transforms are of i16, i32 and f32, found i8
func.func @type(%x: tensor<1x2x1x2xi8>, %t: tensor<2x1x2xi8>, %u: tensor<2x2xi8>) {
  %0 = graph.butterfly %x, %t, %u : (tensor<1x2x1x2xi8>, tensor<2x1x2xi8>, tensor<2x2xi8>) -> tensor<1x2x1x2xi8>
  func.return
}
