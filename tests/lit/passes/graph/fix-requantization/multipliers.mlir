// RUN: aotc-opt %s -p 'attach-target{target=test-m4},fix-requantization' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m0},fix-requantization' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},fix-requantization{doubling=true}' | filecheck %s

// Of 0, for all or one channel, of what is less, and of infinity there is no fixed point.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     fixed_requantize
// CHECK-NOT:     doubling_requantize
// CHECK:         func.return
func.func @main(%x: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>) attributes {aot.entry} {
  %w = graph.constant dense<[[1, -2], [4, 3]]> : tensor<2x2xi8>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %less = graph.constant dense<-9.765625e-02> : tensor<f32>
  %infinite = graph.constant dense<0x7F800000> : tensor<f32>
  %one = graph.constant dense<[9.765625e-02, 0.0]> : tensor<2xf32>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32>
  %1 = graph.requantize %0, %zero {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  %2 = graph.requantize %0, %less {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  %3 = graph.requantize %0, %infinite {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<f32>) -> tensor<1x2xi8>
  %4 = graph.requantize %0, %one {axis = 1, zero_point = 3, low = 3, high = 127, to = i8} : (tensor<1x2xi32>, tensor<2xf32>) -> tensor<1x2xi8>
  func.return %1, %2, %3, %4 : tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>
}
