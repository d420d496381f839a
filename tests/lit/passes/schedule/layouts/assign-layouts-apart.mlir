// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule,assign-layouts,dce' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule,assign-layouts,dce' | filecheck %s --check-prefix VECTORS

// Where channels come last, parts of any width are concatenated along the last axis, and kernels write them in their
// places; parts that are computed otherwise are packed. Along another axis, and on vectors, nobody asks for that.
// CHECK-LABEL: func.func @main
// CHECK:       [[A:%.*]] = graph.channels_last_conv
// CHECK:       [[B:%.*]] = graph.channels_last_conv
// CHECK:       [[P:%.*]] = graph.pack %y
// CHECK-NEXT:  [[C:%.*]] = graph.concat [[A]], [[B]], [[P]] {axis = 4 : i64, in_place = true} : (tensor<1x1x5x6x3xf32>, tensor<1x1x5x6x4xf32>, tensor<1x1x5x6x2xf32>) -> tensor<1x1x5x6x9xf32>
// CHECK-NEXT:  graph.reshape [[C]]
// CHECK:       [[D:%.*]] = graph.channels_last_conv
// CHECK:       graph.concat [[D]], [[D]] {axis = 2 : i64} :
// CHECK:       func.return
// VECTORS-LABEL: func.func @main
// VECTORS-NOT:   in_place
func.func @main(%x: tensor<1x8x5x6xf32>, %y: tensor<1x2x5x6xf32>) -> tensor<1x4x10x6xf32> attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<3x8x1x1xf32>
  %1 = graph.constant dense<1.0> : tensor<4x8x1x1xf32>
  %2 = graph.constant dense<1.0> : tensor<4x9x1x1xf32>
  %3 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x8x5x6xf32>, tensor<3x8x1x1xf32>) -> tensor<1x3x5x6xf32>
  %4 = graph.conv %x, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x8x5x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x5x6xf32>
  %5 = graph.concat %3, %4, %y {axis = 1} : (tensor<1x3x5x6xf32>, tensor<1x4x5x6xf32>, tensor<1x2x5x6xf32>) -> tensor<1x9x5x6xf32>
  %6 = graph.conv %5, %2 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x9x5x6xf32>, tensor<4x9x1x1xf32>) -> tensor<1x4x5x6xf32>
  %7 = graph.concat %6, %6 {axis = 2} : (tensor<1x4x5x6xf32>, tensor<1x4x5x6xf32>) -> tensor<1x4x10x6xf32>
  func.return %7 : tensor<1x4x10x6xf32>
}
