// RUN: not aotc-opt %s -p roll-rows 2>&1 | filecheck %s

// What is reduced has no rows before the last one of what it reduces, whatever its own shape.

// CHECK: groups do not roll together: a group reads what has no rows before its end, tensor<1x1x1x5x3xi8>
func.func @ended(%x: tensor<1x1x8x5x3xi8>) -> tensor<1x1x1x5x3xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x3xi8>) -> (tensor<1x1x1x5x3xi8>) attributes {roll = 0 : i64} {
    %2 = graph.reduce %a {kind = "max", axes = array<i64: 2>, keepdims = true} : (tensor<1x1x8x5x3xi8>) -> tensor<1x1x1x5x3xi8>
    graph.yield %2 : tensor<1x1x1x5x3xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x1x5x3xi8>) -> (tensor<1x1x1x5x3xi8>) attributes {roll = 0 : i64} {
    %3 = graph.neg %a : (tensor<1x1x1x5x3xi8>) -> tensor<1x1x1x5x3xi8>
    graph.yield %3 : tensor<1x1x1x5x3xi8>
  }
  func.return %1 : tensor<1x1x1x5x3xi8>
}
