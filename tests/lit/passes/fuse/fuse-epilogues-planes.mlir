// RUN: aotc-opt %s --split-input-file -p fuse-epilogues | filecheck %s

// An anchor on a core without vectors writes single elements, into the planes of a result of the model, too.

// CHECK-LABEL: func.func @planes
// CHECK:         %{{.*}} = graph.fused {{.*}} -> (tensor<1x2x6x6xf32>) {
// CHECK:           graph.channels_last_conv
// CHECK:           graph.unpack
func.func @planes(%x: tensor<1x6x18xf32>, %w: tensor<6xf32>) -> tensor<1x2x6x6xf32> attributes {aot.entry} {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, kernel_shape = array<i64: 1, 1>, channels = 3 : i64, outputs = 2 : i64, columns = 2 : i64, word = 1 : i64, schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 2, word = 1, unroll = 1>} : (tensor<1x6x18xf32>, tensor<6xf32>) -> tensor<1x1x6x6x2xf32>
  %1 = graph.unpack %0 {layout = #graph.layout<channels (d0, d1 floordiv 2, d2, d3, d1 mod 2)>, shape = array<i64: 1, 2, 6, 6>} : (tensor<1x1x6x6x2xf32>) -> tensor<1x2x6x6xf32>
  func.return %1 : tensor<1x2x6x6xf32>
}

// -----

// Not where a kernel reads the planes, which had better read the channels last.

// CHECK-LABEL: func.func @read
// CHECK-NOT:     graph.fused
func.func @read(%x: tensor<1x6x18xf32>, %w: tensor<6xf32>) -> tensor<1x2x6x6xf32> attributes {aot.entry} {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, kernel_shape = array<i64: 1, 1>, channels = 3 : i64, outputs = 2 : i64, columns = 2 : i64, word = 1 : i64, schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 2, word = 1, unroll = 1>} : (tensor<1x6x18xf32>, tensor<6xf32>) -> tensor<1x1x6x6x2xf32>
  %1 = graph.unpack %0 {layout = #graph.layout<channels (d0, d1 floordiv 2, d2, d3, d1 mod 2)>, shape = array<i64: 1, 2, 6, 6>} : (tensor<1x1x6x6x2xf32>) -> tensor<1x2x6x6xf32>
  %2 = graph.softmax %1 {axes = array<i64: 3>} : (tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  func.return %2 : tensor<1x2x6x6xf32>
}

// -----

// Nor where sums are in lanes, which are stored together, or two blocks of channels lie one behind the other.

// CHECK-LABEL: func.func @lanes
// CHECK-NOT:     graph.fused
func.func @lanes(%x: tensor<1x6x18xf32>, %w: tensor<6xf32>) -> tensor<1x2x6x6xf32> attributes {aot.entry} {
  %0 = graph.channels_last_conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, kernel_shape = array<i64: 1, 1>, channels = 3 : i64, outputs = 2 : i64, columns = 2 : i64, word = 1 : i64, schedule = #graph.sums_schedule<lanes = 4, positions = 2, columns = 2, word = 1, unroll = 1>} : (tensor<1x6x18xf32>, tensor<6xf32>) -> tensor<1x1x6x6x2xf32>
  %1 = graph.unpack %0 {layout = #graph.layout<channels (d0, d1 floordiv 2, d2, d3, d1 mod 2)>, shape = array<i64: 1, 2, 6, 6>} : (tensor<1x1x6x6x2xf32>) -> tensor<1x2x6x6xf32>
  func.return %1 : tensor<1x2x6x6xf32>
}
