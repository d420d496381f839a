// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},flip-signs' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-sdot},flip-signs' | filecheck %s --check-prefix SIGNED
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},flip-signs' | filecheck %s --check-prefix SIGNED
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},flip-signs' | filecheck %s --check-prefix UNSIGNED
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},flip-signs' | filecheck %s --check-prefix KEPT
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},flip-signs' | filecheck %s --check-prefix KEPT

// vpdpbusd takes unsigned activations, sdot and vmladava signed ones; where any sign will do, nothing changes. vpmaddubsw takes
// unsigned ones where weights are small, as they are here but in @large.
// KEPT-NOT: graph.flip_sign

// The flipped tensor is made where the tensor was, moves flipped, and is dequantised by another zero point.
// CHECK-LABEL: func.func @chain
// CHECK:       [[Q:%.*]] = graph.requantize %acc, %m {axis = 1 : i64, zero_point = 125 : i64, low = 0 : i64, high = 255 : i64, to = ui8}
// CHECK-NEXT:  [[P:%.*]] = graph.max_pool [[Q]] {{.*}} -> tensor<1x4x3x3xui8>
// CHECK-NEXT:  graph.conv [[P]], %w {{{.*}}x_zero_point = 125 : i64} : (tensor<1x4x3x3xui8>
// CHECK-NEXT:  [[Z:%.*]] = graph.flip_sign %z : (tensor<i8>) -> tensor<ui8>
// CHECK-NEXT:  graph.dequantize [[P]], %s, [[Z]]
// SIGNED-LABEL: func.func @chain
// SIGNED-NOT:  graph.flip_sign
// SIGNED:      func.return
func.func @chain(%acc: tensor<1x4x6x6xi32>, %m: tensor<f32>, %s: tensor<f32>) -> (tensor<1x8x1x1xi32>, tensor<1x4x3x3xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %z = graph.constant dense<-3> : tensor<i8>
  %0 = graph.requantize %acc, %m {axis = 1 : i64, zero_point = -3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4x6x6xi32>, tensor<f32>) -> tensor<1x4x6x6xi8>
  %1 = graph.max_pool %0 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x4x6x6xi8>) -> tensor<1x4x3x3xi8>
  %2 = graph.conv %1, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = -3 : i64} : (tensor<1x4x3x3xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x1x1xi32>
  %3 = graph.dequantize %1, %s, %z {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<1x4x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x3x3xf32>
  func.return %2, %3 : tensor<1x8x1x1xi32>, tensor<1x4x3x3xf32>
}

// A quantisation without zero point gets one; what else reads the tensor gets it flipped back.
// CHECK-LABEL: func.func @output
// CHECK:       [[ZERO:%.*]] = graph.constant dense<0> : tensor<i8>
// CHECK-NEXT:  [[POINT:%.*]] = graph.flip_sign [[ZERO]]
// CHECK-NEXT:  [[Q:%.*]] = graph.quantize %x, %s, [[POINT]] {{{.*}}to = ui8}
// CHECK-NEXT:  [[BACK:%.*]] = graph.flip_sign [[Q]] : (tensor<2x4xui8>) -> tensor<2x4xi8>
// CHECK-NEXT:  graph.matmul [[Q]], %w {{{.*}}lhs_zero_point = 128 : i64
// CHECK-NEXT:  func.return [[BACK]]
func.func @output(%x: tensor<2x4xf32>, %s: tensor<f32>) -> (tensor<2x4xi8>, tensor<2x8xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x8xi8>
  %0 = graph.quantize %x, %s {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
  %1 = graph.matmul %0, %w {accumulator = i32} : (tensor<2x4xi8>, tensor<4x8xi8>) -> tensor<2x8xi32>
  func.return %0, %1 : tensor<2x4xi8>, tensor<2x8xi32>
}

// An input is flipped where it comes in. Unsigned weights, and products of two activations, change nothing.
// CHECK-LABEL: func.func @input
// CHECK:       [[F:%.*]] = graph.flip_sign %x : (tensor<2x4xi8>) -> tensor<2x4xui8>
// CHECK:       graph.matmul [[F]], %w {{.*}}lhs_zero_point = 128
// CHECK-NEXT:  graph.matmul %x, %u {{.*}} : (tensor<2x4xi8>, tensor<4x8xui8>)
// CHECK-NEXT:  graph.matmul %x, %y {{.*}} : (tensor<2x4xi8>, tensor<4x8xi8>)
// SIGNED-LABEL: func.func @input
// SIGNED:      [[G:%.*]] = graph.flip_sign %v : (tensor<2x4xui8>) -> tensor<2x4xi8>
// SIGNED:      graph.matmul [[G]], %w {{.*}}lhs_zero_point = -118
func.func @input(%x: tensor<2x4xi8>, %y: tensor<4x8xi8>, %v: tensor<2x4xui8>) -> (tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x8xi8>
  %u = graph.constant dense<1> : tensor<4x8xui8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x4xi8>, tensor<4x8xi8>) -> tensor<2x8xi32>
  %1 = graph.matmul %x, %u {accumulator = i32} : (tensor<2x4xi8>, tensor<4x8xui8>) -> tensor<2x8xi32>
  %2 = graph.matmul %x, %y {accumulator = i32} : (tensor<2x4xi8>, tensor<4x8xi8>) -> tensor<2x8xi32>
  %3 = graph.matmul %v, %w {accumulator = i32, lhs_zero_point = 10 : i64} : (tensor<2x4xui8>, tensor<4x8xi8>) -> tensor<2x8xi32>
  func.return %0, %1, %2, %3 : tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>, tensor<2x8xi32>
}

// One weight above 64 may have a neighbour with which a sum of two products leaves 16 bits.
// CHECK-LABEL: func.func @large
// CHECK:       [[F:%.*]] = graph.flip_sign %x : (tensor<2x4xui8>) -> tensor<2x4xi8>
// CHECK:       graph.matmul [[F]], %l {{.*}}lhs_zero_point = -128
// CHECK-NEXT:  graph.matmul %x, %s {accumulator = i32} : (tensor<2x4xui8>
// UNSIGNED-LABEL: func.func @large
// UNSIGNED-NOT:  graph.flip_sign
func.func @large(%x: tensor<2x4xui8>) -> (tensor<2x2xi32>, tensor<2x2xi32>) attributes {aot.entry} {
  %l = graph.constant dense<[[1, 1], [1, 1], [1, 1], [1, -65]]> : tensor<4x2xi8>
  %s = graph.constant dense<[[1, 1], [1, 1], [1, 64], [1, -64]]> : tensor<4x2xi8>
  %0 = graph.matmul %x, %l {accumulator = i32} : (tensor<2x4xui8>, tensor<4x2xi8>) -> tensor<2x2xi32>
  %1 = graph.matmul %x, %s {accumulator = i32} : (tensor<2x4xui8>, tensor<4x2xi8>) -> tensor<2x2xi32>
  func.return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
}

// A sum of two is flipped with its zero point and its clamp, and reads flipped operands with another offset: -100 less
// 3 * 128. Of a factor another zero point is taken off. What takes none off, or an integer that is wanted as it is,
// gets it flipped back.
// UNSIGNED-LABEL: func.func @sums
// UNSIGNED:      [[Q:%.*]] = graph.requantize %acc, %m {{{.*}}zero_point = 125 : i64, low = 0 : i64, high = 255 : i64, to = ui8}
// UNSIGNED-NEXT: [[BACK:%.*]] = graph.flip_sign [[Q]]
// UNSIGNED-NEXT: graph.conv [[Q]], %w {{.*}}x_zero_point = 125
// UNSIGNED-NEXT: [[A:%.*]] = graph.fixed_add %y, [[Q]] {x_factor = 5 : i64, y_factor = 3 : i64, offset = -484 : i64, shift = 4 : i64, zero_point = 129 : i64, low = 128 : i64, high = 255 : i64, to = ui8, even = false} : (tensor<1x4x6x6xi8>, tensor<1x4x6x6xui8>) -> tensor<1x4x6x6xui8>
// UNSIGNED-NEXT: graph.conv [[A]], %w {{.*}}x_zero_point = 129
// UNSIGNED-NEXT: [[F:%.*]] = graph.cast [[Q]] {to = i32}
// UNSIGNED-NEXT: [[P:%.*]] = graph.constant dense<125> : tensor<i32>
// UNSIGNED-NEXT: graph.sub [[F]], [[P]]
// UNSIGNED-NEXT: graph.cast [[BACK]] {to = i32}
// UNSIGNED-NEXT: [[I:%.*]] = graph.cast [[BACK]] {to = i32}
// UNSIGNED-NEXT: graph.sub %point, [[I]]
func.func @sums(%acc: tensor<1x4x6x6xi32>, %m: tensor<f32>, %y: tensor<1x4x6x6xi8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %point = graph.constant dense<-3> : tensor<i32>
  %0 = graph.requantize %acc, %m {axis = 1 : i64, zero_point = -3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4x6x6xi32>, tensor<f32>) -> tensor<1x4x6x6xi8>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = -3 : i64} : (tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
  %2 = graph.fixed_add %y, %0 {x_factor = 5 : i64, y_factor = 3 : i64, offset = -100 : i64, shift = 4 : i64, zero_point = 1 : i64, low = 0 : i64, high = 127 : i64, to = i8} : (tensor<1x4x6x6xi8>, tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi8>
  %3 = graph.conv %2, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 1 : i64} : (tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
  %4 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %5 = graph.sub %4, %point : (tensor<1x4x6x6xi32>, tensor<i32>) -> tensor<1x4x6x6xi32>
  %6 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %7 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %8 = graph.sub %point, %7 : (tensor<i32>, tensor<1x4x6x6xi32>) -> tensor<1x4x6x6xi32>
  func.return %1, %3, %5, %6, %8 : tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>
}

// A convolution in pairs of steps takes the sign that its schedule says, whatever its weights are.
// CHECK-LABEL: func.func @paired
// CHECK:       [[U:%.*]] = graph.flip_sign %x : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xui8>
// CHECK:       graph.conv [[U]], %large {{.*}}x_zero_point = 128 : i64
// CHECK-NEXT:  graph.conv %x, %small
func.func @paired(%x: tensor<1x4x6x6xi8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>) attributes {aot.entry} {
  %large = graph.constant dense<99> : tensor<8x4x3x3xi8>
  %small = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %0 = graph.conv %x, %large {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, schedule = #graph.paired_schedule<lanes = 8, mr = 4, unsigned>} : (tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
  %1 = graph.conv %x, %small {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, schedule = #graph.paired_schedule<lanes = 8, mr = 4>} : (tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
  func.return %0, %1 : tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>
}

// What is taken off floats is no zero point, nor are several numbers, or one of run time; and what is added is none.
// UNSIGNED-LABEL: func.func @points
// UNSIGNED:      [[Q:%.*]] = graph.requantize %acc, %m {{.*}}to = ui8
// UNSIGNED-NEXT: [[BACK:%.*]] = graph.flip_sign [[Q]]
// UNSIGNED-NEXT: graph.conv [[Q]], %w
// UNSIGNED-NEXT: [[F:%.*]] = graph.cast [[BACK]] {to = f32}
// UNSIGNED-NEXT: graph.sub [[F]], %float
// UNSIGNED-NEXT: [[I:%.*]] = graph.cast [[BACK]] {to = i32}
// UNSIGNED-NEXT: graph.sub [[I]], %several
// UNSIGNED-NEXT: [[J:%.*]] = graph.cast [[BACK]] {to = i32}
// UNSIGNED-NEXT: graph.sub [[J]], %p
// UNSIGNED-NEXT: [[K:%.*]] = graph.cast [[BACK]] {to = i32}
// UNSIGNED-NEXT: graph.add [[K]], %one
func.func @points(%acc: tensor<1x4x6x6xi32>, %m: tensor<f32>, %p: tensor<i32>) -> (tensor<1x8x4x4xi32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<8x4x3x3xi8>
  %float = graph.constant dense<-3.0> : tensor<f32>
  %several = graph.constant dense<[[[1]], [[2]], [[3]], [[4]]]> : tensor<4x1x1xi32>
  %one = graph.constant dense<-3> : tensor<i32>
  %0 = graph.requantize %acc, %m {axis = 1 : i64, zero_point = -3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4x6x6xi32>, tensor<f32>) -> tensor<1x4x6x6xi8>
  %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = -3 : i64} : (tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>) -> tensor<1x8x4x4xi32>
  %2 = graph.cast %0 {to = f32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xf32>
  %3 = graph.sub %2, %float : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
  %4 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %5 = graph.sub %4, %several : (tensor<1x4x6x6xi32>, tensor<4x1x1xi32>) -> tensor<1x4x6x6xi32>
  %6 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %7 = graph.sub %6, %p : (tensor<1x4x6x6xi32>, tensor<i32>) -> tensor<1x4x6x6xi32>
  %8 = graph.cast %0 {to = i32} : (tensor<1x4x6x6xi8>) -> tensor<1x4x6x6xi32>
  %9 = graph.add %8, %one : (tensor<1x4x6x6xi32>, tensor<i32>) -> tensor<1x4x6x6xi32>
  func.return %1, %3, %5, %7, %9 : tensor<1x8x4x4xi32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>, tensor<1x4x6x6xi32>
}

// A product that wraps takes no zero point.
// UNSIGNED-LABEL: func.func @wrapped
// UNSIGNED-NOT:   graph.flip_sign
// UNSIGNED:       func.return
func.func @wrapped(%x: tensor<2x4xi8>) -> tensor<2x4xi8> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %0 = graph.matmul %x, %w : (tensor<2x4xi8>, tensor<4x4xi8>) -> tensor<2x4xi8>
  func.return %0 : tensor<2x4xi8>
}

// Two readers share what is flipped. What only makes it as it is stays.
// UNSIGNED-LABEL: func.func @shared
// UNSIGNED-NEXT:  [[F:%.*]] = graph.flip_sign %x
// UNSIGNED-NEXT:  graph.constant
// UNSIGNED-NEXT:  graph.matmul [[F]], %w
// UNSIGNED-NEXT:  graph.matmul [[F]], %w
// UNSIGNED-NEXT:  [[C:%.*]] = graph.cast %f {to = i8}
// UNSIGNED-NEXT:  [[G:%.*]] = graph.flip_sign [[C]]
// UNSIGNED-NEXT:  graph.matmul [[G]], %w
func.func @shared(%x: tensor<2x4xi8>, %f: tensor<2x4xf32>) -> (tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %0 = graph.matmul %x, %w {accumulator = i32} : (tensor<2x4xi8>, tensor<4x4xi8>) -> tensor<2x4xi32>
  %1 = graph.matmul %x, %w {accumulator = i32, lhs_zero_point = 2 : i64} : (tensor<2x4xi8>, tensor<4x4xi8>) -> tensor<2x4xi32>
  %2 = graph.cast %f {to = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  %3 = graph.matmul %2, %w {accumulator = i32} : (tensor<2x4xi8>, tensor<4x4xi8>) -> tensor<2x4xi32>
  func.return %0, %1, %3 : tensor<2x4xi32>, tensor<2x4xi32>, tensor<2x4xi32>
}

// A zero point of others is flipped back for them.
// UNSIGNED-LABEL: func.func @zero_point
// UNSIGNED:       [[Q:%.*]] = graph.quantize %x, {{.*}}to = ui8
// UNSIGNED:       [[B:%.*]] = graph.flip_sign [[Q]]
// UNSIGNED:       graph.dequantize %z, %t, [[B]]
func.func @zero_point(%x: tensor<4xf32>, %s: tensor<f32>, %z: tensor<2x4xi8>, %t: tensor<4xf32>) -> (tensor<1x4xi32>, tensor<2x4xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %0 = graph.quantize %x, %s {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  %1 = graph.reshape %0 {shape = array<i64: 1, 4>} : (tensor<4xi8>) -> tensor<1x4xi8>
  %2 = graph.matmul %1, %w {accumulator = i32} : (tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi32>
  %3 = graph.dequantize %z, %t, %0 {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<2x4xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<2x4xf32>
  func.return %2, %3 : tensor<1x4xi32>, tensor<2x4xf32>
}

// Requantised as TFLite does.
// UNSIGNED-LABEL: func.func @doubling
// UNSIGNED:       [[Q:%.*]] = graph.doubling_requantize %x, %f, %s {axis = 1 : i64, zero_point = 125 : i64, low = 0 : i64, high = 255 : i64, to = ui8}
// UNSIGNED-NEXT:  graph.matmul [[Q]], %w {{{.*}}lhs_zero_point = 125 : i64}
func.func @doubling(%x: tensor<1x4xi32>, %f: tensor<i32>, %s: tensor<i32>) -> tensor<1x4xi32> attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x4xi8>
  %0 = graph.doubling_requantize %x, %f, %s {axis = 1 : i64, zero_point = -3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x4xi32>, tensor<i32>, tensor<i32>) -> tensor<1x4xi8>
  %1 = graph.matmul %0, %w {accumulator = i32, lhs_zero_point = -3 : i64} : (tensor<1x4xi8>, tensor<4x4xi8>) -> tensor<1x4xi32>
  func.return %1 : tensor<1x4xi32>
}
