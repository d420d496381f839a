// RUN: aotc-opt %s --split-input-file | aotc-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @rolled
// CHECK:         graph.rolled ([[A:%.*]] = %x : tensor<1x8x4xi8>) -> (tensor<8x4xi8>, tensor<4xi8>) {
// CHECK-NEXT:      [[B:%.*]] = graph.fused ({{%.*}} = [[A]] : tensor<1x8x4xi8>) -> (tensor<1x8x4xi8>) {
// CHECK:           [[C:%.*]] = graph.reshape [[B]]
// CHECK-NEXT:      [[D:%.*]] = graph.fused ({{%.*}} = [[C]] : tensor<8x4xi8>)
// CHECK:           graph.yield [[D]] : tensor<8x4xi8>
func.func @rolled(%x: tensor<1x8x4xi8>) -> tensor<8x4xi8> {
  %0, %1 = graph.rolled (%a = %x : tensor<1x8x4xi8>) -> (tensor<8x4xi8>, tensor<4xi8>) {
    %2 = graph.fused (%b = %a : tensor<1x8x4xi8>) -> (tensor<1x8x4xi8>) {
      %3 = graph.neg %b : (tensor<1x8x4xi8>) -> tensor<1x8x4xi8>
      graph.yield %3 : tensor<1x8x4xi8>
    }
    %4 = graph.reshape %2 {shape = array<i64: 8, 4>} : (tensor<1x8x4xi8>) -> tensor<8x4xi8>
    %5 = graph.fused (%b = %4 : tensor<8x4xi8>) -> (tensor<8x4xi8>) {
      %6 = graph.abs %b : (tensor<8x4xi8>) -> tensor<8x4xi8>
      graph.yield %6 : tensor<8x4xi8>
    }
    graph.yield %5 : tensor<8x4xi8>
  }
  func.return %0 : tensor<8x4xi8>
}
