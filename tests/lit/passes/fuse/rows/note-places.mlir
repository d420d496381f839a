// RUN: aotc-opt %s -p 'note-places' | filecheck %s

// Places that are constant are known, in a group and alone; those that a caller gives are not.

// CHECK-LABEL: func.func @main
// CHECK:         graph.gather {{.*}} {axis = 0 : i64, reads = array<i64: 1, 2, 0, 0>}
// CHECK:         graph.gather {{.*}} {axis = 0 : i64, reads = array<i64: 4, 3, 3, 3>}
// CHECK:         graph.gather {{.*}} {axis = 0 : i64} :
func.func @main(%x: tensor<4x8xi8>, %i: tensor<2xi64>) -> (tensor<8x8xi8>, tensor<3x8xi8>, tensor<2x8xi8>) attributes {aot.entry} {
  %p = graph.constant dense<[0, 0, 1, 1, 2, 2, 3, 3]> : tensor<8xi64>
  %0 = graph.fused (%a = %x : tensor<4x8xi8>, %b = %p : tensor<8xi64>) -> (tensor<8x8xi8>) {
    %3 = graph.gather %a, %b {axis = 0} : (tensor<4x8xi8>, tensor<8xi64>) -> tensor<8x8xi8>
    graph.yield %3 : tensor<8x8xi8>
  }
  %q = graph.constant dense<[1, 2, 3]> : tensor<3xi64>
  %1 = graph.gather %x, %q {axis = 0} : (tensor<4x8xi8>, tensor<3xi64>) -> tensor<3x8xi8>
  %2 = graph.gather %x, %i {axis = 0} : (tensor<4x8xi8>, tensor<2xi64>) -> tensor<2x8xi8>
  func.return %0, %1, %2 : tensor<8x8xi8>, tensor<3x8xi8>, tensor<2x8xi8>
}
