// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.random {distribution = "normal", seed = 7 : i64, low = 0.000000e+00 : f64, high = 1.000000e+00 : f64, shape = array<i64: 2, 3>, to = f16} : () -> tensor<2x3xf16>
// CHECK-NEXT: graph.determinant %m : (tensor<5x3x3xf32>) -> (tensor<5xf32>, tensor<5x3x3xf32>)
// CHECK-NEXT: graph.inverse %m : (tensor<5x3x3xf32>) -> (tensor<5x3x3xf32>, tensor<5x3x6xf32>)
// CHECK-NEXT: graph.bit_cast %m {to = i32} : (tensor<5x3x3xf32>) -> tensor<5x3x3xi32>
// CHECK-NEXT: graph.reverse_sequence %m, %l {batch = 1 : i64, time = 0 : i64} : (tensor<5x3x3xf32>, tensor<3xi64>) -> tensor<5x3x3xf32>
// CHECK-NEXT: graph.update_cache %m, %u, %s {axis = 1 : i64, circular = true} : (tensor<5x3x3xf32>, tensor<5x2x3xf32>, tensor<5xi64>) -> tensor<5x3x3xf32>
func.func @forms(%m: tensor<5x3x3xf32>, %l: tensor<3xi64>, %u: tensor<5x2x3xf32>, %s: tensor<5xi64>) {
  %0 = graph.random {distribution = "normal", seed = 7, low = 0.0 : f64, high = 1.0 : f64, shape = array<i64: 2, 3>, to = f16} : () -> tensor<2x3xf16>
  %1, %2 = graph.determinant %m : (tensor<5x3x3xf32>) -> (tensor<5xf32>, tensor<5x3x3xf32>)
  %6, %7 = graph.inverse %m : (tensor<5x3x3xf32>) -> (tensor<5x3x3xf32>, tensor<5x3x6xf32>)
  %3 = graph.bit_cast %m {to = i32} : (tensor<5x3x3xf32>) -> tensor<5x3x3xi32>
  %4 = graph.reverse_sequence %m, %l {batch = 1, time = 0} : (tensor<5x3x3xf32>, tensor<3xi64>) -> tensor<5x3x3xf32>
  %5 = graph.update_cache %m, %u, %s {axis = 1, circular = true} : (tensor<5x3x3xf32>, tensor<5x2x3xf32>, tensor<5xi64>) -> tensor<5x3x3xf32>
  func.return
}

// An element is a function of its position: no state, and loops whose iterations do not depend on each other.
// LOOPS-LABEL: func.func private @uniform
// LOOPS:      ^bb0(%[[I:.*]]: index):
// LOOPS:        %[[N:.*]] = arith.index_cast %[[I]] : index to i64
// LOOPS:        arith.shrui
// LOOPS:        arith.muli
// LOOPS-NOT:    memref.load
// LOOPS:        memref.store %{{.*}}, %out[%[[I]]]
func.func private @uniform(%out: memref<40xf32>) attributes {aot.kernel} {
  %0 = graph.random {distribution = "uniform", seed = 7, low = 0.0 : f64, high = 1.0 : f64, shape = array<i64: 40>, to = f32} : () -> tensor<40xf32>
  bufferization.materialize_in_destination %0 in %out : (tensor<40xf32>, memref<40xf32>) -> ()
  func.return
}
