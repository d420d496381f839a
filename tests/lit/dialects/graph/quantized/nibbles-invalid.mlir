// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: bits must be 1, 2 or 4, found 3
func.func @bits(%x: tensor<2xui8>) {
  %0 = graph.unpack_bits %x {bits = 3 : i64} : (tensor<2xui8>) -> tensor<4xui8>
  func.return
}

// -----

// CHECK: x must be [.., K] of ui8, found tensor<2xi8>
func.func @signed(%x: tensor<2xi8>) {
  %0 = graph.unpack_bits %x {bits = 4 : i64} : (tensor<2xi8>) -> tensor<4xui8>
  func.return
}
