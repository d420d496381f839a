// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' --split-input-file | filecheck %s

// Channels are shuffled within whole images and whole pixels, of the shape that they had.
// CHECK-LABEL: func.func @shuffles
// CHECK-COUNT-3: graph.transpose
// CHECK-NOT:   graph.regroup_channels
// CHECK:       func.return
func.func @shuffles(%x: tensor<2x3x6xf32>) -> (tensor<2x16x6xf32>, tensor<2x16x6xf32>, tensor<2x16x2x3xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<2x3x6xf32>, tensor<16x3x1xf32>) -> tensor<2x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 4, 4, 12>} : (tensor<2x16x6xf32>) -> tensor<1x4x4x12xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x4x4x12xf32>) -> tensor<1x4x4x12xf32>
  %3 = graph.reshape %2 {shape = array<i64: 2, 16, 6>} : (tensor<1x4x4x12xf32>) -> tensor<2x16x6xf32>
  %4 = graph.relu %3 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  %5 = graph.reshape %0 {shape = array<i64: 2, 32, 3>} : (tensor<2x16x6xf32>) -> tensor<2x32x3xf32>
  %6 = graph.transpose %5 {permutation = array<i64: 0, 2, 1>} : (tensor<2x32x3xf32>) -> tensor<2x3x32xf32>
  %7 = graph.reshape %6 {shape = array<i64: 2, 16, 6>} : (tensor<2x3x32xf32>) -> tensor<2x16x6xf32>
  %8 = graph.relu %7 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  %9 = graph.reshape %0 {shape = array<i64: 2, 2, 8, 6>} : (tensor<2x16x6xf32>) -> tensor<2x2x8x6xf32>
  %10 = graph.transpose %9 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x8x6xf32>) -> tensor<2x8x2x6xf32>
  %11 = graph.reshape %10 {shape = array<i64: 2, 16, 2, 3>} : (tensor<2x8x2x6xf32>) -> tensor<2x16x2x3xf32>
  %12 = graph.relu %11 : (tensor<2x16x2x3xf32>) -> tensor<2x16x2x3xf32>
  func.return %4, %8, %12 : tensor<2x16x6xf32>, tensor<2x16x6xf32>, tensor<2x16x2x3xf32>
}

// -----

// Groups of channels are normalised by means of their channels, of as many channels each, within an image, in the shape
// that they had.
// CHECK-LABEL: func.func @groups
// CHECK-COUNT-4: graph.normalize
// CHECK:       func.return
func.func @groups(%x: tensor<2x3x6xf32>, %g: tensor<2x4x24xf32>) -> (tensor<2x16x6xf32>, tensor<2x16x6xf32>, tensor<2x16x2x3xf32>, tensor<2x16x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<16x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<2x3x6xf32>, tensor<16x3x1xf32>) -> tensor<2x16x6xf32>
  %1 = graph.reshape %0 {shape = array<i64: 4, 4, 12>} : (tensor<2x16x6xf32>) -> tensor<4x4x12xf32>
  %2 = graph.normalize %1 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<4x4x12xf32>) -> tensor<4x4x12xf32>
  %3 = graph.reshape %2 {shape = array<i64: 2, 16, 6>} : (tensor<4x4x12xf32>) -> tensor<2x16x6xf32>
  %4 = graph.relu %3 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  %5 = graph.reshape %0 {shape = array<i64: 2, 6, 16>} : (tensor<2x16x6xf32>) -> tensor<2x6x16xf32>
  %6 = graph.normalize %5 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
  %7 = graph.reshape %6 {shape = array<i64: 2, 16, 6>} : (tensor<2x6x16xf32>) -> tensor<2x16x6xf32>
  %8 = graph.relu %7 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  %9 = graph.reshape %0 {shape = array<i64: 2, 4, 24>} : (tensor<2x16x6xf32>) -> tensor<2x4x24xf32>
  %10 = graph.normalize %9 {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %11 = graph.reshape %10 {shape = array<i64: 2, 16, 2, 3>} : (tensor<2x4x24xf32>) -> tensor<2x16x2x3xf32>
  %12 = graph.relu %11 : (tensor<2x16x2x3xf32>) -> tensor<2x16x2x3xf32>
  %13 = graph.normalize %g {axes = array<i64: 2>, epsilon = 0.25 : f64} : (tensor<2x4x24xf32>) -> tensor<2x4x24xf32>
  %14 = graph.reshape %13 {shape = array<i64: 2, 16, 6>} : (tensor<2x4x24xf32>) -> tensor<2x16x6xf32>
  %15 = graph.relu %14 : (tensor<2x16x6xf32>) -> tensor<2x16x6xf32>
  func.return %4, %8, %12, %15 : tensor<2x16x6xf32>, tensor<2x16x6xf32>, tensor<2x16x2x3xf32>, tensor<2x16x6xf32>
}

// -----

// Numbers that are normalised together, or each alone, are no groups of channels.
// CHECK-LABEL: func.func @vector
// CHECK:       graph.normalize {{.*}} -> tensor<16xf32>
// CHECK:       graph.normalize {{.*}} -> tensor<16xf32>
func.func @vector(%x: tensor<16x3x1xf32>) -> (tensor<16x1x1xf32>, tensor<16x1x1xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<1x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<16x3x1xf32>, tensor<1x3x1xf32>) -> tensor<16x1x1xf32>
  %1 = graph.reshape %0 {shape = array<i64: 16>} : (tensor<16x1x1xf32>) -> tensor<16xf32>
  %2 = graph.normalize %1 {axes = array<i64: 0>, epsilon = 0.25 : f64} : (tensor<16xf32>) -> tensor<16xf32>
  %3 = graph.reshape %2 {shape = array<i64: 16, 1, 1>} : (tensor<16xf32>) -> tensor<16x1x1xf32>
  %4 = graph.relu %3 : (tensor<16x1x1xf32>) -> tensor<16x1x1xf32>
  %5 = graph.normalize %1 {axes = array<i64>, epsilon = 0.25 : f64} : (tensor<16xf32>) -> tensor<16xf32>
  %6 = graph.reshape %5 {shape = array<i64: 16, 1, 1>} : (tensor<16xf32>) -> tensor<16x1x1xf32>
  %7 = graph.relu %6 : (tensor<16x1x1xf32>) -> tensor<16x1x1xf32>
  func.return %4, %7 : tensor<16x1x1xf32>, tensor<16x1x1xf32>
}

// -----

// What broadcasts along the channels does not say how these lie, nor where they begin.
// CHECK-LABEL: func.func @rows
// CHECK:       graph.blocked_conv %x, {{.*}}outputs = 1 : i64
// CHECK:       graph.blocked_conv %x, {{.*}}outputs = 58 : i64
// CHECK:       graph.slice {{.*}} -> tensor<1x1x6x1xf32>
// CHECK:       graph.mul {{.*}} -> tensor<1x4x6x16xf32>
func.func @rows(%x: tensor<1x3x6xf32>) -> (tensor<1x26x6xf32>, tensor<1x52x6xf32>) attributes {aot.entry} {
  %v = graph.constant dense<1.0> : tensor<1x3x1xf32>
  %0 = graph.conv %x, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<1x3x1xf32>) -> tensor<1x1x6xf32>
  %w = graph.constant dense<1.0> : tensor<52x3x1xf32>
  %1 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<52x3x1xf32>) -> tensor<1x52x6xf32>
  %2 = graph.mul %1, %0 : (tensor<1x52x6xf32>, tensor<1x1x6xf32>) -> tensor<1x52x6xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %4 = graph.slice %2 {starts = array<i64: 0, 26, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 26, 6>} : (tensor<1x52x6xf32>) -> tensor<1x26x6xf32>
  %5 = graph.mul %3, %4 : (tensor<1x26x6xf32>, tensor<1x26x6xf32>) -> tensor<1x26x6xf32>
  func.return %5, %2 : tensor<1x26x6xf32>, tensor<1x52x6xf32>
}

// -----

// Where channels are broadcast along new axes, others are the channels of the result.
// CHECK-LABEL: func.func @higher
// CHECK:       graph.blocked_conv %x, {{.*}}outputs = 40 : i64
func.func @higher(%x: tensor<1x3x6xf32>, %h: tensor<2x30x40x6xf32>) -> (tensor<2x10x40x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<40x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<40x3x1xf32>) -> tensor<1x40x6xf32>
  %1 = graph.mul %0, %h : (tensor<1x40x6xf32>, tensor<2x30x40x6xf32>) -> tensor<2x30x40x6xf32>
  %2 = graph.slice %1 {starts = array<i64: 0, 20, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 2, 10, 40, 6>} : (tensor<2x30x40x6xf32>) -> tensor<2x10x40x6xf32>
  %3 = graph.relu %2 : (tensor<2x10x40x6xf32>) -> tensor<2x10x40x6xf32>
  func.return %3 : tensor<2x10x40x6xf32>
}

// -----

// One channel that begins a block is a view, whatever the step; channels that are apart begin no block; no channels are
// nothing to compute in blocks. A plain tensor is sliced as it lies.
// CHECK-LABEL: func.func @slices
// CHECK:       graph.slice %x
// CHECK:       graph.blocked_conv %x, {{.*}}outputs = 40 : i64
// CHECK:       graph.slice {{.*}} -> tensor<1x1x6x16xf32>
// CHECK:       graph.regroup_channels {{.*}}-> tensor<1x1x6x16xf32>
// CHECK:       graph.slice {{.*}} -> tensor<1x0x6xf32>
func.func @slices(%x: tensor<1x3x6xf32>) -> (tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x8x6xf32>, tensor<1x0x6xf32>) attributes {aot.entry} {
  %0 = graph.slice %x {starts = array<i64: 0, 1, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 1, 6>} : (tensor<1x3x6xf32>) -> tensor<1x1x6xf32>
  %1 = graph.relu %0 : (tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
  %w = graph.constant dense<1.0> : tensor<40x3x1xf32>
  %2 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<40x3x1xf32>) -> tensor<1x40x6xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 16, 0>, steps = array<i64: 1, 2, 1>, shape = array<i64: 1, 1, 6>} : (tensor<1x40x6xf32>) -> tensor<1x1x6xf32>
  %4 = graph.relu %3 : (tensor<1x1x6xf32>) -> tensor<1x1x6xf32>
  %5 = graph.slice %2 {starts = array<i64: 0, 20, 0>, steps = array<i64: 1, 2, 1>, shape = array<i64: 1, 8, 6>} : (tensor<1x40x6xf32>) -> tensor<1x8x6xf32>
  %6 = graph.relu %5 : (tensor<1x8x6xf32>) -> tensor<1x8x6xf32>
  %7 = graph.slice %2 {starts = array<i64: 0, 20, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 0, 6>} : (tensor<1x40x6xf32>) -> tensor<1x0x6xf32>
  %8 = graph.relu %7 : (tensor<1x0x6xf32>) -> tensor<1x0x6xf32>
  func.return %1, %4, %6, %8 : tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x8x6xf32>, tensor<1x0x6xf32>
}

// -----

// No channels are no block.
// CHECK-LABEL: func.func @joined
// CHECK:       %[[A:.*]] = graph.blocked_conv
// CHECK:       graph.concat %[[A]], %[[A]] {axis = 1 : i64} : {{.*}} -> tensor<1x4x6x16xf32>
func.func @joined(%x: tensor<1x3x6xf32>, %e: tensor<1x0x6xf32>) -> (tensor<1x64x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<32x3x1xf32>) -> tensor<1x32x6xf32>
  %1 = graph.concat %0, %e, %0 {axis = 1 : i64} : (tensor<1x32x6xf32>, tensor<1x0x6xf32>, tensor<1x32x6xf32>) -> tensor<1x64x6xf32>
  %2 = graph.relu %1 : (tensor<1x64x6xf32>) -> tensor<1x64x6xf32>
  func.return %2 : tensor<1x64x6xf32>
}

// -----

// Channels are padded before or behind in a plain tensor.
// CHECK-LABEL: func.func @padded
// CHECK-COUNT-2: graph.pad {{.*}} : (tensor<1x32x6xf32>) -> tensor<1x33x6xf32>
func.func @padded(%x: tensor<1x3x6xf32>) -> (tensor<1x33x6xf32>, tensor<1x33x6xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x6xf32>, tensor<32x3x1xf32>) -> tensor<1x32x6xf32>
  %1 = graph.pad %0 {pads = array<i64: 0, 1, 0, 0, 0, 0>, mode = "constant"} : (tensor<1x32x6xf32>) -> tensor<1x33x6xf32>
  %2 = graph.relu %1 : (tensor<1x33x6xf32>) -> tensor<1x33x6xf32>
  %3 = graph.pad %0 {pads = array<i64: 0, 0, 0, 0, 1, 0>, mode = "constant"} : (tensor<1x32x6xf32>) -> tensor<1x33x6xf32>
  %4 = graph.relu %3 : (tensor<1x33x6xf32>) -> tensor<1x33x6xf32>
  func.return %2, %4 : tensor<1x33x6xf32>, tensor<1x33x6xf32>
}

// -----

// Single elements are parameters of larger tensors only.
// CHECK-LABEL: func.func @single
// CHECK:       %[[X:.*]] = graph.blocked_conv
// CHECK:       %[[Y:.*]] = graph.pack %y
// CHECK:       %[[S:.*]] = graph.add %[[X]], %[[Y]] : {{.*}} -> tensor<1x1x1x16xf32>
// CHECK:       %[[R:.*]] = graph.relu %[[S]]
// CHECK:       graph.unpack %[[R]] {{.*}}shape = array<i64: 1, 1, 1>} : (tensor<1x1x1x16xf32>) -> tensor<1x1x1xf32>
func.func @single(%x: tensor<1x3x1xf32>, %y: tensor<1x1x1xf32>) -> tensor<1x1x1xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<1x3x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 6, nr = 1, unroll = 4, order = rows>} : (tensor<1x3x1xf32>, tensor<1x3x1xf32>) -> tensor<1x1x1xf32>
  %1 = graph.add %0, %y : (tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %2 = graph.relu %1 : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  func.return %2 : tensor<1x1x1xf32>
}
