// RUN: aotc-opt %s -p flush-subnormals,dce | filecheck %s

// Weights and biases of sums lose what is smaller than the least normal float, which stays. Not what is as good as all
// there is, nor zeros, f64, nor what is multiplied element by element, though a sum reads it, too.
// CHECK-LABEL: func.func @main
// CHECK:         %w = graph.constant dense<[{{\[}}9.999950e-41, 1.000000e+00{{\]}}, {{\[}}1.17549435e-38, -1.000000e-39{{\]}}]> : tensor<2x2xf32>
// CHECK:         [[W:%.*]] = graph.constant dense<[{{\[}}0.000000e+00, 1.000000e+00{{\]}}, {{\[}}1.17549435e-38, 0.000000e+00{{\]}}]> : tensor<2x2xf32>
// CHECK:         [[B:%.*]] = graph.constant dense<[2.000000e+00, 0.000000e+00]>
// CHECK:         graph.matmul %x, [[W]]
// CHECK:         graph.add {{.*}}, [[B]]
// CHECK:         graph.mul {{.*}}, %w
// CHECK:         graph.matmul {{.*}}, %small
// CHECK:         graph.matmul {{.*}}, %zeros
// CHECK:         graph.matmul %d, %wide
func.func @main(%x: tensor<2x2xf32>, %d: tensor<2x2xf64>) -> (tensor<2x2xf32>, tensor<2x2xf64>) attributes {aot.entry} {
  %w = graph.constant dense<[[1.0e-40, 1.0], [1.17549435e-38, -1.0e-39]]> : tensor<2x2xf32>
  %b = graph.constant dense<[2.0, 1.0e-41]> : tensor<2xf32>
  %small = graph.constant dense<[[1.0e-40, 1.0e-33], [0.0, 0.0]]> : tensor<2x2xf32>
  %wide = graph.constant dense<[[1.0e-40, 1.0000000000000002], [0.0, 0.0]]> : tensor<2x2xf64>
  %0 = graph.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.add %0, %b : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %2 = graph.mul %1, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = graph.matmul %2, %small : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %zeros = graph.constant dense<[[0.0, 1.0], [-0.0, 0.0]]> : tensor<2x2xf32>
  %5 = graph.matmul %3, %zeros : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %4 = graph.matmul %d, %wide : (tensor<2x2xf64>, tensor<2x2xf64>) -> tensor<2x2xf64>
  func.return %5, %4 : tensor<2x2xf32>, tensor<2x2xf64>
}
