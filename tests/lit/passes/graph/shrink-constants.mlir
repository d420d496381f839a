// RUN: aotc-opt %s -p shrink-constants,canonicalize | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    [[SCALES:%.*]] = graph.constant dense<[5.000000e-01, 5.000000e-01, 1.500000e+00]> : tensor<3xf32>
// CHECK-NEXT:    [[WIDE:%.*]] = graph.constant dense<2.000000e+00> : tensor<4x3xf32>
// CHECK-NEXT:    [[SIGNED:%.*]] = graph.constant dense<"0x0000000000000080"> : tensor<2xf32>
// CHECK-NEXT:    [[TWO:%.*]] = graph.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    graph.mul %x, [[TWO]] : (tensor<4x3xf32>, tensor<f32>)
// One scale and one zero point for all channels, the zero point being 0.
// CHECK-NEXT:    [[HALF:%.*]] = graph.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:    graph.dequantize %q, [[HALF]] {{.*}} : (tensor<4x3xi8>, tensor<f32>)
// Not one scale, though one zero point, which is 0.
// CHECK-NEXT:    graph.dequantize %q, [[SCALES]] {{.*}} : (tensor<4x3xi8>, tensor<3xf32>)
// It gives the shape.
// CHECK-NEXT:    graph.add [[WIDE]], %y
// 0.0 and -0.0 are not the same.
// CHECK-NEXT:    graph.div %z, [[SIGNED]]
func.func @main(%x: tensor<4x3xf32>, %q: tensor<4x3xi8>, %y: tensor<3xf32>, %z: tensor<2xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2xf32>) attributes {aot.entry} {
  %two = graph.constant dense<2.0> : tensor<3xf32>
  %half = graph.constant dense<[0.5, 0.5, 0.5]> : tensor<3xf32>
  %zero = graph.constant dense<[0, 0, 0]> : tensor<3xi8>
  %scales = graph.constant dense<[0.5, 0.5, 1.5]> : tensor<3xf32>
  %wide = graph.constant dense<2.0> : tensor<4x3xf32>
  %signed = graph.constant dense<[0.0, -0.0]> : tensor<2xf32>
  %0 = graph.mul %x, %two : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = graph.dequantize %q, %half, %zero {to = f32} : (tensor<4x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<4x3xf32>
  %2 = graph.dequantize %q, %scales, %zero {to = f32} : (tensor<4x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<4x3xf32>
  %3 = graph.add %wide, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %4 = graph.div %z, %signed : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<2xf32>
}

// Ends that are equal do not make all elements so.
// CHECK-LABEL: func.func @ends
// CHECK:         [[ENDS:%.*]] = graph.constant dense<[5.000000e-01, 1.500000e+00, 5.000000e-01]> : tensor<3xf32>
// CHECK-NEXT:    graph.mul %x, [[ENDS]]
func.func @ends(%x: tensor<4x3xf32>) -> tensor<4x3xf32> attributes {aot.entry} {
  %ends = graph.constant dense<[0.5, 1.5, 0.5]> : tensor<3xf32>
  %0 = graph.mul %x, %ends : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %0 : tensor<4x3xf32>
}

// Parameters of a normalisation are one for each channel, even where all are equal.
// CHECK-LABEL: func.func @channels
// CHECK:         graph.batch_norm %x, [[P:%.*]], [[P]], [[P]], [[P]] {{.*}} tensor<2xf32>
func.func @channels(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> attributes {aot.entry} {
  %p = graph.constant dense<[2.0, 2.0]> : tensor<2xf32>
  %0 = graph.batch_norm %x, %p, %p, %p, %p {epsilon = 0.0 : f64} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// What has one element stays, and what has none.
// CHECK-LABEL: func.func @few
// CHECK:         graph.mul %x, {{.*}} : (tensor<4x3xf32>, tensor<1xf32>)
// CHECK:         graph.mul %y, {{.*}} : (tensor<4x0xf32>, tensor<0xf32>)
func.func @few(%x: tensor<4x3xf32>, %y: tensor<4x0xf32>) -> (tensor<4x3xf32>, tensor<4x0xf32>) attributes {aot.entry} {
  %one = graph.constant dense<2.0> : tensor<1xf32>
  %none = graph.constant dense<> : tensor<0xf32>
  %0 = graph.mul %x, %one : (tensor<4x3xf32>, tensor<1xf32>) -> tensor<4x3xf32>
  %1 = graph.mul %y, %none : (tensor<4x0xf32>, tensor<0xf32>) -> tensor<4x0xf32>
  func.return %0, %1 : tensor<4x3xf32>, tensor<4x0xf32>
}
