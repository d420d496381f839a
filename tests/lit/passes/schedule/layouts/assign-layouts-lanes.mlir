// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' --split-input-file | filecheck %s

// Blocks side by side: 24 and 20 channels take two blocks each, with lanes in between that belong to none. What sums
// over channels leaves them out, parameters have something for them, and the weight a channel for each lane.

// CHECK-LABEL: func.func @padding_lanes
// CHECK:         [[A:%.*]] = graph.blocked_conv %x{{.*}} -> tensor<1x2x6x16xf32>
// CHECK:         [[B:%.*]] = graph.blocked_conv [[A]]{{.*}} -> tensor<1x2x6x16xf32>
// CHECK-NEXT:    [[J:%.*]] = graph.concat [[A]], [[B]] {axis = 1 : i64} : {{.*}} -> tensor<1x4x6x16xf32>
// CHECK-NEXT:    graph.unpack [[J]] {layout = #graph.layout<channels ({{[^)]*}}), parts = [24, 20]>, shape = array<i64: {{[0-9]+}}, 44{{(, [0-9]+)*}}>}
// CHECK:         [[P:%.*]] = graph.pack {{.*}} {layout = #graph.layout<channels (d0, d1 floordiv 16, d2, d1 mod 16)>} : (tensor<16x44x1xf32>) -> tensor<16x3x1x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.regroup_channels [[P]] {sources = array<i64: 0, 1, {{.*}}, 22, 23, -1, -1, -1, -1, -1, -1, -1, -1, 24, 25, {{.*}}, 43, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1>} : (tensor<16x3x1x16xf32>) -> tensor<16x4x1x16xf32>
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[R]] {layout = #graph.layout<channels {{[^>]*}}>, shape = array<i64: {{[0-9]+}}, 52{{(, [0-9]+)*}}>} : {{.*}} -> tensor<16x52x1xf32>
// CHECK:         graph.pack {{.*}}conv_weight{{.*}} : (tensor<16x52x1xf32>) -> tensor<1x4x1x16x16xf32>
// CHECK-NEXT:    graph.blocked_conv [[J]], {{.*}}channels = 44 : i64, parts = array<i64: 24, 20>, outputs = 16 : i64
func.func @padding_lanes(%x: tensor<1x3x6xf32>) -> (tensor<1x44x6xf32>, tensor<1x16x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<24x3x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<20x24x1xf32>
  %w2 = graph.constant dense<1.0> : tensor<16x44x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<24x3x1xf32>) -> tensor<1x24x6xf32>
  %1 = graph.conv %0, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x24x6xf32>, tensor<20x24x1xf32>) -> tensor<1x20x6xf32>
  %2 = graph.concat %0, %1 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x20x6xf32>) -> tensor<1x44x6xf32>
  %3 = graph.conv %2, %w2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x44x6xf32>, tensor<16x44x1xf32>) -> tensor<1x16x6xf32>
  func.return %2, %3 : tensor<1x44x6xf32>, tensor<1x16x6xf32>
}

// -----

// Parts of 8 channels would leave every other lane empty: they are put together in one block. A pointwise operation that
// reads blocks side by side drops the padding lanes between them on its way.

// CHECK-LABEL: func.func @closed
// CHECK:         [[A:%.*]] = graph.blocked_conv %x
// CHECK-NEXT:    [[J:%.*]] = graph.regroup_channels [[A]], [[A]] {sources = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23>} : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    graph.relu [[J]]
// CHECK:         [[B:%.*]] = graph.blocked_conv %x{{.*}} -> tensor<1x2x6x16xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.concat [[B]], [[B]], [[B]] {axis = 1 : i64} : {{.*}} -> tensor<1x6x6x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.regroup_channels [[C]] {sources = array<i64: 0, {{.*}}, 87, -1, {{.*}}, -1>} : (tensor<1x6x6x16xf32>) -> tensor<1x5x6x16xf32>
// CHECK-NEXT:    graph.relu [[R]] : (tensor<1x5x6x16xf32>)
func.func @closed(%x: tensor<1x3x6xf32>) -> (tensor<1x16x6xf32>, tensor<1x72x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<8x3x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<24x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<8x3x1xf32>) -> tensor<1x8x6xf32>
  %1 = graph.concat %0, %0 {axis = 1} : (tensor<1x8x6xf32>, tensor<1x8x6xf32>) -> tensor<1x16x6xf32>
  %2 = graph.relu %1 : (tensor<1x16x6xf32>) -> tensor<1x16x6xf32>
  %3 = graph.conv %x, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<24x3x1xf32>) -> tensor<1x24x6xf32>
  %4 = graph.concat %3, %3, %3 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x24x6xf32>, tensor<1x24x6xf32>) -> tensor<1x72x6xf32>
  %5 = graph.relu %4 : (tensor<1x72x6xf32>) -> tensor<1x72x6xf32>
  func.return %2, %5 : tensor<1x16x6xf32>, tensor<1x72x6xf32>
}

// -----

// Who reads a convolution's result decides where its channels are: both halves begin with a block, and so does what is
// added to one of them.

// CHECK-LABEL: func.func @halves
// CHECK:         [[W:%.*]] = graph.reshape {{.*}} -> tensor<58x3x1xf32>
// CHECK:         [[A:%.*]] = graph.blocked_conv %x, {{.*}}outputs = 58 : i64{{.*}} -> tensor<1x4x6x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[A]]
// CHECK-NEXT:    [[L:%.*]] = graph.slice [[R]] {starts = array<i64: 0, 0, 0, 0>, {{.*}}shape = array<i64: 1, 2, 6, 16>}
// CHECK-NEXT:    [[H:%.*]] = graph.slice [[R]] {starts = array<i64: 0, 2, 0, 0>, {{.*}}shape = array<i64: 1, 2, 6, 16>}
// CHECK-NEXT:    graph.mul [[L]], [[H]] : (tensor<1x2x6x16xf32>, tensor<1x2x6x16xf32>)
func.func @halves(%x: tensor<1x3x6xf32>) -> tensor<1x26x6xf32> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<52x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<52x3x1xf32>) -> tensor<1x52x6xf32>
  %1 = graph.relu %0 : (tensor<1x52x6xf32>) -> tensor<1x52x6xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %3 = graph.slice %1 {starts = array<i64: 0, 26, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %4 = graph.mul %2, %3 : (tensor<1x26x6xf32>, tensor<1x26x6xf32>) -> tensor<1x26x6xf32>
  func.return %4 : tensor<1x26x6xf32>
}

// -----

// A channel shuffle and a slice in the middle of a block move lanes; whatever else moves is no shuffle.

// CHECK-LABEL: func.func @shuffle
// CHECK:         [[A:%.*]] = graph.blocked_conv %x
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[A]]
// CHECK:         [[S:%.*]] = graph.regroup_channels [[A]] {sources = array<i64: 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15>}
// CHECK-NEXT:    graph.relu [[S]]
// CHECK:         [[C:%.*]] = graph.regroup_channels [[S]] {sources = array<i64: 3, 5, 7, 9, -1, {{.*}}-1>}
// CHECK-NEXT:    graph.relu [[C]]
// CHECK:         [[P:%.*]] = graph.reshape [[U]]
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[P]]
// CHECK-NEXT:    graph.reshape [[T]]
func.func @shuffle(%x: tensor<1x3x6xf32>) -> (tensor<1x16x6xf32>, tensor<1x4x6xf32>, tensor<1x16x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<16x3x1xf32>) -> tensor<1x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 2, 8, 6>} : (tensor<1x16x6xf32>) -> tensor<1x2x8x6xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x8x6xf32>) -> tensor<1x8x2x6xf32>
  %3 = graph.reshape %2 {shape = array<i64: 1, 16, 6>} : (tensor<1x8x2x6xf32>) -> tensor<1x16x6xf32>
  %4 = graph.relu %3 : (tensor<1x16x6xf32>) -> tensor<1x16x6xf32>
  %5 = graph.slice %3 {starts = array<i64: 0, 3, 0>, steps = array<i64: 1, 2, 1>, shape = array<i64: 1, 4, 6>} : (tensor<1x16x6xf32>) -> tensor<1x4x6xf32>
  %6 = graph.relu %5 : (tensor<1x4x6xf32>) -> tensor<1x4x6xf32>
  %7 = graph.reshape %0 {shape = array<i64: 1, 4, 4, 6>} : (tensor<1x16x6xf32>) -> tensor<1x4x4x6xf32>
  %8 = graph.transpose %7 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x4x4x6xf32>) -> tensor<1x4x6x4xf32>
  %9 = graph.reshape %8 {shape = array<i64: 1, 16, 6>} : (tensor<1x4x6x4xf32>) -> tensor<1x16x6xf32>
  func.return %4, %6, %9 : tensor<1x16x6xf32>, tensor<1x4x6xf32>, tensor<1x16x6xf32>
}
