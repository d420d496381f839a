// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' --split-input-file | filecheck %s

// What keeps a tensor, or the blocks of a reduction, from the layout that its neighbours have.

// Groups read their channels without padding lanes, also few of them, and write them so, whoever reads them. Neither they
// nor a convolution that reads few channels where they lie have blocks of the reduction.

// CHECK-LABEL: func.func @groups
// CHECK:         graph.blocked_conv %x, {{.*}}channels = 3 : i64, {{.*}}order = columns>}
// CHECK:         [[J:%.*]] = graph.concat {{.*}} {axis = 1 : i64} : {{.*}} -> tensor<1x4x6x16xf32>
// CHECK:         [[R:%.*]] = graph.regroup_channels [[J]] {{{.*}}} : (tensor<1x4x6x16xf32>) -> tensor<1x3x6x16xf32>
// CHECK:         graph.blocked_conv [[R]], {{.*}}group = 2 : i64, channels = 44 : i64, outputs = 44 : i64, {{.*}}order = columns>}
// CHECK:         [[P:%.*]] = graph.pack %g {layout = #graph.layout<channels ({{[^)]*}} mod 16)>}
// CHECK:         [[G:%.*]] = graph.blocked_conv [[P]], {{.*}}group = 2 : i64, channels = 8 : i64, outputs = 52 : i64
// CHECK:         graph.slice [[G]]
// CHECK-NEXT:    graph.regroup_channels [[G]] {sources = array<i64: 26, 27,
func.func @groups(%x: tensor<1x3x6xf32>, %g: tensor<1x8x6xf32>) -> (tensor<1x44x6xf32>, tensor<1x44x6xf32>, tensor<1x26x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<24x3x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<20x3x1xf32>
  %w2 = graph.constant dense<1.0> : tensor<44x22x1xf32>
  %w3 = graph.constant dense<1.0> : tensor<52x4x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = columns, kc = 2>} : (tensor<1x3x6xf32>, tensor<24x3x1xf32>) -> tensor<1x24x6xf32>
  %1 = graph.conv %x, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<20x3x1xf32>) -> tensor<1x20x6xf32>
  %2 = graph.concat %0, %1 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x20x6xf32>) -> tensor<1x44x6xf32>
  %3 = graph.conv %2, %w2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 3, unroll = 4, order = columns, kc = 16>} : (tensor<1x44x6xf32>, tensor<44x22x1xf32>) -> tensor<1x44x6xf32>
  %4 = graph.conv %g, %w3 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x8x6xf32>, tensor<52x4x1xf32>) -> tensor<1x52x6xf32>
  %5 = graph.slice %4 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %6 = graph.slice %4 {starts = array<i64: 0, 26, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %7 = graph.mul %5, %6 : (tensor<1x26x6xf32>, tensor<1x26x6xf32>) -> tensor<1x26x6xf32>
  func.return %2, %3, %7 : tensor<1x44x6xf32>, tensor<1x44x6xf32>, tensor<1x26x6xf32>
}

// -----

// A depthwise convolution leaves channels where they are: who reads its result decides for what is before it, too.

// CHECK-LABEL: func.func @depthwise
// CHECK:         graph.blocked_conv %x, {{.*}}outputs = 58 : i64
// CHECK:         [[D:%.*]] = graph.blocked_depthwise_conv
// CHECK-NEXT:    graph.slice [[D]]
// CHECK-NEXT:    graph.slice [[D]]
func.func @depthwise(%x: tensor<1x3x6xf32>) -> tensor<1x26x6xf32> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<52x3x1xf32>
  %w1 = graph.constant dense<1.0> : tensor<52x1x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<52x3x1xf32>) -> tensor<1x52x6xf32>
  %1 = graph.conv %0, %w1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 52, schedule = #graph.window_schedule<lanes = 16, positions = 4>} : (tensor<1x52x6xf32>, tensor<52x1x1xf32>) -> tensor<1x52x6xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %3 = graph.slice %1 {starts = array<i64: 0, 26, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %4 = graph.mul %2, %3 : (tensor<1x26x6xf32>, tensor<1x26x6xf32>) -> tensor<1x26x6xf32>
  func.return %4 : tensor<1x26x6xf32>
}

// -----

// Partial sums are for several blocks of the reduction of a packed matrix.

// CHECK-LABEL: func.func @reductions
// CHECK:         graph.packed_matmul {{.*}}kc = 8>} : {{.*}} -> (tensor<4x32xf32>, tensor<4x32xf32>)
// CHECK:         graph.packed_matmul {{.*}}order = columns>} : {{.*}} -> tensor<4x32xf32>
// CHECK:         graph.matmul {{.*}}order = columns>}
func.func @reductions(%x: tensor<4x16xf32>, %y: tensor<16x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<16x32xf32>
  %0 = graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = columns, kc = 8>} : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  %1 = graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = columns, kc = 16>} : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  %2 = graph.matmul %x, %y {schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = columns, kc = 8>} : (tensor<4x16xf32>, tensor<16x32xf32>) -> tensor<4x32xf32>
  func.return %0, %1, %2 : tensor<4x32xf32>, tensor<4x32xf32>, tensor<4x32xf32>
}

// -----

// Elements that move between channels, or channels that are not neighbours, are those of plain tensors; spatial axes are
// reshaped and gathered in blocks.

// CHECK-LABEL: func.func @moved
// CHECK:         [[C:%.*]] = graph.blocked_conv
// CHECK-NEXT:    [[U:%.*]] = graph.unpack [[C]]
// CHECK-NEXT:    graph.reshape [[C]] {shape = array<i64: 1, 2, 2, 3, 16>}
// CHECK:         graph.reshape [[U]] {shape = array<i64: 1, 16, 12>}
// CHECK-NEXT:    graph.slice [[U]] {{{.*}}steps = array<i64: 1, 2, 1>
// CHECK-NEXT:    graph.pad [[U]]
// CHECK-NEXT:    graph.gather [[U]], %i {axis = 1 : i64}
// CHECK-NEXT:    graph.gather [[C]], %i {axis = 2 : i64}
// CHECK:         graph.quantize [[U]]
// CHECK-NEXT:    graph.quantize [[C]]
// CHECK:         graph.max_pool_indices [[U]]
func.func @moved(%x: tensor<1x16x6xf32>, %i: tensor<2xi64>) -> (tensor<1x32x2x3xf32>, tensor<1x16x12xf32>, tensor<1x16x6xf32>, tensor<1x34x6xf32>, tensor<1x2x6xf32>, tensor<1x32x2xf32>, tensor<1x32x6xi8>, tensor<1x32x6xi8>, tensor<1x32x4xi64>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x16x1xf32>
  %c = graph.constant dense<0.0> : tensor<f32>
  %s = graph.constant dense<0.5> : tensor<32xf32>
  %one = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x16x6xf32>, tensor<32x16x1xf32>) -> tensor<1x32x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 32, 2, 3>} : (tensor<1x32x6xf32>) -> tensor<1x32x2x3xf32>
  %2 = graph.reshape %0 {shape = array<i64: 1, 16, 12>} : (tensor<1x32x6xf32>) -> tensor<1x16x12xf32>
  %3 = graph.slice %0 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 2, 1>, shape = array<i64: 1, 16, 6>} : (tensor<1x32x6xf32>) -> tensor<1x16x6xf32>
  %4 = graph.pad %0, %c {pads = array<i64: 0, 1, 0, 0, 1, 0>, mode = "constant"} : (tensor<1x32x6xf32>, tensor<f32>) -> tensor<1x34x6xf32>
  %5 = graph.gather %0, %i {axis = 1} : (tensor<1x32x6xf32>, tensor<2xi64>) -> tensor<1x2x6xf32>
  %6 = graph.gather %0, %i {axis = 2} : (tensor<1x32x6xf32>, tensor<2xi64>) -> tensor<1x32x2xf32>
  %7 = graph.quantize %0, %s {to = i8, axis = 1 : i64} : (tensor<1x32x6xf32>, tensor<32xf32>) -> tensor<1x32x6xi8>
  %8 = graph.quantize %0, %one {to = i8} : (tensor<1x32x6xf32>, tensor<f32>) -> tensor<1x32x6xi8>
  %9 = graph.max_pool_indices %0 {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x32x6xf32>) -> tensor<1x32x4xi64>
  func.return %1, %2, %3, %4, %5, %6, %7, %8, %9 : tensor<1x32x2x3xf32>, tensor<1x16x12xf32>, tensor<1x16x6xf32>, tensor<1x34x6xf32>, tensor<1x2x6xf32>, tensor<1x32x2xf32>, tensor<1x32x6xi8>, tensor<1x32x6xi8>, tensor<1x32x4xi64>
}

// -----

// Only groups of channels, each for itself, are normalised by means of their channels; only within an image channels are
// shuffled.

// CHECK-LABEL: func.func @split
// CHECK:         graph.blocked_conv
// CHECK:         [[N:%.*]] = graph.normalize {{.*}} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[N]]
// CHECK-NEXT:    graph.relu [[R]]
// CHECK:         [[T:%.*]] = graph.transpose {{.*}} : (tensor<2x2x8x6xf32>) -> tensor<2x2x8x6xf32>
// CHECK-NEXT:    [[S:%.*]] = graph.reshape [[T]]
// CHECK-NEXT:    graph.relu [[S]]
func.func @split(%x: tensor<2x3x6xf32>) -> (tensor<2x16x6xf32>, tensor<2x16x6xf32>) attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<2x3x6xf32>, tensor<16x3x1xf32>) -> tensor<2x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 2, 4, 24>} : (tensor<2x16x6xf32>) -> tensor<2x4x24xf32>
  %2 = graph.normalize %1 {axes = array<i64: 1, 2>, epsilon = 0.25 : f64} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %3 = graph.reshape %2 {shape = array<i64: 2, 16, 6>} : (tensor<2x4x24xf32>) -> tensor<2x16x6xf32>
  %4 = graph.relu %3 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  %5 = graph.reshape %0 {shape = array<i64: 2, 2, 8, 6>} : (tensor<2x16x6xf32>) -> tensor<2x2x8x6xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 1, 0, 2, 3>} : (tensor<2x2x8x6xf32>) -> tensor<2x2x8x6xf32>
  %7 = graph.reshape %6 {shape = array<i64: 2, 16, 6>} : (tensor<2x2x8x6xf32>) -> tensor<2x16x6xf32>
  %8 = graph.relu %7 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  func.return %4, %8 : tensor<2x16x6xf32>, tensor<2x16x6xf32>
}

// -----

// Means of f16 would be rounded to few digits.

// CHECK-LABEL: func.func @narrow
// CHECK:         [[N:%.*]] = graph.normalize {{.*}} : (tensor<1x4x24xf16>) -> tensor<1x4x24xf16>
// CHECK-NEXT:    [[R:%.*]] = graph.reshape [[N]]
// CHECK-NEXT:    graph.relu [[R]]
func.func @narrow(%x: tensor<1x3x6xf16>) -> tensor<1x16x6xf16> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<16x3x1xf16>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf16>, tensor<16x3x1xf16>) -> tensor<1x16x6xf16>
  %1 = graph.reshape %0 {shape = array<i64: 1, 4, 24>} : (tensor<1x16x6xf16>) -> tensor<1x4x24xf16>
  %2 = graph.normalize %1 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<1x4x24xf16>) -> tensor<1x4x24xf16>
  %3 = graph.reshape %2 {shape = array<i64: 1, 16, 6>} : (tensor<1x4x24xf16>) -> tensor<1x16x6xf16>
  %4 = graph.relu %3 : (tensor<1x16x6xf16>) -> tensor<1x16x6xf16>
  func.return %4 : tensor<1x16x6xf16>
}

// -----

// Two tensors side by side meet as they are: padding lanes are left out on the way of one alone.

// CHECK-LABEL: func.func @joined
// CHECK:         [[A:%.*]] = graph.blocked_conv
// CHECK:         [[J:%.*]] = graph.concat
// CHECK-NEXT:    [[K:%.*]] = graph.concat
// CHECK-NEXT:    graph.add [[J]], [[K]]
func.func @joined(%x: tensor<1x3x6xf32>) -> tensor<1x72x6xf32> attributes {aot.entry} {
  %w0 = graph.constant dense<1.0> : tensor<24x3x1xf32>
  %0 = graph.conv %x, %w0 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 2, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<24x3x1xf32>) -> tensor<1x24x6xf32>
  %1 = graph.relu %0 : (tensor<1x24x6xf32>) -> tensor<1x24x6xf32>
  %2 = graph.concat %0, %0, %0 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x24x6xf32>, tensor<1x24x6xf32>) -> tensor<1x72x6xf32>
  %3 = graph.concat %1, %1, %1 {axis = 1} : (tensor<1x24x6xf32>, tensor<1x24x6xf32>, tensor<1x24x6xf32>) -> tensor<1x72x6xf32>
  %4 = graph.add %2, %3 : (tensor<1x72x6xf32>, tensor<1x72x6xf32>) -> tensor<1x72x6xf32>
  func.return %4 : tensor<1x72x6xf32>
}

// -----

// A head that is squeezed to fewer axes than N and C, or has no elements, is on plain tensors.

// CHECK-LABEL: func.func @heads
// CHECK-NOT:     blocked
// CHECK:         graph.reshape {{.*}} -> tensor<1xf32>
// CHECK:         graph.reshape {{.*}} -> tensor<f32>
// CHECK:         graph.reshape {{.*}} -> tensor<1x0x2xf32>
func.func @heads(%x: tensor<1x1xf32>, %v: tensor<1xf32>, %e: tensor<1x0xf32>) -> (tensor<1xf32>, tensor<f32>, tensor<1x0x2xf32>) attributes {aot.entry} {
  %0 = graph.exp %x : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %1 = graph.sigmoid %0 : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1>} : (tensor<1x1xf32>) -> tensor<1xf32>
  %3 = graph.exp %v : (tensor<1xf32>) -> tensor<1xf32>
  %4 = graph.relu %3 : (tensor<1xf32>) -> tensor<1xf32>
  %5 = graph.reshape %4 {shape = array<i64>} : (tensor<1xf32>) -> tensor<f32>
  %6 = graph.exp %e : (tensor<1x0xf32>) -> tensor<1x0xf32>
  %7 = graph.relu %6 : (tensor<1x0xf32>) -> tensor<1x0xf32>
  %8 = graph.reshape %7 {shape = array<i64: 1, 0, 2>} : (tensor<1x0xf32>) -> tensor<1x0x2xf32>
  func.return %2, %5, %8 : tensor<1xf32>, tensor<f32>, tensor<1x0x2xf32>
}
