// RUN: aotc-opt %s -p prove-fractions | filecheck %s

// The greatest float below 1 leaves no sum beyond i32; 1 does, as -1 does, and what is not known may.
// CHECK-LABEL: func.func @multipliers
// CHECK:       graph.requantize %x, %below {{.*}}fractions
// CHECK-NEXT:  graph.requantize %x, %one
// CHECK-NOT:   fractions
// CHECK:       func.return
func.func @multipliers(%x: tensor<2x2xi32>, %m: tensor<2xf32>) -> tensor<2x2xi8> attributes {aot.entry} {
  %below = graph.constant dense<[0.99999994, -0.99999994]> : tensor<2xf32>
  %one = graph.constant dense<[0.5, 1.0]> : tensor<2xf32>
  %less = graph.constant dense<[-1.0, 0.5]> : tensor<2xf32>
  %nan = graph.constant dense<[0x7FC00000, 0.5]> : tensor<2xf32>
  %0 = graph.requantize %x, %below {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xi8>
  %1 = graph.requantize %x, %one {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xi8>
  %2 = graph.requantize %x, %less {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xi8>
  %3 = graph.requantize %x, %nan {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xi8>
  %4 = graph.requantize %x, %m {low = -128 : i64, high = 127 : i64, to = i8} : (tensor<2x2xi32>, tensor<2xf32>) -> tensor<2x2xi8>
  func.return %0 : tensor<2x2xi8>
}
