// RUN: not aotc-opt %s -p roll-rows 2>&1 | filecheck %s

// What is reduced along another axis than that of rows needs all of them.

// CHECK: groups do not roll together: a group reads other rows than its own of tensor<1x1x8x5x3xi8>
func.func @reduction(%x: tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x3xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x5x3xi8>) attributes {roll = 0 : i64} {
    %2 = graph.neg %a : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x5x3xi8>
    graph.yield %2 : tensor<1x1x8x5x3xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x8x3xi8>) attributes {roll = 0 : i64} {
    %3 = graph.reduce %a {kind = "max", axes = array<i64: 3>, keepdims = false} : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x8x3xi8>
    graph.yield %3 : tensor<1x1x8x3xi8>
  }
  func.return %1 : tensor<1x1x8x3xi8>
}
