// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' --split-input-file | filecheck %s

// A convolution takes channels in any lanes and leaves its own as its readers want them: those of another one, whether
// transposed or not, do not matter, that what is read of its result begins at channel 20.
// CHECK-LABEL: func.func @readers
// CHECK:       graph.blocked_conv %x, {{.*}}outputs = 40 : i64
// CHECK-NOT:   parts
// CHECK:       graph.blocked_conv %{{.*}}channels = 40 : i64, outputs = 52 : i64
// CHECK:       graph.blocked_conv_transpose %{{.*}}channels = 40 : i64, outputs = 16 : i64
func.func @readers(%x: tensor<1x3x6xf32>) -> (tensor<1x4x6xf32>, tensor<1x16x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<40x3x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<40x40x1xf32>
  %w2 = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<40x3x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.conv %0, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x40x6xf32>, tensor<40x40x1xf32>) -> tensor<1x40x6xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 20, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 4, 6>} : (tensor<1x40x6xf32>) -> tensor<1x4x6xf32>
  %3 = graph.relu %2 : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %4 = graph.conv_transpose %0, %w2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, output_padding = array<i64: 0>, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x40x6xf32>, tensor<40x16x1xf32>) -> tensor<1x16x6xf32>
  %5 = graph.relu %4 : (tensor<1x16x6xf32>) -> tensor<1x16x6xf32>
  func.return %3, %5 : tensor<1x4x6xf32>, tensor<1x16x6xf32>
}

// -----

// Fewer channels than lanes are read as they lie. Blocks of the reduction are of whole blocks of dense channels.
// CHECK-LABEL: func.func @blocks
// CHECK:       graph.pack %x {{.*}} -> tensor<1x1x6x16xf32>
// CHECK:       %[[A:.*]], %{{.*}} = graph.blocked_conv {{.*}}kc = 8>
// CHECK:       graph.blocked_conv %y, {{.*}}order = columns>
// CHECK:       graph.blocked_conv {{.*}}group = 2 : i64, {{.*}}order = columns>
// CHECK:       graph.blocked_conv {{.*}}parts = array<i64: 24, 24>, {{.*}}order = columns>
func.func @blocks(%x: tensor<1x16x6xf32>, %y: tensor<1x15x6xf32>) -> (tensor<1x24x6xf32>, tensor<1x24x6xf32>, tensor<1x24x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<24x16x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<24x15x1xf32>
  %w2 = graph.constant dense<1.0> : tensor<24x12x1xf32>
  %w3 = graph.constant dense<1.0> : tensor<24x48x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = columns, kc = 8>} : (tensor<1x16x6xf32>, tensor<24x16x1xf32>) -> tensor<1x24x6xf32>
  %1 = graph.conv %y, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = columns, kc = 8>} : (tensor<1x15x6xf32>, tensor<24x15x1xf32>) -> tensor<1x24x6xf32>
  %2 = graph.conv %1, %w2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = columns, kc = 8>} : (tensor<1x24x6xf32>, tensor<24x12x1xf32>) -> tensor<1x24x6xf32>
  %3 = graph.concat %0, %1 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x24x6xf32>) -> tensor<1x48x6xf32>
  %4 = graph.conv %3, %w3 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = columns, kc = 8>} : (tensor<1x48x6xf32>, tensor<24x48x1xf32>) -> tensor<1x24x6xf32>
  func.return %1, %2, %4 : tensor<1x24x6xf32>, tensor<1x24x6xf32>, tensor<1x24x6xf32>
}
