// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s

// Schedules that do not fit how operands lie leave scalar loops, and the kernel says why.

// CHECK-LABEL: @lanes_of_blocks
// CHECK-SAME:  aot.scalar_fallback = "the blocks and panels do not fit the schedule"
func.func private @lanes_of_blocks(%x: memref<1x1x9x8xf32>, %w: memref<1x1x3x8x16xf32>, %out: memref<1x2x7x8xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x9x8xf32> to tensor<1x1x9x8xf32>
  %w_t = bufferization.to_tensor %w : memref<1x1x3x8x16xf32> to tensor<1x1x3x8x16xf32>
  %r = graph.blocked_conv %x_t, %w_t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, channels = 8, outputs = 16, block = 8, schedule = #graph.matmul_schedule<lanes = 4, mr = 4, nr = 2, unroll = 2, order = rows>} : (tensor<1x1x9x8xf32>, tensor<1x1x3x8x16xf32>) -> tensor<1x2x7x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x7x8xf32>, memref<1x2x7x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @width_of_panels
// CHECK-SAME:  aot.scalar_fallback = "the blocks and panels do not fit the schedule"
func.func private @width_of_panels(%x: memref<1x1x9x8xf32>, %w: memref<1x1x3x8x16xf32>, %out: memref<1x2x7x8xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x9x8xf32> to tensor<1x1x9x8xf32>
  %w_t = bufferization.to_tensor %w : memref<1x1x3x8x16xf32> to tensor<1x1x3x8x16xf32>
  %r = graph.blocked_conv %x_t, %w_t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, channels = 8, outputs = 16, block = 8, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 1, unroll = 2, order = rows>} : (tensor<1x1x9x8xf32>, tensor<1x1x3x8x16xf32>) -> tensor<1x2x7x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x7x8xf32>, memref<1x2x7x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @transposed
// CHECK-SAME:  aot.scalar_fallback = "the columns of a transposed operand do not lie along the lanes"
func.func private @transposed(%x: memref<8x16xf32>, %y: memref<32x16xf32>, %out: memref<8x32xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<8x16xf32> to tensor<8x16xf32>
  %y_t = bufferization.to_tensor %y : memref<32x16xf32> to tensor<32x16xf32>
  %r = graph.matmul %x_t, %y_t {transpose_rhs = true, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 2, unroll = 2, order = rows>} : (tensor<8x16xf32>, tensor<32x16xf32>) -> tensor<8x32xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<8x32xf32>, memref<8x32xf32>) -> ()
  func.return
}

// CHECK-LABEL: @panels
// CHECK-SAME:  aot.scalar_fallback = "the panels have another width than the register tile"
func.func private @panels(%x: memref<8x16xf32>, %y: memref<2x16x16xf32>, %out: memref<8x32xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<8x16xf32> to tensor<8x16xf32>
  %y_t = bufferization.to_tensor %y : memref<2x16x16xf32> to tensor<2x16x16xf32>
  %r = graph.packed_matmul %x_t, %y_t {columns = 32, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 1, unroll = 2, order = rows>} : (tensor<8x16xf32>, tensor<2x16x16xf32>) -> tensor<8x32xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<8x32xf32>, memref<8x32xf32>) -> ()
  func.return
}

// CHECK-LABEL: @bytes
// CHECK-SAME:  aot.scalar_fallback = "the panels have another width than the register tile"
func.func private @bytes(%x: memref<8x16xi8>, %y: memref<2x4x64xi8>, %start: memref<32xi32>, %out: memref<8x32xi32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<8x16xi8> to tensor<8x16xi8>
  %y_t = bufferization.to_tensor %y : memref<2x4x64xi8> to tensor<2x4x64xi8>
  %start_t = bufferization.to_tensor %start : memref<32xi32> to tensor<32xi32>
  %r = graph.packed_dot_matmul %x_t, %y_t, %start_t {schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 1, unroll = 2, order = rows>} : (tensor<8x16xi8>, tensor<2x4x64xi8>, tensor<32xi32>) -> tensor<8x32xi32>
  bufferization.materialize_in_destination %r in %out : (tensor<8x32xi32>, memref<8x32xi32>) -> ()
  func.return
}

// CHECK-LABEL: @regrouped
// CHECK-SAME:  aot.scalar_fallback = "the blocks of channels are not vector registers"
func.func private @regrouped(%x: memref<1x1x4x8xf32>, %out: memref<1x1x4x8xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x4x8xf32> to tensor<1x1x4x8xf32>
  %r = graph.regroup_channels %x_t {sources = array<i64: 7, 6, 5, 4, 3, 2, 1, 0>, schedule = #graph.elementwise_schedule<lanes = 4, registers = 4>} : (tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x1x4x8xf32>, memref<1x1x4x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @columns_of_channels
// CHECK-SAME:  aot.scalar_fallback = "the blocks of channels are not vector registers"
func.func private @columns_of_channels(%x: memref<1x1x8xf32>, %out: memref<1x1x8xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x8xf32> to tensor<1x1x8xf32>
  %r = graph.regroup_channels %x_t {sources = array<i64: 7, 6, 5, 4, 3, 2, 1, 0>, schedule = #graph.elementwise_schedule<lanes = 8, registers = 4>} : (tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x1x8xf32>, memref<1x1x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @windows
// CHECK-SAME:  aot.scalar_fallback = "the operand is not in the NCHWc layout"
func.func private @windows(%x: memref<1x8x9xf32>, %out: memref<1x8x7xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x8x9xf32> to tensor<1x8x9xf32>
  %r = graph.max_pool %x_t {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, ceil_mode = false, schedule = #graph.window_schedule<lanes = 8, positions = 4>} : (tensor<1x8x9xf32>) -> tensor<1x8x7xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x8x7xf32>, memref<1x8x7xf32>) -> ()
  func.return
}

// CHECK-LABEL: @sums
// CHECK-SAME:  aot.scalar_fallback = "a cumulative sum runs along the lanes"
func.func private @sums(%x: memref<8x16xf32>, %out: memref<8x16xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<8x16xf32> to tensor<8x16xf32>
  %r = graph.cumulative %x_t {kind = "sum", axis = 1, schedule = #graph.row_schedule<lanes = 8, registers = 1, steps = 1>} : (tensor<8x16xf32>) -> tensor<8x16xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<8x16xf32>, memref<8x16xf32>) -> ()
  func.return
}

// CHECK-LABEL: @padded
// CHECK-SAME:  aot.scalar_fallback = "x is neither padded nor divided into residues"
func.func private @padded(%x: memref<1x4x5x16xf32>, %w: memref<2x4x3x3xf32>, %out: memref<1x2x4x14xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x4x5x16xf32> to tensor<1x4x5x16xf32>
  %w_t = bufferization.to_tensor %w : memref<2x4x3x3xf32> to tensor<2x4x3x3xf32>
  %r = graph.conv %x_t, %w_t {group = 1, strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, schedule = #graph.positions_schedule<lanes = 8, mr = 2, nr = 2, unroll = 2>} : (tensor<1x4x5x16xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x4x14xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x4x14xf32>, memref<1x2x4x14xf32>) -> ()
  func.return
}

// CHECK-LABEL: @apart
// CHECK-SAME:  aot.scalar_fallback = "x is neither padded nor divided into residues"
func.func private @apart(%x: memref<1x4x17xf32>, %w: memref<2x4x3xf32>, %out: memref<1x2x8xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x4x17xf32> to tensor<1x4x17xf32>
  %w_t = bufferization.to_tensor %w : memref<2x4x3xf32> to tensor<2x4x3xf32>
  %r = graph.conv %x_t, %w_t {group = 1, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.positions_schedule<lanes = 8, mr = 2, nr = 2, unroll = 2>} : (tensor<1x4x17xf32>, tensor<2x4x3xf32>) -> tensor<1x2x8xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x8xf32>, memref<1x2x8xf32>) -> ()
  func.return
}

// CHECK-LABEL: @dots
// CHECK-SAME:  aot.scalar_fallback = "the blocks and panels do not fit the schedule"
func.func private @dots(%x: memref<1x1x9x8xi8>, %w: memref<1x1x3x2x64xi8>, %start: memref<1x16xi32>, %out: memref<1x2x7x8xi32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x9x8xi8> to tensor<1x1x9x8xi8>
  %w_t = bufferization.to_tensor %w : memref<1x1x3x2x64xi8> to tensor<1x1x3x2x64xi8>
  %start_t = bufferization.to_tensor %start : memref<1x16xi32> to tensor<1x16xi32>
  %r = graph.blocked_dot_conv %x_t, %w_t, %start_t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, channels = 8, outputs = 16, block = 8, schedule = #graph.matmul_schedule<lanes = 4, mr = 4, nr = 2, unroll = 2, order = rows>} : (tensor<1x1x9x8xi8>, tensor<1x1x3x2x64xi8>, tensor<1x16xi32>) -> tensor<1x2x7x8xi32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x7x8xi32>, memref<1x2x7x8xi32>) -> ()
  func.return
}

// CHECK-LABEL: @panels_of_dots
// CHECK-SAME:  aot.scalar_fallback = "the blocks and panels do not fit the schedule"
func.func private @panels_of_dots(%x: memref<1x1x9x8xi8>, %w: memref<1x1x3x2x64xi8>, %start: memref<1x16xi32>, %out: memref<1x2x7x8xi32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<1x1x9x8xi8> to tensor<1x1x9x8xi8>
  %w_t = bufferization.to_tensor %w : memref<1x1x3x2x64xi8> to tensor<1x1x3x2x64xi8>
  %start_t = bufferization.to_tensor %start : memref<1x16xi32> to tensor<1x16xi32>
  %r = graph.blocked_dot_conv %x_t, %w_t, %start_t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, channels = 8, outputs = 16, block = 8, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 1, unroll = 2, order = rows>} : (tensor<1x1x9x8xi8>, tensor<1x1x3x2x64xi8>, tensor<1x16xi32>) -> tensor<1x2x7x8xi32>
  bufferization.materialize_in_destination %r in %out : (tensor<1x2x7x8xi32>, memref<1x2x7x8xi32>) -> ()
  func.return
}

// CHECK-LABEL: @resampled
// CHECK-SAME:  aot.scalar_fallback = "neighbouring elements are gathered along the lanes"
func.func private @resampled(%x: memref<2x8xf32>, %p: memref<16x2xi64>, %f: memref<16x2xf32>, %out: memref<2x16xf32>) attributes {aot.kernel} {
  %x_t = bufferization.to_tensor %x : memref<2x8xf32> to tensor<2x8xf32>
  %p_t = bufferization.to_tensor %p : memref<16x2xi64> to tensor<16x2xi64>
  %f_t = bufferization.to_tensor %f : memref<16x2xf32> to tensor<16x2xf32>
  %r = graph.resample %x_t, %p_t, %f_t {axis = 1, schedule = #graph.resample_schedule<lanes = 8, rows = 1, registers = 2>} : (tensor<2x8xf32>, tensor<16x2xi64>, tensor<16x2xf32>) -> tensor<2x16xf32>
  bufferization.materialize_in_destination %r in %out : (tensor<2x16xf32>, memref<2x16xf32>) -> ()
  func.return
}
