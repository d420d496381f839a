// RUN: aotc-opt %s --split-input-file --verify-diagnostics -p roll-rows | filecheck %s

// CHECK: groups do not roll together: a group reads other rows than its own of tensor<1x1x8x5x4xi8>
func.func @other_rows(%x: tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %2 = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %2 : tensor<1x1x8x5x4xi8>
  }
  %1 = graph.fused (%a = %0 : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %2 = graph.slice %a {starts = array<i64: 0, 0, 7, 0, 0>, shape = array<i64: 1, 1, 8, 5, 4>, steps = array<i64: 1, 1, -1, 1, 1>} : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %2 : tensor<1x1x8x5x4xi8>
  }
  func.return %1 : tensor<1x1x8x5x4xi8>
}

// -----

// CHECK: groups that roll together depend on what is computed between them
func.func @between(%x: tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %3 = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %3 : tensor<1x1x8x5x4xi8>
  }
  %1 = graph.abs %0 : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
  %2 = graph.fused (%a = %1 : tensor<1x1x8x5x4xi8>) -> (tensor<1x1x8x5x4xi8>) attributes {roll = 0 : i64} {
    %3 = graph.neg %a : (tensor<1x1x8x5x4xi8>) -> tensor<1x1x8x5x4xi8>
    graph.yield %3 : tensor<1x1x8x5x4xi8>
  }
  func.return %2 : tensor<1x1x8x5x4xi8>
}
