// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

// Weights that no narrow type holds: sums of i32 stay as they are.
// CHECK-LABEL: func.func @main
// CHECK:       graph.matmul %{{.*}}, %{{.*}} : (tensor<4x2xi32>, tensor<2x2xi32>)
func.func @main(%d: tensor<4x2xi8>) -> tensor<4x2xi32> attributes {aot.entry} {
  %k = graph.constant dense<[[1, -2], [3, 40000]]> : tensor<2x2xi32>
  %di = graph.cast %d {to = i32} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %p = graph.matmul %di, %k : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %p : tensor<4x2xi32>
}
