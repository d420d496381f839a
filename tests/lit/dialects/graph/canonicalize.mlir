// RUN: aotc-opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @reshapes
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<12xf32>) {
  // CHECK-NEXT: [[R:%.*]] = graph.reshape %x {shape = array<i64: 12>}
  // CHECK-NEXT: func.return %x, [[R]]
  %0 = graph.reshape %x {shape = array<i64: 3, 4>} : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = graph.reshape %0 {shape = array<i64: 2, 6>} : (tensor<3x4xf32>) -> tensor<2x6xf32>
  %2 = graph.reshape %0 {shape = array<i64: 12>} : (tensor<3x4xf32>) -> tensor<12xf32>
  func.return %1, %2 : tensor<2x6xf32>, tensor<12xf32>
}

// CHECK-LABEL: func.func @transposes
func.func @transposes(%x: tensor<2x3x4xf32>, %y: tensor<1x5x1xf32>) -> (tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<1x1x5xf32>) {
  // CHECK-NEXT: [[T:%.*]] = graph.transpose %x {permutation = array<i64: 2, 0, 1>}
  // CHECK-NEXT: [[V:%.*]] = graph.reshape %y {shape = array<i64: 1, 1, 5>}
  // CHECK-NEXT: func.return %x, [[T]], [[V]]
  %0 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %2 = graph.transpose %0 {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  %3 = graph.transpose %y {permutation = array<i64: 2, 0, 1>} : (tensor<1x5x1xf32>) -> tensor<1x1x5xf32>
  func.return %1, %2, %3 : tensor<2x3x4xf32>, tensor<4x2x3xf32>, tensor<1x1x5xf32>
}

// A square transpose keeps the type but not the value.
// CHECK-LABEL: func.func @square
func.func @square(%x: tensor<3x3xf32>) -> tensor<3x3xf32> {
  // CHECK-NEXT: graph.transpose
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return %0 : tensor<3x3xf32>
}

// CHECK-LABEL: func.func @slices
func.func @slices(%x: tensor<10x4xf32>) -> (tensor<10x4xf32>, tensor<2x4xf32>, tensor<10x4xf32>) {
  // CHECK-NEXT: [[S:%.*]] = graph.slice %x {starts = array<i64: 5, 0>, steps = array<i64: 4, 1>, shape = array<i64: 2, 4>}
  // CHECK-NEXT: [[R:%.*]] = graph.slice %x {starts = array<i64: 9, 0>, steps = array<i64: -1, 1>, shape = array<i64: 10, 4>}
  // CHECK-NEXT: func.return %x, [[S]], [[R]]
  %0 = graph.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>, shape = array<i64: 10, 4>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  %6 = graph.slice %x {starts = array<i64: 1, 0>, steps = array<i64: 2, 1>, shape = array<i64: 5, 4>} : (tensor<10x4xf32>) -> tensor<5x4xf32>
  %7 = graph.slice %6 {starts = array<i64: 2, 0>, steps = array<i64: 2, 1>, shape = array<i64: 2, 4>} : (tensor<5x4xf32>) -> tensor<2x4xf32>
  %8 = graph.slice %x {starts = array<i64: 9, 0>, steps = array<i64: -1, 1>, shape = array<i64: 10, 4>} : (tensor<10x4xf32>) -> tensor<10x4xf32>
  func.return %0, %7, %8 : tensor<10x4xf32>, tensor<2x4xf32>, tensor<10x4xf32>
}

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %none: tensor<0x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  // CHECK-NEXT: [[B:%.*]] = graph.broadcast %y
  // CHECK-NEXT: [[A:%.*]] = graph.add %x, %y
  // CHECK-NEXT: [[R:%.*]] = graph.add %y, [[B]]
  // CHECK-NEXT: func.return %x, [[A]], [[R]], %x, %x
  %0 = graph.broadcast %x {shape = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.broadcast %y {shape = array<i64: 2, 3>} : (tensor<3xf32>) -> tensor<2x3xf32>
  %2 = graph.add %x, %1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = graph.add %y, %1 : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.concat %none, %x {axis = 0 : i64} : (tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = graph.cast %x {to = f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// x + 0.0 is not x where x is -0.0; on integers it is.
// CHECK-LABEL: func.func @neutral
func.func @neutral(%x: tensor<2x3xf32>, %i: tensor<3xi32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi32>, tensor<2x3xi32>) {
  // CHECK: [[P:%.*]] = graph.add %x, {{%.*}}
  // CHECK: [[W:%.*]] = graph.add %i, {{%.*}} -> tensor<2x3xi32>
  // CHECK-NEXT: func.return [[P]], %x, %x, %x, %i, [[W]]
  %zero = graph.constant dense<0.0> : tensor<3xf32>
  %negative_zero = graph.constant dense<-0.0> : tensor<3xf32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %integer_zero = graph.constant dense<0> : tensor<3xi32>
  %wide_zero = graph.constant dense<0> : tensor<2x3xi32>
  %0 = graph.add %x, %zero : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %1 = graph.add %negative_zero, %x : (tensor<3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = graph.sub %x, %zero : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %3 = graph.mul %one, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = graph.add %i, %integer_zero : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  %5 = graph.add %i, %wide_zero : (tensor<3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return %0, %1, %2, %3, %4, %5 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<3xi32>, tensor<2x3xi32>
}

// CHECK-LABEL: func.func @twice
func.func @twice(%x: tensor<3xf32>, %b: tensor<3xi1>) -> (tensor<3xf32>, tensor<3xi1>, tensor<3xf32>) {
  // CHECK-NEXT: [[R:%.*]] = graph.relu %x
  // CHECK-NEXT: func.return %x, %b, [[R]]
  %0 = graph.neg %x : (tensor<3xf32>) -> tensor<3xf32>
  %1 = graph.neg %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = graph.not %b : (tensor<3xi1>) -> tensor<3xi1>
  %3 = graph.not %2 : (tensor<3xi1>) -> tensor<3xi1>
  %4 = graph.relu %x : (tensor<3xf32>) -> tensor<3xf32>
  %5 = graph.relu %4 : (tensor<3xf32>) -> tensor<3xf32>
  func.return %1, %3, %5 : tensor<3xf32>, tensor<3xi1>, tensor<3xf32>
}

// Quantising loses bits: dequantize(quantize(x)) is not x.
// CHECK-LABEL: func.func @quantization
func.func @quantization(%x: tensor<3xf32>, %scale: tensor<f32>) -> tensor<3xf32> {
  // CHECK: [[Q:%.*]] = graph.quantize %x, %scale {
  // CHECK-NEXT: [[D:%.*]] = graph.dequantize [[Q]], %scale {
  // CHECK-NEXT: func.return [[D]]
  %zero = graph.constant dense<0> : tensor<i8>
  %0 = graph.quantize %x, %scale, %zero {to = i8, axis = 1 : i64, block_size = 0 : i64} : (tensor<3xf32>, tensor<f32>, tensor<i8>) -> tensor<3xi8>
  %1 = graph.dequantize %0, %scale, %zero {to = f32, axis = 1 : i64, block_size = 0 : i64} : (tensor<3xi8>, tensor<f32>, tensor<i8>) -> tensor<3xf32>
  func.return %1 : tensor<3xf32>
}

// The view goes to the narrow constant, where it folds.
// CHECK-LABEL: func.func @view_of_weights
func.func @view_of_weights(%scale: tensor<f32>) -> tensor<6xf32> {
  // CHECK: [[V:%.*]] = graph.reshape {{%.*}} {shape = array<i64: 6>} : (tensor<2x3xi8>) -> tensor<6xi8>
  // CHECK-NEXT: [[D:%.*]] = graph.dequantize [[V]], %scale {
  // CHECK-NEXT: func.return [[D]]
  %w = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %0 = graph.dequantize %w, %scale {to = f32, axis = 1 : i64, block_size = 0 : i64} : (tensor<2x3xi8>, tensor<f32>) -> tensor<2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1 : tensor<6xf32>
}

// Between kernels stands what is narrow: a view of a widened tensor widens a view, no view of the others does.
// CHECK-LABEL: func.func @view_of_widened
func.func @view_of_widened(%q: tensor<2x3xi8>, %x: tensor<2x3xf32>, %scale: tensor<f32>, %rows: tensor<2xf32>) -> (tensor<6xf32>, tensor<6xi8>, tensor<6xf32>) {
  // CHECK: [[V:%.*]] = graph.reshape %q {shape = array<i64: 6>} : (tensor<2x3xi8>) -> tensor<6xi8>
  // CHECK-NEXT: [[D:%.*]] = graph.dequantize [[V]], %scale {
  // CHECK-NEXT: [[Q:%.*]] = graph.quantize %x, %scale {
  // CHECK-NEXT: [[N:%.*]] = graph.reshape [[Q]]
  // CHECK-NEXT: [[E:%.*]] = graph.dequantize %q, %rows {
  // CHECK-NEXT: [[R:%.*]] = graph.reshape [[E]]
  // CHECK-NEXT: func.return [[D]], [[N]], [[R]]
  %0 = graph.dequantize %q, %scale {to = f32} : (tensor<2x3xi8>, tensor<f32>) -> tensor<2x3xf32>
  %1 = graph.reshape %0 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = graph.quantize %x, %scale {to = i8} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xi8>
  %3 = graph.reshape %2 {shape = array<i64: 6>} : (tensor<2x3xi8>) -> tensor<6xi8>
  %4 = graph.dequantize %q, %rows {to = f32, axis = 0 : i64} : (tensor<2x3xi8>, tensor<2xf32>) -> tensor<2x3xf32>
  %5 = graph.reshape %4 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  func.return %1, %3, %5 : tensor<6xf32>, tensor<6xi8>, tensor<6xf32>
}

// A triangle of a constant is not that of another view of it.
// CHECK-LABEL: func.func @view_of_triangle
func.func @view_of_triangle(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  // CHECK: [[T:%.*]] = graph.trilu {{.*}} -> tensor<2x2xf32>
  // CHECK-NEXT: graph.reshape [[T]]
  %k = graph.constant dense<0> : tensor<i64>
  %w = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.trilu %w, %k {upper = true} : (tensor<2x2xf32>, tensor<i64>) -> tensor<2x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 4, 1>} : (tensor<2x2xf32>) -> tensor<4x1xf32>
  func.return %1 : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @anchors
func.func @anchors(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %p: tensor<1x2x5x5xf32>, %w: tensor<2x2x3x3xf32>) -> (tensor<2x3xf32>, tensor<1x2x6x5xf32>) {
  // CHECK-NEXT: [[M:%.*]] = graph.matmul %x, %y {transpose_rhs = true} : (tensor<2x4xf32>, tensor<3x4xf32>)
  // CHECK-NEXT: [[C:%.*]] = graph.conv %p, %w {{.*}}pads = array<i64: 1, 1, 2, 1>
  // CHECK-NEXT: func.return [[M]], [[C]]
  %0 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = graph.matmul %x, %0 : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %2 = graph.pad %p {pads = array<i64: 0, 0, 0, 0, 0, 0, 1, 0>, mode = "constant"} : (tensor<1x2x5x5xf32>) -> tensor<1x2x6x5xf32>
  %3 = graph.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x2x6x5xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x5xf32>
  func.return %1, %3 : tensor<2x3xf32>, tensor<1x2x6x5xf32>
}

// What counts as zero of integers is their zero point.

// CHECK-LABEL: func.func @padded_integers
// CHECK:      graph.conv %x, %w {{.*}}pads = array<i64: 0, 1>
// CHECK:      %[[P:.*]] = graph.pad %x
// CHECK-NEXT: graph.conv %[[P]], %w {{.*}}pads = array<i64: 0, 0>
func.func @padded_integers(%x: tensor<1x2x5xi8>, %w: tensor<2x2x3xi8>) -> (tensor<1x2x4xi32>, tensor<1x2x4xi32>) {
  %three = graph.constant dense<3> : tensor<i8>
  %0 = graph.pad %x, %three {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xi8>, tensor<i8>) -> tensor<1x2x6xi8>
  %1 = graph.conv %0, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32, x_zero_point = 3} : (tensor<1x2x6xi8>, tensor<2x2x3xi8>) -> tensor<1x2x4xi32>
  %2 = graph.pad %x {pads = array<i64: 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2x5xi8>) -> tensor<1x2x6xi8>
  %3 = graph.conv %2, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1, accumulator = i32, x_zero_point = 3} : (tensor<1x2x6xi8>, tensor<2x2x3xi8>) -> tensor<1x2x4xi32>
  func.return %1, %3 : tensor<1x2x4xi32>, tensor<1x2x4xi32>
}

// What is joined already is not joined again, where its elements can stay in their place.

// CHECK-LABEL: func.func @concats
// CHECK-NEXT:    [[A:%.*]] = graph.concat %x, %y {axis = 1 : i64}
// CHECK-NEXT:    [[B:%.*]] = graph.concat [[A]], %z {axis = 1 : i64}
// CHECK-NEXT:    [[C:%.*]] = graph.concat %z, [[B]], %x {axis = 1 : i64}
// CHECK-NEXT:    [[D:%.*]] = graph.concat %x, %y {axis = 2 : i64}
// CHECK-NEXT:    [[E:%.*]] = graph.concat %x, %y, %z {axis = 2 : i64}
func.func @concats(%x: tensor<1x2x3xf32>, %y: tensor<1x2x3xf32>, %z: tensor<1x2x3xf32>) -> (tensor<1x4x3xf32>, tensor<1x6x3xf32>, tensor<1x10x3xf32>, tensor<1x2x6xf32>, tensor<1x2x9xf32>) {
  %0 = graph.concat %x, %y {axis = 1} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
  %1 = graph.concat %x, %y, %z {axis = 1} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x6x3xf32>
  %2 = graph.concat %z, %x, %y, %z, %x {axis = 1} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x10x3xf32>
  %3 = graph.concat %x, %y {axis = 2} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x6xf32>
  %4 = graph.concat %x, %y, %z {axis = 2} : (tensor<1x2x3xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x2x9xf32>
  func.return %0, %1, %2, %3, %4 : tensor<1x4x3xf32>, tensor<1x6x3xf32>, tensor<1x10x3xf32>, tensor<1x2x6xf32>, tensor<1x2x9xf32>
}

// Lanes that move twice move once; of blocks that are only looked at in parts, these are put together.
// CHECK-LABEL: func.func @regroups
func.func @regroups(%x: tensor<1x2x5x4xf32>, %y: tensor<1x1x5x4xf32>) -> (tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32>) {
  // CHECK-NEXT: [[A:%.*]] = graph.regroup_channels %x {sources = array<i64: 5, 6, 2, 3>} : (tensor<1x2x5x4xf32>) -> tensor<1x1x5x4xf32>
  // CHECK-NEXT: [[B:%.*]] = graph.regroup_channels %x, %y {sources = array<i64: 3, 8, -1, 5>} : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x1x5x4xf32>
  // CHECK-NEXT: func.return [[A]], [[B]]
  %0 = graph.regroup_channels %x {sources = array<i64: 0, 1, 4, -1, 5, 6, 2, 3>} : (tensor<1x2x5x4xf32>) -> tensor<1x2x5x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 1, 5, 4>} : (tensor<1x2x5x4xf32>) -> tensor<1x1x5x4xf32>
  %2 = graph.regroup_channels %0, %y {sources = array<i64: 7, 8, 3, 4>} : (tensor<1x2x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x1x5x4xf32>
  func.return %1, %2 : tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32>
}

// Half of the positions, and blocks that others read whole, stay slices.
// CHECK-LABEL: func.func @slices_of_regroups
func.func @slices_of_regroups(%x: tensor<1x1x6x4xf32>) -> (tensor<1x1x3x4xf32>, tensor<1x1x6x4xf32>, tensor<1x2x6x4xf32>) {
  // CHECK-NEXT: graph.regroup_channels
  // CHECK-NEXT: graph.slice
  // CHECK-NEXT: graph.regroup_channels
  // CHECK-NEXT: graph.slice
  %0 = graph.regroup_channels %x {sources = array<i64: 3, 2, 1, 0>} : (tensor<1x1x6x4xf32>) -> tensor<1x1x6x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 2, 1>, shape = array<i64: 1, 1, 3, 4>} : (tensor<1x1x6x4xf32>) -> tensor<1x1x3x4xf32>
  %2 = graph.regroup_channels %x {sources = array<i64: 3, 2, 1, 0, 0, 1, 2, 3>} : (tensor<1x1x6x4xf32>) -> tensor<1x2x6x4xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 1, 6, 4>} : (tensor<1x2x6x4xf32>) -> tensor<1x1x6x4xf32>
  func.return %1, %3, %2 : tensor<1x1x3x4xf32>, tensor<1x1x6x4xf32>, tensor<1x2x6x4xf32>
}

// A convolution of images that are a line is one along a line where that axis is dropped.
// CHECK-LABEL: func.func @lines
func.func @lines(%x: tensor<1x4x9xf32>, %w: tensor<6x4x3x1xf32>, %b: tensor<6xf32>) -> tensor<1x6x4xf32> {
  // CHECK-NEXT: [[W:%.*]] = graph.reshape %w {shape = array<i64: 6, 4, 3>}
  // CHECK-NEXT: [[C:%.*]] = graph.conv %x, [[W]], %b {strides = array<i64: 2>, pads = array<i64: 1, 0>, dilations = array<i64: 1>, group = 1 : i64} : (tensor<1x4x9xf32>, tensor<6x4x3xf32>, tensor<6xf32>) -> tensor<1x6x4xf32>
  // CHECK-NEXT: func.return [[C]]
  %0 = graph.reshape %x {shape = array<i64: 1, 4, 9, 1>} : (tensor<1x4x9xf32>) -> tensor<1x4x9x1xf32>
  %1 = graph.conv %0, %w, %b {strides = array<i64: 2, 3>, pads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1} : (tensor<1x4x9x1xf32>, tensor<6x4x3x1xf32>, tensor<6xf32>) -> tensor<1x6x4x1xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 6, 4>} : (tensor<1x6x4x1xf32>) -> tensor<1x6x4xf32>
  func.return %2 : tensor<1x6x4xf32>
}

// Not where others read the image, another axis is dropped, there is padding, one axis only, or a schedule.
// CHECK-LABEL: func.func @images
// CHECK-NEXT:    graph.conv {{.*}}strides = array<i64: 1, 1>
// CHECK-NEXT:    graph.reshape {{.*}} {shape = array<i64: 1, 6, 7>}
// CHECK-COUNT-2: graph.conv {{.*}}strides = array<i64: 1, 1>
// CHECK:         graph.conv {{.*}}strides = array<i64: 1>
// CHECK:         graph.conv {{.*}}strides = array<i64: 1, 1>{{.*}}schedule
func.func @images(%x: tensor<1x4x9x1xf32>, %w: tensor<6x4x3x1xf32>, %v: tensor<6x4x1x2xf32>, %l: tensor<1x4x1xf32>, %u: tensor<6x4x1xf32>) -> (tensor<1x6x7xf32>, tensor<1x6x7x1xf32>, tensor<6x7x1xf32>, tensor<1x6x9xf32>, tensor<1x6xf32>, tensor<1x6x7xf32>) {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1} : (tensor<1x4x9x1xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x7x1xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 6, 7>} : (tensor<1x6x7x1xf32>) -> tensor<1x6x7xf32>
  %2 = graph.neg %x : (tensor<1x4x9x1xf32>) -> tensor<1x4x9x1xf32>
  %3 = graph.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1} : (tensor<1x4x9x1xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x7x1xf32>
  %4 = graph.reshape %3 {shape = array<i64: 6, 7, 1>} : (tensor<1x6x7x1xf32>) -> tensor<6x7x1xf32>
  %5 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 1>, group = 1} : (tensor<1x4x9x1xf32>, tensor<6x4x1x2xf32>) -> tensor<1x6x9x1xf32>
  %6 = graph.reshape %5 {shape = array<i64: 1, 6, 9>} : (tensor<1x6x9x1xf32>) -> tensor<1x6x9xf32>
  %7 = graph.conv %l, %u {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x1xf32>, tensor<6x4x1xf32>) -> tensor<1x6x1xf32>
  %8 = graph.reshape %7 {shape = array<i64: 1, 6>} : (tensor<1x6x1xf32>) -> tensor<1x6xf32>
  %9 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>} : (tensor<1x4x9x1xf32>, tensor<6x4x3x1xf32>) -> tensor<1x6x7x1xf32>
  %10 = graph.reshape %9 {shape = array<i64: 1, 6, 7>} : (tensor<1x6x7x1xf32>) -> tensor<1x6x7xf32>
  func.return %1, %0, %4, %6, %8, %10 : tensor<1x6x7xf32>, tensor<1x6x7x1xf32>, tensor<6x7x1xf32>, tensor<1x6x9xf32>, tensor<1x6xf32>, tensor<1x6x7xf32>
}
