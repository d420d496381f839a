// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: there is more than one scratch buffer
func.func @f(%x: tensor<8xf32>) {
  %0, %s, %t = graph.external %x {codegen = "a", kernel = "k", settings = {}} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<32xi8>, tensor<32xi8>)
  func.return
}

// -----

// CHECK: a scratch buffer is bytes, found tensor<32xf32>
func.func @f(%x: tensor<8xf32>) {
  %0, %s = graph.external %x {codegen = "a", kernel = "k", settings = {}} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<32xf32>)
  func.return
}
