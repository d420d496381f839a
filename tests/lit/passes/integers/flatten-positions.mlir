// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},flatten-positions' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},flatten-positions' | filecheck %s --check-prefix SCALAR

// Rows of five positions are short for tiles of eight. What follows, a sum with another image among it, works on one
// axis, too.
// CHECK-LABEL: func.func @short
// CHECK:       %[[X:.*]] = graph.reshape %x {shape = array<i64: 1, 64, 125>}
// CHECK:       %[[W:.*]] = graph.reshape %{{.*}} {shape = array<i64: 64, 64, 1>}
// CHECK:       %[[CONV:.*]] = graph.conv %[[X]], %[[W]] {{.*}}strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>
// CHECK:       %[[M:.*]] = graph.requantize %[[CONV]], %m {{.*}} : (tensor<1x64x125xi32>, tensor<64xf32>) -> tensor<1x64x125xi8>
// CHECK:       %[[Y:.*]] = graph.reshape %y {shape = array<i64: 1, 64, 125>}
// CHECK:       %[[ADD:.*]] = graph.fixed_add %[[M]], %[[Y]]
// CHECK:       %[[N:.*]] = graph.reshape %n {shape = array<i64: 1, 64, 1>}
// CHECK:       graph.mul %{{.*}}, %[[N]]
// CHECK:       graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>}
// CHECK:       return
// SCALAR-LABEL: func.func @short
// SCALAR-NOT:   graph.reshape
// SCALAR:       func.func @wide
func.func @short(%x: tensor<1x64x25x5xi8>, %m: tensor<64xf32>, %y: tensor<1x64x25x5xi8>, %n: tensor<1x64x1x1xf32>) -> tensor<1x64x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x64x25x5xi32>, tensor<64xf32>) -> tensor<1x64x25x5xi8>
  %2 = graph.fixed_add %1, %y {shift = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x64x25x5xi8>, tensor<1x64x25x5xi8>) -> tensor<1x64x25x5xi8>
  %3 = graph.cast %2 {to = f32} : (tensor<1x64x25x5xi8>) -> tensor<1x64x25x5xf32>
  %4 = graph.mul %3, %n : (tensor<1x64x25x5xf32>, tensor<1x64x1x1xf32>) -> tensor<1x64x25x5xf32>
  func.return %4 : tensor<1x64x25x5xf32>
}

// Few tiles of long rows end with them.
// CHECK-LABEL: func.func @wide
// CHECK-NOT:   graph.reshape
func.func @wide(%x: tensor<1x64x56x56xi8>) -> tensor<1x64x56x56xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x56x56xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x56x56xi32>
  func.return %0 : tensor<1x64x56x56xi32>
}

// Tiles of nine positions are as fast as any.
// CHECK-LABEL: func.func @whole
// CHECK-NOT:   graph.reshape
func.func @whole(%x: tensor<1x64x5x9xi8>) -> tensor<1x64x5x9xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x5x9xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x5x9xi32>
  func.return %0 : tensor<1x64x5x9xi32>
}

// Positions that skip some, or see padding, are no neighbours; nor are several taps one.
// CHECK-LABEL: func.func @strided
// CHECK-NOT:   graph.reshape
func.func @strided(%x: tensor<1x64x99x2xi8>) -> tensor<1x8x99x1xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<8x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x99x2xi8>, tensor<8x64x1x1xi8>) -> tensor<1x8x99x1xi32>
  func.return %0 : tensor<1x8x99x1xi32>
}

// CHECK-LABEL: func.func @padded
// CHECK-NOT:   graph.reshape
func.func @padded(%x: tensor<1x64x25x4xi8>) -> tensor<1x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x4xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  func.return %0 : tensor<1x64x25x5xi32>
}

// CHECK-LABEL: func.func @taps
// CHECK-NOT:   graph.reshape
func.func @taps(%x: tensor<1x64x99x3xi8>) -> tensor<1x8x99x1xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<8x64x1x3xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x99x3xi8>, tensor<8x64x1x3xi8>) -> tensor<1x8x99x1xi32>
  func.return %0 : tensor<1x8x99x1xi32>
}

// So is a convolution of floats whose tensors stay in L2.
// CHECK-LABEL: func.func @floats
// CHECK:       graph.conv %{{.*}} : (tensor<1x64x125xf32>, tensor<64x64x1xf32>)
func.func @floats(%x: tensor<1x64x25x5xf32>) -> tensor<1x64x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<64x64x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x64x25x5xf32>, tensor<64x64x1x1xf32>) -> tensor<1x64x25x5xf32>
  func.return %0 : tensor<1x64x25x5xf32>
}

// What does not, between it and another anchor, element by element, is computed in tiles of rows together with that.
// CHECK-LABEL: func.func @before_rows
// CHECK-NOT:   graph.reshape
func.func @before_rows(%x: tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<640x640x1x1xf32>
  %v = graph.constant dense<3.0> : tensor<640x1x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  %1 = graph.relu %0 : (tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32>
  %2 = graph.conv %1, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 640 : i64} : (tensor<1x640x25x5xf32>, tensor<640x1x3x3xf32>) -> tensor<1x640x25x5xf32>
  func.return %2 : tensor<1x640x25x5xf32>
}

// CHECK-LABEL: func.func @behind_rows
// CHECK-NOT:   graph.reshape
func.func @behind_rows(%x: tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<640x640x1x1xf32>
  %v = graph.constant dense<3.0> : tensor<640x1x3x3xf32>
  %0 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 640 : i64} : (tensor<1x640x25x5xf32>, tensor<640x1x3x3xf32>) -> tensor<1x640x25x5xf32>
  %1 = graph.relu %0 : (tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32>
  %2 = graph.conv %1, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  func.return %2 : tensor<1x640x25x5xf32>
}

// One that needs no axes of the image either, and one whose operand others read, are no reason.
// CHECK-LABEL: func.func @flat_too
// CHECK:       graph.conv %{{.*}} : (tensor<1x640x125xf32>,
// CHECK:       graph.conv %{{.*}} : (tensor<1x640x125xf32>,
func.func @flat_too(%x: tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<640x640x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  %1 = graph.relu %0 : (tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32>
  %2 = graph.conv %1, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  func.return %2 : tensor<1x640x25x5xf32>
}

// CHECK-LABEL: func.func @read_twice
// CHECK:       graph.conv %{{.*}} : (tensor<1x640x125xf32>,
func.func @read_twice(%x: tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<640x640x1x1xf32>
  %v = graph.constant dense<3.0> : tensor<640x1x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  %1 = graph.conv %0, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 640 : i64} : (tensor<1x640x25x5xf32>, tensor<640x1x3x3xf32>) -> tensor<1x640x25x5xf32>
  %2 = graph.add %0, %1 : (tensor<1x640x25x5xf32>, tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32>
  func.return %2 : tensor<1x640x25x5xf32>
}

// CHECK-LABEL: func.func @rows_read_twice
// CHECK:       graph.conv %{{.*}} : (tensor<1x640x125xf32>,
func.func @rows_read_twice(%x: tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32> attributes {aot.entry} {
  %w = graph.constant dense<3.0> : tensor<640x640x1x1xf32>
  %v = graph.constant dense<3.0> : tensor<640x1x3x3xf32>
  %0 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 640 : i64} : (tensor<1x640x25x5xf32>, tensor<640x1x3x3xf32>) -> tensor<1x640x25x5xf32>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x640x25x5xf32>, tensor<640x640x1x1xf32>) -> tensor<1x640x25x5xf32>
  %2 = graph.add %0, %1 : (tensor<1x640x25x5xf32>, tensor<1x640x25x5xf32>) -> tensor<1x640x25x5xf32>
  func.return %2 : tensor<1x640x25x5xf32>
}

// Parameters along a spatial axis, or along one that is counted from the end, need all axes; so does a second reader.
// CHECK-LABEL: func.func @row_parameters
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.add %[[SUM]], %r
func.func @row_parameters(%x: tensor<1x64x25x5xi8>, %r: tensor<1x1x25x1xi32>) -> tensor<1x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %r : (tensor<1x64x25x5xi32>, tensor<1x1x25x1xi32>) -> tensor<1x64x25x5xi32>
  func.return %1 : tensor<1x64x25x5xi32>
}

// CHECK-LABEL: func.func @from_the_end
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.requantize %[[SUM]], %m
func.func @from_the_end(%x: tensor<1x64x25x5xi8>, %m: tensor<64xf32>) -> tensor<1x64x25x5xi8> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.requantize %0, %m {axis = -3 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x64x25x5xi32>, tensor<64xf32>) -> tensor<1x64x25x5xi8>
  func.return %1 : tensor<1x64x25x5xi8>
}

// CHECK-LABEL: func.func @two_readers
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.requantize %[[SUM]], %m
// CHECK:       return %{{.*}}, %[[SUM]]
func.func @two_readers(%x: tensor<1x64x25x5xi8>, %m: tensor<64xf32>) -> (tensor<1x64x25x5xi8>, tensor<1x64x25x5xi32>) attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.requantize %0, %m {axis = 1 : i64, zero_point = 0 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x64x25x5xi32>, tensor<64xf32>) -> tensor<1x64x25x5xi8>
  func.return %1, %0 : tensor<1x64x25x5xi8>, tensor<1x64x25x5xi32>
}

// A sum that is larger than the image has more axes than it.
// CHECK-LABEL: func.func @larger
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.add %[[SUM]], %y
func.func @larger(%x: tensor<1x64x25x5xi8>, %y: tensor<2x64x25x5xi32>) -> tensor<2x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %y : (tensor<1x64x25x5xi32>, tensor<2x64x25x5xi32>) -> tensor<2x64x25x5xi32>
  func.return %1 : tensor<2x64x25x5xi32>
}

// One that has more images because a number of each channel does stays one of positions.
// CHECK-LABEL: func.func @images
// CHECK:       graph.add %{{.*}} : (tensor<1x64x125xi32>, tensor<2x64x1xi32>) -> tensor<2x64x125xi32>
// CHECK-NEXT:  graph.reshape %{{.*}} {shape = array<i64: 2, 64, 25, 5>}
// CHECK-NEXT:  return
func.func @images(%x: tensor<1x64x25x5xi8>, %y: tensor<2x64x1x1xi32>) -> tensor<2x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %y : (tensor<1x64x25x5xi32>, tensor<2x64x1x1xi32>) -> tensor<2x64x25x5xi32>
  func.return %1 : tensor<2x64x25x5xi32>
}

// What moves elements, or counts them, needs all axes.
// CHECK-LABEL: func.func @moved
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.transpose %[[SUM]]
func.func @moved(%x: tensor<1x64x25x5xi8>) -> tensor<1x64x5x25xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 1, 3, 2>} : (tensor<1x64x25x5xi32>) -> tensor<1x64x5x25xi32>
  func.return %1 : tensor<1x64x5x25xi32>
}

// Rows of as many positions as there are registers are long; and a schedule is obeyed.
// CHECK-LABEL: func.func @long
// CHECK-NOT:   graph.reshape
func.func @long(%x: tensor<1x64x25x16xi8>, %y: tensor<1x64x25x5xi8>) -> (tensor<1x64x25x16xi32>, tensor<1x64x25x5xi32>) attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x16xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x16xi32>
  %1 = graph.conv %y, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 2, unroll = 2, order = rows>} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  func.return %0, %1 : tensor<1x64x25x16xi32>, tensor<1x64x25x5xi32>
}

// Axes of an operand that has fewer are counted from the end.
// CHECK-LABEL: func.func @fewer
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.add %[[SUM]], %y
func.func @fewer(%x: tensor<1x64x25x5xi8>, %y: tensor<64x1x1xi32>) -> tensor<1x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %y : (tensor<1x64x25x5xi32>, tensor<64x1x1xi32>) -> tensor<1x64x25x5xi32>
  func.return %1 : tensor<1x64x25x5xi32>
}

// So are those of a single element,
// CHECK-LABEL: func.func @single
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.add %[[SUM]], %y
func.func @single(%x: tensor<1x64x25x5xi8>, %y: tensor<1x1xi32>) -> tensor<1x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %y : (tensor<1x64x25x5xi32>, tensor<1x1xi32>) -> tensor<1x64x25x5xi32>
  func.return %1 : tensor<1x64x25x5xi32>
}

// which an operation without an axis counts as such, too.
// CHECK-LABEL: func.func @scalar
// CHECK:       %[[SUM:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 64, 25, 5>} : (tensor<1x64x125xi32>)
// CHECK:       graph.add %[[SUM]], %y
func.func @scalar(%x: tensor<1x64x25x5xi8>, %y: tensor<i32>) -> tensor<1x64x25x5xi32> attributes {aot.entry} {
  %w = graph.constant dense<3> : tensor<64x64x1x1xi8>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x25x5xi8>, tensor<64x64x1x1xi8>) -> tensor<1x64x25x5xi32>
  %1 = graph.add %0, %y : (tensor<1x64x25x5xi32>, tensor<i32>) -> tensor<1x64x25x5xi32>
  func.return %1 : tensor<1x64x25x5xi32>
}
