// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},flip-signs,choose-schedule,assign-layouts,dce' | filecheck %s

// Factors and shifts of several blocks of channels lie as these do.
// CHECK-LABEL: func.func @channels
// CHECK:       [[C:%.*]] = graph.blocked_dot_conv
// CHECK-DAG:   [[F:%.*]] = graph.pack
// CHECK-DAG:   [[S:%.*]] = graph.pack
// CHECK:       graph.doubling_requantize [[C]], %{{.*}}, %{{.*}} {{.*}} : (tensor<1x3x8x8x16xi32>, tensor<1x3x1x1x16xi32>, tensor<1x3x1x1x16xi32>)
func.func @channels(%x: tensor<1x16x8x8xi8>, %f: tensor<48xi32>, %s: tensor<48xi32>) -> tensor<1x48x8x8xi8> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<48x16x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x16x8x8xi8>, tensor<48x16x1x1xi8>) -> tensor<1x48x8x8xi32>
  %1 = graph.doubling_requantize %0, %f, %s {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x48x8x8xi32>, tensor<48xi32>, tensor<48xi32>) -> tensor<1x48x8x8xi8>
  func.return %1 : tensor<1x48x8x8xi8>
}
