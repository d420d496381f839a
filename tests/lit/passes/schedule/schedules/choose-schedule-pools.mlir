// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,assign-layouts' | filecheck %s --check-prefix LAYOUTS

// Windows of plain tensors have neighbouring positions in the lanes: of as wide elements as there are, and of a part of
// the register where rows are short.
// CHECK-LABEL: func.func @positions
// CHECK-NEXT:    graph.max_pool %x {{.*}}schedule = #graph.positions_schedule<lanes = 16, mr = 1, nr = {{[2-9]}}, unroll = 1>
// CHECK-NEXT:    graph.average_pool %x {{.*}}#graph.positions_schedule<lanes = 16,
// CHECK-NEXT:    graph.max_pool %b {{.*}}#graph.positions_schedule<lanes = 64,
// CHECK-NEXT:    graph.max_pool %s {{.*}}#graph.positions_schedule<lanes = 16,
// CHECK-NEXT:    graph.sum_pool %b {{.*}}#graph.positions_schedule<lanes = 16,
// CHECK-NEXT:    graph.max_pool %d {{.*}}#graph.positions_schedule<lanes = 8,
// LAYOUTS-LABEL: func.func @positions
// LAYOUTS-NOT:     graph.pack
// LAYOUTS:         func.return
func.func @positions(%x: tensor<1x64x56x56xf32>, %b: tensor<1x64x56x112xui8>, %s: tensor<1x3x12x12xi8>, %d: tensor<1x8x9x32xf64>) attributes {aot.entry} {
  %0 = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x64x56x56xf32>) -> tensor<1x64x56x56xf32>
  %1 = graph.average_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x64x56x56xf32>) -> tensor<1x64x28x28xf32>
  %2 = graph.max_pool %b {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x64x56x112xui8>) -> tensor<1x64x56x112xui8>
  %3 = graph.max_pool %s {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x3x12x12xi8>) -> tensor<1x3x12x12xi8>
  %4 = graph.sum_pool %b {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x64x56x112xui8>) -> tensor<1x64x28x56xi32>
  %5 = graph.max_pool %d {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x8x9x32xf64>) -> tensor<1x8x9x32xf64>
  func.return
}

// Where these would leave most lanes empty, or be too much code (long windows, many tiles that meet padding), a tensor is
// packed in blocks of channels: there and back.
// CHECK-LABEL: func.func @channels
// CHECK-NEXT:    graph.average_pool %x {{.*}}#graph.window_schedule<lanes = 16, positions = 8>
// CHECK-NEXT:    graph.max_pool %y {{.*}}#graph.window_schedule<lanes = 16, positions = 8>
// CHECK-NEXT:    graph.max_pool %y {{.*}}#graph.window_schedule<lanes = 16, positions = 8>
// LAYOUTS-LABEL: func.func @channels
// LAYOUTS-NEXT:    [[X:%.*]] = graph.pack %x
// LAYOUTS-NEXT:    [[P:%.*]] = graph.average_pool [[X]] {kernel = array<i64: 7, 7>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x32x7x7x16xf32>) -> tensor<1x32x1x1x16xf32>
// LAYOUTS-NEXT:    graph.unpack [[P]]
func.func @channels(%x: tensor<1x512x7x7xf32>, %y: tensor<1x64x900xf32>) -> (tensor<1x512x1x1xf32>, tensor<1x64x900xf32>, tensor<1x64x1000xf32>) attributes {aot.entry} {
  %0 = graph.average_pool %x {kernel = array<i64: 7, 7>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x512x7x7xf32>) -> tensor<1x512x1x1xf32>
  %1 = graph.max_pool %y {kernel = array<i64: 17>, strides = array<i64: 1>, pads = array<i64: 8, 8>, dilations = array<i64: 1>} : (tensor<1x64x900xf32>) -> tensor<1x64x900xf32>
  %2 = graph.max_pool %y {kernel = array<i64: 16>, strides = array<i64: 1>, pads = array<i64: 800, 800>, dilations = array<i64: 100>} : (tensor<1x64x900xf32>) -> tensor<1x64x1000xf32>
  func.return %0, %1, %2 : tensor<1x512x1x1xf32>, tensor<1x64x900xf32>, tensor<1x64x1000xf32>
}

// Where the greatest element is, and fixed-point averages, depend on more than elements; minifloats have no lanes, and
// sums of integers of these are not packed.
// Nor has a tensor in blocks of other lanes than those of a register, and few channels whose rows are short, or are tiles
// that differ, have neither.
// CHECK-LABEL: func.func @loops
// CHECK-NOT:     schedule =
// CHECK:         func.return
func.func @loops(%x: tensor<1x8x8x56xf32>, %f: tensor<1x4x8x56xf8E5M2>, %b: tensor<1x4x8x56xi8>, %c: tensor<1x3x40xf8E5M2>, %n: tensor<1x9x5x5x8xf32>, %q: tensor<9x5xf32>, %s: tensor<1x3x7x7xf32>, %r: tensor<1x3x900xf32>) attributes {aot.entry} {
  %0 = graph.max_pool_indices %x {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x8x8x56xf32>) -> tensor<1x8x7x55xi64>
  %1 = graph.max_pool %f {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x8x56xf8E5M2>) -> tensor<1x4x7x55xf8E5M2>
  %2 = graph.sum_pool %b {kernel = array<i64: 2, 17>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x8x56xi8>) -> tensor<1x4x7x40xi32>
  %3 = graph.fold %c {image = array<i64: 40>, kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x3x40xf8E5M2>) -> tensor<1x1x40xf8E5M2>
  %4 = graph.roi_max %n, %q {size = array<i64: 7, 7>, scale = 1.0 : f64} : (tensor<1x9x5x5x8xf32>, tensor<9x5xf32>) -> tensor<9x9x7x7x8xf32>
  %5 = graph.average_pool %s {kernel = array<i64: 7, 7>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x3x7x7xf32>) -> tensor<1x3x1x1xf32>
  %6 = graph.max_pool %r {kernel = array<i64: 16>, strides = array<i64: 1>, pads = array<i64: 800, 800>, dilations = array<i64: 100>} : (tensor<1x3x900xf32>) -> tensor<1x3x1000xf32>
  func.return
}

// Pictures are sampled, and their regions pooled, in blocks of channels, a few blocks at a time, unless most lanes were empty.
// CHECK-LABEL: func.func @regions
// CHECK-NEXT:    graph.roi_align %x, %r, %b {{.*}}#graph.elementwise_schedule<lanes = 16, registers = 4>
// CHECK-NEXT:    graph.roi_max %f, %q {size = array<i64: 7, 7>, scale = 1.000000e+00 : f64} :
// CHECK-NEXT:    graph.grid_sample %x, %g {{.*}}#graph.elementwise_schedule<lanes = 16, registers = 4>
// LAYOUTS-LABEL: func.func @regions
// LAYOUTS-NEXT:    [[X:%.*]] = graph.pack %x
// LAYOUTS-NEXT:    [[P:%.*]] = graph.roi_align [[X]], %r, %b {size = array<i64: 7, 7>, scale = 1.000000e+00 : f64, ratio = 2 : i64} : (tensor<1x5x50x50x16xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x5x7x7x16xf32>
// LAYOUTS-NEXT:    graph.unpack [[P]]
// LAYOUTS-NEXT:    graph.roi_max %f, %q
func.func @regions(%x: tensor<1x72x50x50xf32>, %f: tensor<1x4x50x50xf32>, %r: tensor<9x4xf32>, %b: tensor<9xi64>, %q: tensor<9x5xf32>, %g: tensor<1x9x8x2xf32>) -> (tensor<9x72x7x7xf32>, tensor<9x4x7x7xf32>) attributes {aot.entry} {
  %0 = graph.roi_align %x, %r, %b {size = array<i64: 7, 7>, scale = 1.0 : f64, ratio = 2} : (tensor<1x72x50x50xf32>, tensor<9x4xf32>, tensor<9xi64>) -> tensor<9x72x7x7xf32>
  %1 = graph.roi_max %f, %q {size = array<i64: 7, 7>, scale = 1.0 : f64} : (tensor<1x4x50x50xf32>, tensor<9x5xf32>) -> tensor<9x4x7x7xf32>
  %2 = graph.grid_sample %x, %g {mode = "linear", padding = "zeros"} : (tensor<1x72x50x50xf32>, tensor<1x9x8x2xf32>) -> tensor<1x72x9x8xf32>
  func.return %0, %1 : tensor<9x72x7x7xf32>, tensor<9x4x7x7xf32>
}

// Pictures put together from columns, as sums of these, have neighbouring positions in the lanes; long windows do not.
// CHECK-LABEL: func.func @folds
// CHECK-NEXT:    graph.fold %c {{.*}}#graph.positions_schedule<lanes = 16, mr = 1, nr = 2, unroll = 1>
// CHECK-NEXT:    graph.fold %l {image = array<i64: 40>, kernel = array<i64: 17>, strides = array<i64: 1>, pads = array<i64: 8, 8>, dilations = array<i64: 1>} :
func.func @folds(%c: tensor<1x144x1024xf32>, %l: tensor<1x17x40xf32>) attributes {aot.entry} {
  %0 = graph.fold %c {image = array<i64: 32, 32>, kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x144x1024xf32>) -> tensor<1x16x32x32xf32>
  %1 = graph.fold %l {image = array<i64: 40>, kernel = array<i64: 17>, strides = array<i64: 1>, pads = array<i64: 8, 8>, dilations = array<i64: 1>} : (tensor<1x17x40xf32>) -> tensor<1x1x40xf32>
  func.return
}

// What is read of a row, that again in phases, and results are in registers at once: windows far apart leave room for few.
// CHECK-LABEL: func.func @apart
// CHECK-NEXT:    graph.max_pool %x {{.*}}#graph.positions_schedule<lanes = 16, mr = 1, nr = 1, unroll = 1>
func.func @apart(%x: tensor<1x64x512xf32>) attributes {aot.entry} {
  %0 = graph.max_pool %x {kernel = array<i64: 8>, strides = array<i64: 8>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x64x512xf32>) -> tensor<1x64x64xf32>
  func.return
}
