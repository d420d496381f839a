// RUN: aotc-opt %s -p assign-layouts --split-input-file | filecheck %s

// One chain on blocks: nothing is packed but weights, nothing is unpacked but the result. Few channels are read where
// they lie; what broadcasts is packed like what it meets; both operands of the sum are blocks.

// CHECK-LABEL: func.func @chain
// CHECK:         [[W:%.*]] = graph.pack_conv_weight %w {width = 32 : i64, depth = 3 : i64, group = 1 : i64}
// CHECK:         [[B:%.*]] = graph.reshape {{.*}} -> tensor<32xf32>
// CHECK:         [[C:%.*]] = graph.blocked_conv %x, [[W]], [[B]] {{{.*}}block = 16 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 4, order = rows>} : {{.*}} -> tensor<1x2x8x8x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.relu [[C]] : (tensor<1x2x8x8x16xf32>) -> tensor<1x2x8x8x16xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reshape %s {shape = array<i64: 1, 32, 1, 1>}
// CHECK-NEXT:    [[P:%.*]] = graph.pack_channels [[S]] {block = 16 : i64} : (tensor<1x32x1x1xf32>) -> tensor<1x2x1x1x16xf32>
// CHECK-NEXT:    [[M:%.*]] = graph.mul [[R]], [[P]]
// CHECK-NEXT:    [[A:%.*]] = graph.add [[M]], [[R]] : (tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>)
// CHECK-NEXT:    [[U:%.*]] = graph.unpack_channels [[A]] {channels = 32 : i64}
// CHECK-NEXT:    func.return [[U]]
func.func @chain(%x: tensor<1x3x8x8xf32>) -> tensor<1x32x8x8xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x3x3x3xf32>
  %b = graph.constant dense<1.0> : tensor<32xf32>
  %s = graph.constant dense<2.0> : tensor<32x1x1xf32>
  %0 = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x8x8xf32>, tensor<32x3x3x3xf32>, tensor<32xf32>) -> tensor<1x32x8x8xf32>
  %1 = graph.relu %0 : (tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  %2 = graph.mul %1, %s : (tensor<1x32x8x8xf32>, tensor<32x1x1xf32>) -> tensor<1x32x8x8xf32>
  %3 = graph.add %2, %1 : (tensor<1x32x8x8xf32>, tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  func.return %3 : tensor<1x32x8x8xf32>
}

// -----

// Movement on blocks: whole blocks of channels are cut out and joined, everything along spatial axes is as it was.

// CHECK-LABEL: func.func @movement
// CHECK:         [[C:%.*]] = graph.blocked_conv {{.*}} -> tensor<1x3x6x16xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.slice [[C]] {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 2, 6, 16>}
// CHECK-NEXT:    graph.unpack_channels [[T]] {channels = 24 : i64}
// CHECK-NEXT:    [[H:%.*]] = graph.slice [[C]] {starts = array<i64: 0, 0, 5, 0>, steps = array<i64: 1, 1, -1, 1>, shape = array<i64: 1, 3, 6, 16>}
// CHECK-NEXT:    [[P:%.*]] = graph.pad [[H]] {pads = array<i64: 0, 0, 1, 0, 0, 0, 0, 0>, mode = "edge"}
// CHECK-NEXT:    [[J:%.*]] = graph.concat [[P]], [[P]] {axis = 2 : i64} : {{.*}} -> tensor<1x3x14x16xf32>
// CHECK-NEXT:    [[G:%.*]] = graph.reduce [[J]] {kind = "mean", axes = array<i64: 2>, keepdims = false} : {{.*}} -> tensor<1x3x16xf32>
// CHECK-NEXT:    graph.unpack_channels [[G]] {channels = 40 : i64} : (tensor<1x3x16xf32>) -> tensor<1x40xf32>
func.func @movement(%x: tensor<1x16x6xf32>) -> (tensor<1x24x6xf32>, tensor<1x40xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 16, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 24, 6>} : (tensor<1x40x6xf32>) -> tensor<1x24x6xf32>
  %2 = graph.slice %0 {starts = array<i64: 0, 0, 5>, steps = array<i64: 1, 1, -1>, shape = array<i64: 1, 40, 6>} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %3 = graph.pad %2 {pads = array<i64: 0, 0, 1, 0, 0, 0>, mode = "edge"} : (tensor<1x40x6xf32>) -> tensor<1x40x7xf32>
  %4 = graph.concat %3, %3 {axis = 2} : (tensor<1x40x7xf32>, tensor<1x40x7xf32>) -> tensor<1x40x14xf32>
  %5 = graph.reduce %4 {kind = "mean", axes = array<i64: 2>, keepdims = false} : (tensor<1x40x14xf32>) -> tensor<1x40xf32>
  func.return %1, %5 : tensor<1x24x6xf32>, tensor<1x40xf32>
}

// -----

// Rows that lie within channels are normalised in blocks.

// CHECK-LABEL: func.func @rows
// CHECK:         [[C:%.*]] = graph.blocked_conv {{.*}} -> tensor<1x3x6x16xf32>
// CHECK-NEXT:    [[N:%.*]] = graph.normalize [[C]] {axes = array<i64: 2>, epsilon = 2.500000e-01 : f64} : (tensor<1x3x6x16xf32>)
// CHECK-NEXT:    [[S:%.*]] = graph.softmax [[N]] {axes = array<i64: 2>, log = false} : (tensor<1x3x6x16xf32>)
// CHECK-NEXT:    [[U:%.*]] = graph.unpack_channels [[S]] {channels = 40 : i64}
// CHECK-NEXT:    graph.softmax [[U]] {axes = array<i64: 1>
func.func @rows(%x: tensor<1x16x6xf32>) -> tensor<1x40x6xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.normalize %0 {axes = array<i64: -1>, epsilon = 0.25 : f64} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %2 = graph.softmax %1 {axes = array<i64: 2>, log = false} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  %3 = graph.softmax %2 {axes = array<i64: 1>, log = false} : (tensor<1x40x6xf32>) -> tensor<1x40x6xf32>
  func.return %3 : tensor<1x40x6xf32>
}

// -----

// What cannot work on blocks gets plain operands: a transpose, a slice or a concat in the middle of a block.

// CHECK-LABEL: func.func @plain
// CHECK:         [[C:%.*]] = graph.blocked_conv
// CHECK-NEXT:    [[U:%.*]] = graph.unpack_channels [[C]] {channels = 40 : i64}
// CHECK-NEXT:    graph.transpose [[U]]
// CHECK-NEXT:    graph.slice [[U]]
// CHECK-NEXT:    graph.concat [[U]], [[U]]
func.func @plain(%x: tensor<1x16x6xf32>) -> (tensor<1x6x40xf32>, tensor<1x16x6xf32>, tensor<1x80x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x16x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<40x16x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<1x40x6xf32>) -> tensor<1x6x40xf32>
  %2 = graph.slice %0 {starts = array<i64: 0, 8, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 16, 6>} : (tensor<1x40x6xf32>) -> tensor<1x16x6xf32>
  %3 = graph.concat %0, %0 {axis = 1} : (tensor<1x40x6xf32>, tensor<1x40x6xf32>) -> tensor<1x80x6xf32>
  func.return %1, %2, %3 : tensor<1x6x40xf32>, tensor<1x16x6xf32>, tensor<1x80x6xf32>
}

// -----

// A constant matrix is packed at compile time, a transposed one where it is; plain columns are read where they lie.
// Without a schedule all stays as it is.

// CHECK-LABEL: func.func @products
// CHECK:         [[P:%.*]] = graph.pack_columns %w {width = 32 : i64} : (tensor<16x40xf32>) -> tensor<2x16x32xf32>
// CHECK-NEXT:    graph.packed_matmul %x, [[P]] {columns = 40 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 2, unroll = 4, order = rows>} : {{.*}} -> tensor<4x40xf32>
// CHECK-NEXT:    [[T:%.*]] = graph.pack_columns %x {width = 16 : i64, transpose = true} : (tensor<4x16xf32>) -> tensor<1x16x16xf32>
// CHECK-NEXT:    graph.packed_matmul %x, [[T]] {columns = 4 : i64
// CHECK-NEXT:    graph.matmul %x, %y {schedule
// CHECK-NEXT:    graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x40xf32>)
func.func @products(%x: tensor<4x16xf32>, %y: tensor<16x4xf32>) -> (tensor<4x40xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x40xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<16x40xf32>
  %0 = graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 2, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<16x40xf32>) -> tensor<4x40xf32>
  %1 = graph.matmul %x, %x {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 1, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x4xf32>
  %2 = graph.matmul %x, %y {schedule = #graph.matmul_schedule<lanes = 16, mr = 4, nr = 1, unroll = 4, order = rows>} : (tensor<4x16xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  %3 = graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x40xf32>) -> tensor<4x40xf32>
  func.return %0, %1, %2, %3 : tensor<4x40xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x40xf32>
}

// -----

// A transposed convolution keeps its attributes; the output channels of its weight come first, group by group.

// CHECK-LABEL: func.func @transposed
// CHECK:         [[S:%.*]] = graph.reshape %w {shape = array<i64: 2, 16, 32, 2>}
// CHECK-NEXT:    [[T:%.*]] = graph.transpose [[S]] {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:    [[M:%.*]] = graph.reshape [[T]] {shape = array<i64: 64, 16, 2>}
// CHECK-NEXT:    [[X:%.*]] = graph.pack_channels %x {block = 16 : i64}
// CHECK-NEXT:    [[W:%.*]] = graph.pack_conv_weight [[M]] {width = 32 : i64, depth = 16 : i64, group = 2 : i64}
// CHECK-NEXT:    [[C:%.*]] = graph.blocked_conv_transpose [[X]], [[W]] {strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, output_padding = array<i64: 1>, group = 2 : i64, channels = 32 : i64, outputs = 64 : i64, block = 16 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 2, order = rows>} : {{.*}} -> tensor<1x4x12x16xf32>
// CHECK-NEXT:    graph.unpack_channels [[C]] {channels = 64 : i64}
func.func @transposed(%x: tensor<1x32x6xf32>) -> tensor<1x64x12xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x32x2xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 1>, dilations = array<i64: 1>, group = 2, output_padding = array<i64: 1>, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 2, order = rows>} : (tensor<1x32x6xf32>, tensor<32x32x2xf32>) -> tensor<1x64x12xf32>
  func.return %0 : tensor<1x64x12xf32>
}

// -----

// Blocks side by side: 24 and 20 channels take two blocks each, with lanes in between that belong to none. What sums
// over channels leaves them out, parameters have something for them, and the weight a channel for each lane.

// CHECK-LABEL: func.func @padding_lanes
// CHECK:         [[A:%.*]] = graph.blocked_conv %x{{.*}} -> tensor<1x2x6x16xf32>
// CHECK:         [[B:%.*]] = graph.blocked_conv [[A]]{{.*}} -> tensor<1x2x6x16xf32>
// CHECK-NEXT:    [[J:%.*]] = graph.concat [[A]], [[B]] {axis = 1 : i64} : {{.*}} -> tensor<1x4x6x16xf32>
// CHECK-NEXT:    graph.unpack_channels [[J]] {channels = 44 : i64, parts = array<i64: 24, 20>}
// CHECK:         [[P:%.*]] = graph.pack_channels {{.*}} {block = 16 : i64} : (tensor<16x44x1xf32>) -> tensor<16x3x1x16xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.regroup_channels [[P]] {sources = array<i64: 0, 1, {{.*}}, 22, 23, -1, -1, -1, -1, -1, -1, -1, -1, 24, 25, {{.*}}, 43, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1>} : (tensor<16x3x1x16xf32>) -> tensor<16x4x1x16xf32>
// CHECK-NEXT:    [[U:%.*]] = graph.unpack_channels [[R]] {channels = 52 : i64} : {{.*}} -> tensor<16x52x1xf32>
// CHECK:         graph.pack_conv_weight {{.*}} : (tensor<16x52x1xf32>) -> tensor<1x4x1x16x16xf32>
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
// CHECK-NEXT:    [[U:%.*]] = graph.unpack_channels [[A]]
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

// -----

// Groups of channels that are normalised between two reshapes: by means of the means of channels, which are few, and of
// what they are off by. What each group has one of, each of its channels gets.

// CHECK-LABEL: func.func @groups
// CHECK:         [[X:%.*]] = graph.blocked_conv %x{{.*}} -> tensor<1x1x6x16xf32>
// CHECK:         [[S:%.*]] = graph.reduce [[X]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[C:%.*]] = graph.unpack_channels [[S]] {channels = 16 : i64}
// CHECK-NEXT:    [[G:%.*]] = graph.reshape [[C]] {shape = array<i64: 1, 4, 4>}
// CHECK-NEXT:    [[M:%.*]] = graph.reduce [[G]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x4x1xf32>
// CHECK:         [[B:%.*]] = graph.broadcast {{.*}} {shape = array<i64: 1, 4, 4>}
// CHECK:         [[P:%.*]] = graph.pack_channels {{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[A:%.*]] = graph.sub [[X]], [[P]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    graph.reduce [[A]] {kind = "mean", axes = array<i64: 2>, keepdims = true} : {{.*}} -> tensor<1x1x1x16xf32>
// CHECK:         [[O:%.*]] = graph.pack_channels {{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[D:%.*]] = graph.sub [[A]], [[O]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    [[Q:%.*]] = graph.mul [[D]], [[D]]
// CHECK-NEXT:    graph.reduce [[Q]] {kind = "mean"
// CHECK:         [[R:%.*]] = graph.sqrt
// CHECK:         graph.div {{.*}}, [[R]]
// CHECK:         [[I:%.*]] = graph.pack_channels
// CHECK-NEXT:    [[N:%.*]] = graph.mul [[D]], [[I]]
// CHECK:         [[W:%.*]] = graph.pack_channels {{.*}} -> tensor<1x1x1x16xf32>
// CHECK-NEXT:    [[Y:%.*]] = graph.add [[N]], [[W]] : {{.*}} -> tensor<1x1x6x16xf32>
// CHECK-NEXT:    graph.relu [[Y]]
func.func @groups(%x: tensor<1x3x6xf32>, %w: tensor<1x4x1xf32>) -> tensor<1x16x6xf32> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<16x3x1xf32>) -> tensor<1x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 4, 24>} : (tensor<1x16x6xf32>) -> tensor<1x4x24xf32>
  %2 = graph.normalize %1 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<1x4x24xf32>) -> tensor<1x4x24xf32>
  %3 = graph.add %2, %w : (tensor<1x4x24xf32>, tensor<1x4x1xf32>) -> tensor<1x4x24xf32>
  %4 = graph.reshape %3 {shape = array<i64: 1, 16, 6>} : (tensor<1x4x24xf32>) -> tensor<1x16x6xf32>
  %5 = graph.relu %4 : (tensor<1x16x6xf32>) -> tensor<1x16x6xf32>
  func.return %5 : tensor<1x16x6xf32>
}
