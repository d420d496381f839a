// RUN: aotc-opt %s -p prove-narrow-pairs | filecheck %s

// 255 * (64 + 64) fits 16 bits with sign, 255 * (64 + 65) does not; and neither does -128 * (-128).
// CHECK-LABEL: func.func @pairs
// CHECK:       graph.packed_dot_matmul %x, %fits, %b {narrow
// CHECK-NEXT:  graph.packed_dot_matmul %x, %beyond, %b {{.*}}: (tensor<2x4xui8>
// CHECK-NOT:   narrow
// CHECK:       func.return
func.func @pairs(%x: tensor<2x4xui8>, %s: tensor<2x4xi8>, %v: tensor<1x1x4xi8>, %b: tensor<1xi32>) -> tensor<2x1xi32> attributes {aot.entry} {
  %fits = graph.constant dense<[[[64, -64, 127, 1]]]> : tensor<1x1x4xi8>
  %beyond = graph.constant dense<[[[0, 0, 64, -65]]]> : tensor<1x1x4xi8>
  %0 = graph.packed_dot_matmul %x, %fits, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %1 = graph.packed_dot_matmul %x, %beyond, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  // signed activations, weights that are not known
  %2 = graph.packed_dot_matmul %s, %fits, %b : (tensor<2x4xi8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  %3 = graph.packed_dot_matmul %x, %v, %b : (tensor<2x4xui8>, tensor<1x1x4xi8>, tensor<1xi32>) -> tensor<2x1xi32>
  func.return %0 : tensor<2x1xi32>
}
