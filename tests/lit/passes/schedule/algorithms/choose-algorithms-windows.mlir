// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms,choose-schedule,assign-layouts' | filecheck %s

// Windows of other shapes than 3 x 3: along one axis, in segments of 3 taps; along three, the first of which may have a
// stride; along one of two, the other one with a stride or with other taps.

// CHECK-LABEL: func.func @one_axis
// CHECK:      graph.winograd_weight %{{.*}} {output_tile = 4 : i64, width = 32 : i64} : (tensor<32x32x5xf32>) -> tensor<1x6x64x32xf32>
// CHECK-NEXT: graph.winograd_conv %{{.*}} {kernel = array<i64: 5>, pads = array<i64: 2, 2>, channels = 32 : i64, outputs = 32 : i64, output_tile = 4 : i64, tile_rows = 1 : i64, {{.*}} : (tensor<1x2x512x16xf32>, tensor<1x6x64x32xf32>) -> (tensor<1x2x512x16xf32>, tensor<6x129x80xf32>, tensor<6x129x32xf32>)
func.func @one_axis(%x: tensor<1x32x512xf32>) -> tensor<1x32x512xf32> attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<32x32x5xf32>
  %1 = graph.conv %x, %0 {strides = array<i64: 1>, pads = array<i64: 2, 2>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x32x512xf32>, tensor<32x32x5xf32>) -> tensor<1x32x512xf32>
  func.return %1 : tensor<1x32x512xf32>
}

// CHECK-LABEL: func.func @three_axes
// CHECK:      graph.winograd_weight %{{.*}} {output_tile = 4 : i64, width = 32 : i64, tiled_axes = array<i64: 1, 2>} : (tensor<32x32x3x3x3xf32>) -> tensor<1x36x96x32xf32>
// CHECK-NEXT: graph.winograd_conv %{{.*}} {strides = array<i64: 2, 1, 1>, tiled_axes = array<i64: 1, 2>, pads = array<i64: 1, 1, 1, 1, 1, 1>,
func.func @three_axes(%x: tensor<1x32x8x28x28xf32>) -> tensor<1x32x4x28x28xf32> attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<32x32x3x3x3xf32>
  %1 = graph.conv %x, %0 {strides = array<i64: 2, 1, 1>, pads = array<i64: 1, 1, 1, 1, 1, 1>, dilations = array<i64: 1, 1, 1>, group = 1 : i64} : (tensor<1x32x8x28x28xf32>, tensor<32x32x3x3x3xf32>) -> tensor<1x32x4x28x28xf32>
  func.return %1 : tensor<1x32x4x28x28xf32>
}

// CHECK-LABEL: func.func @one_of_two
// CHECK:      graph.winograd_conv %{{.*}} {strides = array<i64: 2, 1>, tiled_axes = array<i64: 1>, pads = array<i64: 1, 1, 1, 1>,
// CHECK:      graph.winograd_conv %{{.*}} {kernel = array<i64: 7, 1>, tiled_axes = array<i64: 0>, pads = array<i64: 3, 0, 3, 0>,
func.func @one_of_two(%x: tensor<1x32x56x28xf32>) -> (tensor<1x32x28x28xf32>, tensor<1x32x56x28xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<32x32x3x3xf32>
  %1 = graph.constant dense<1.0> : tensor<32x32x7x1xf32>
  %2 = graph.conv %x, %0 {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x32x56x28xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32>
  %3 = graph.conv %x, %1 {strides = array<i64: 1, 1>, pads = array<i64: 3, 0, 3, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x32x56x28xf32>, tensor<32x32x7x1xf32>) -> tensor<1x32x56x28xf32>
  func.return %2, %3 : tensor<1x32x28x28xf32>, tensor<1x32x56x28xf32>
}

// The first of three axes is not cut into tiles, whatever its window; nor are axes of 2 taps.
// CHECK-LABEL: func.func @none
// CHECK-NOT: winograd
func.func @none(%x: tensor<1x32x28x28x28xf32>) -> (tensor<1x32x28x28x28xf32>, tensor<1x32x28x27x27xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<32x32x3x1x1xf32>
  %1 = graph.constant dense<1.0> : tensor<32x32x1x2x2xf32>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1, 1>, pads = array<i64: 1, 0, 0, 1, 0, 0>, dilations = array<i64: 1, 1, 1>, group = 1 : i64} : (tensor<1x32x28x28x28xf32>, tensor<32x32x3x1x1xf32>) -> tensor<1x32x28x28x28xf32>
  %3 = graph.conv %x, %1 {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>, group = 1 : i64} : (tensor<1x32x28x28x28xf32>, tensor<32x32x1x2x2xf32>) -> tensor<1x32x28x27x27xf32>
  func.return %2, %3 : tensor<1x32x28x28x28xf32>, tensor<1x32x28x27x27xf32>
}
