// RUN: aotc-opt %s --split-input-file -p outline-kernels | filecheck %s

// A window of three rows is written two rows, of 32 bytes, behind what it reads; its ring is apart from all.

// CHECK:       aot.trails = {{\[\[}}64 : i64]]}
func.func @main(%x: tensor<1x1x8x8x4xi8>) -> tensor<1x1x8x8x4xi8> attributes {aot.entry} {
  %0 = graph.rolled (%a = %x : tensor<1x1x8x8x4xi8>) -> (tensor<1x1x8x8x4xi8>) {
    %1 = graph.fused (%b = %a : tensor<1x1x8x8x4xi8>) -> (tensor<1x1x8x8x4xi8>) {
      %2 = graph.max_pool %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x8x8x4xi8>) -> tensor<1x1x8x8x4xi8>
      graph.yield %2 : tensor<1x1x8x8x4xi8>
    }
    graph.yield %1 : tensor<1x1x8x8x4xi8>
  }
  func.return %0 : tensor<1x1x8x8x4xi8>
}

// -----

// What is as large as its result and read from below trails nothing, nor does a kernel that goes on as it likes.

// CHECK-NOT:   aot.trails
func.func @main(%x: tensor<1x1x8x8x4xi8>) -> (tensor<1x1x8x8x4xi8>, tensor<1x1x8x8x4xi8>) attributes {aot.entry} {
  %0 = graph.rolled (%a = %x : tensor<1x1x8x8x4xi8>) -> (tensor<1x1x8x8x4xi8>) {
    %1 = graph.fused (%b = %a : tensor<1x1x8x8x4xi8>) -> (tensor<1x1x8x8x4xi8>) {
      %2 = graph.slice %b {starts = array<i64: 0, 0, 7, 0, 0>, steps = array<i64: 1, 1, -1, 1, 1>, shape = array<i64: 1, 1, 8, 8, 4>} : (tensor<1x1x8x8x4xi8>) -> tensor<1x1x8x8x4xi8>
      graph.yield %2 : tensor<1x1x8x8x4xi8>
    }
    graph.yield %1 : tensor<1x1x8x8x4xi8>
  }
  %3 = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x8x8x4xi8>) -> tensor<1x1x8x8x4xi8>
  func.return %0, %3 : tensor<1x1x8x8x4xi8>, tensor<1x1x8x8x4xi8>
}
