// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},divide-transposed' --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},divide-transposed' --split-input-file | filecheck %s --check-prefix KEPT
// KEPT-NOT: graph.conv %

// Channels 0 and 1 of the four phases: element k of the kernel is the weight of phase k, and multipliers are repeated.
// CHECK-LABEL: func.func @phases
// CHECK:         %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1]]], {{\[\[\[}}5]]], {{\[\[\[}}2]]], {{\[\[\[}}6]]], {{\[\[\[}}3]]], {{\[\[\[}}7]]], {{\[\[\[}}4]]], {{\[\[\[}}8]]]]> : tensor<8x1x1x1xi8>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %x, %[[W]] {{{.*}}accumulator = i32{{.*}}} : (tensor<1x1x3x3xi8>, tensor<8x1x1x1xi8>) -> tensor<1x8x3x3xi32>
// CHECK-NEXT:    %[[M:.*]] = graph.constant dense<[5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01, 5.000000e-01, 2.500000e-01]> : tensor<8xf32>
// CHECK:         %[[Q:.*]] = graph.requantize %[[C]], %[[M]]
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[Q]] {{.*}} -> tensor<1x1x2x2x2x3x3xi8>
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[R]] {permutation = array<i64: 0, 1, 4, 5, 2, 6, 3>} : (tensor<1x1x2x2x2x3x3xi8>) -> tensor<1x1x2x3x2x3x2xi8>
// CHECK-NEXT:    %[[S:.*]] = graph.reshape %[[T]] {{.*}} -> tensor<1x2x6x6xi8>
// CHECK-NEXT:    func.return %[[S]]
func.func @phases(%x: tensor<1x1x3x3xi8>) -> tensor<1x2x6x6xi8> attributes {aot.entry} {
  %w = graph.constant dense<[[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]]> : tensor<1x2x2x2xi8>
  %m = graph.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, output_padding = array<i64: 0, 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x3x3xi8>, tensor<1x2x2x2xi8>) -> tensor<1x2x6x6xi32>
  %q = graph.requantize %y, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x6x6xi32>, tensor<2xf32>) -> tensor<1x2x6x6xi8>
  func.return %q : tensor<1x2x6x6xi8>
}

// -----

// Three taps and a stride of two: the second phase has a weight of 0, or what stands for it. What is cropped from the
// result is sliced off, and sums that something else reads are moved as they are.
// CHECK-LABEL: func.func @cropped
// CHECK:         graph.constant dense<{{\[\[\[}}3, 1]], {{\[\[}}7, 2]]]> : tensor<2x1x2xi8>
// CHECK:         %[[C:.*]] = graph.conv %x, %{{.*}} {{{.*}}pads = array<i64: 1, 0>
// CHECK-SAME:    tensor<1x2x5xi32>
// CHECK:         %[[S:.*]] = graph.slice %{{.*}} {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 1, 9>}
// CHECK:         graph.requantize %[[S]]
// CHECK:         func.return %[[S]]
func.func @cropped(%x: tensor<1x1x5xi8>) -> (tensor<1x1x9xi32>, tensor<1x1x9xi8>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %m = graph.constant dense<5.000000e-01> : tensor<f32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32, w_zero_point = 7 : i64} : (tensor<1x1x5xi8>, tensor<1x1x3xi8>) -> tensor<1x1x9xi32>
  %q = graph.requantize %y, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x1x9xi32>, tensor<f32>) -> tensor<1x1x9xi8>
  func.return %y, %q : tensor<1x1x9xi32>, tensor<1x1x9xi8>
}

// -----

// Not with dilated taps, with a weight of run time, of 16 bits, of floats, or where few of the products would be of
// anything.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     graph.conv %
// CHECK:         func.return
func.func @kept(%x: tensor<1x1x5xi8>, %v: tensor<1x1x3xi8>, %s: tensor<1x1x5xi16>, %f: tensor<1x1x5xf32>) -> (tensor<1x1x13xi32>, tensor<1x1x11xi32>, tensor<1x1x11xi32>, tensor<1x1x11xf32>, tensor<1x1x21xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %o = graph.constant dense<[[[1]]]> : tensor<1x1x1xi8>
  %wide = graph.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi16>
  %wf = graph.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %a = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x3xi8>) -> tensor<1x1x13xi32>
  %b = graph.conv_transpose %x, %v {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x3xi8>) -> tensor<1x1x11xi32>
  %c = graph.conv_transpose %s, %wide {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi16>, tensor<1x1x3xi16>) -> tensor<1x1x11xi32>
  %d = graph.conv_transpose %f, %wf {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64} : (tensor<1x1x5xf32>, tensor<1x1x3xf32>) -> tensor<1x1x11xf32>
  %e = graph.conv_transpose %x, %o {strides = array<i64: 5>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x1xi8>) -> tensor<1x1x21xi32>
  func.return %a, %b, %c, %d, %e : tensor<1x1x13xi32>, tensor<1x1x11xi32>, tensor<1x1x11xi32>, tensor<1x1x11xf32>, tensor<1x1x21xi32>
}

// -----

// Nor with a weight or a bias of run time beside a constant one, or with dilated taps along one axis; and products of matrices have no residues.
// CHECK-LABEL: func.func @operands
// CHECK-NOT:     graph.conv %
// CHECK:         func.return
func.func @operands(%x: tensor<1x1x5xi8>, %v: tensor<1x1x3xi8>, %b: tensor<1xi32>, %y: tensor<2x2xi8>, %z: tensor<1x1x1x1xi8>) -> (tensor<1x1x11xi32>, tensor<1x1x11xi32>, tensor<2x2xi32>, tensor<1x1x2x3xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2, 3]]]> : tensor<1x1x3xi8>
  %k = graph.constant dense<[1]> : tensor<1xi32>
  %m = graph.constant dense<1> : tensor<2x2xi8>
  %d = graph.constant dense<1> : tensor<1x1x2x2xi8>
  %0 = graph.conv_transpose %x, %v, %k {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x3xi8>, tensor<1xi32>) -> tensor<1x1x11xi32>
  %1 = graph.conv_transpose %x, %w, %b {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x3xi8>, tensor<1xi32>) -> tensor<1x1x11xi32>
  %2 = graph.matmul %y, %m {accumulator = i32} : (tensor<2x2xi8>, tensor<2x2xi8>) -> tensor<2x2xi32>
  %3 = graph.conv_transpose %z, %d {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 2>, output_padding = array<i64: 0, 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x1x1xi8>, tensor<1x1x2x2xi8>) -> tensor<1x1x2x3xi32>
  func.return %0, %1, %2, %3 : tensor<1x1x11xi32>, tensor<1x1x11xi32>, tensor<2x2xi32>, tensor<1x1x2x3xi32>
}

// -----

// Four residues of one tap are as many products as a dot product has; sums that nothing requantises are moved.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[C:.*]] = graph.conv %x
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[C]]
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[R]]
// CHECK-NEXT:    %[[S:.*]] = graph.reshape %[[T]] {{.*}} -> tensor<1x1x20xi32>
// CHECK-NEXT:    %[[L:.*]] = graph.slice %[[S]]
// CHECK-NEXT:    func.return %[[L]]
func.func @sums(%x: tensor<1x1x5xi8>) -> tensor<1x1x17xi32> attributes {aot.entry} {
  %w = graph.constant dense<[[[1]]]> : tensor<1x1x1xi8>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 4>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x1xi8>) -> tensor<1x1x17xi32>
  func.return %0 : tensor<1x1x17xi32>
}

// -----

// Two requantisations read the sums in place. So does one by multipliers of run time, or along an axis of space.
// CHECK-LABEL: func.func @readers
// CHECK:         %[[S:.*]] = graph.reshape %{{.*}} -> tensor<1x2x2xi32>
// CHECK-NEXT:    graph.requantize %[[S]], %m
// CHECK-NEXT:    graph.requantize %[[S]], %m
// CHECK:         %[[T:.*]] = graph.reshape %{{.*}} -> tensor<1x2x2xi32>
// CHECK-NEXT:    graph.requantize %[[T]], %r
// CHECK:         %[[U:.*]] = graph.reshape %{{.*}} -> tensor<1x2x2xi32>
// CHECK-NEXT:    graph.requantize %[[U]], %m {{.*}}axis = 2
// CHECK-NEXT:    func.return
func.func @readers(%x: tensor<1x1x1xi8>, %r: tensor<2xf32>) -> (tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2], [3, 4]]]> : tensor<1x2x2xi8>
  %m = graph.constant dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x1xi8>, tensor<1x2x2xi8>) -> tensor<1x2x2xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %2 = graph.requantize %0, %m {axis = 1, zero_point = 1, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %3 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x1xi8>, tensor<1x2x2xi8>) -> tensor<1x2x2xi32>
  %4 = graph.requantize %3, %r {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  %5 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x1xi8>, tensor<1x2x2xi8>) -> tensor<1x2x2xi32>
  %6 = graph.requantize %5, %m {axis = 2, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x2xi32>, tensor<2xf32>) -> tensor<1x2x2xi8>
  func.return %1, %2, %4, %6 : tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>, tensor<1x2x2xi8>
}

// -----

// Elements that no position of the result sees are not read.
// CHECK-LABEL: func.func @unseen
// CHECK:         %[[X:.*]] = graph.slice %x {starts = array<i64: 0, 0, 1>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 1, 3>}
// CHECK:         graph.conv %[[X]], %{{.*}} {{{.*}}pads = array<i64: 0, 0>
func.func @unseen(%x: tensor<1x1x5xi8>) -> tensor<1x1x6xi32> attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2]]]> : tensor<1x1x2xi8>
  %0 = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 2, 2>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x5xi8>, tensor<1x1x2xi8>) -> tensor<1x1x6xi32>
  func.return %0 : tensor<1x1x6xi32>
}

// -----

// Each residue starts with the bias of its channel; one multiplier is that of all. Without strides there is one residue.
// CHECK-LABEL: func.func @bias
// CHECK:         %[[B:.*]] = graph.constant dense<[7, 8, 7, 8]> : tensor<4xi32>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %x, %{{.*}}, %[[B]]
// CHECK-NEXT:    %[[M:.*]] = graph.constant dense<5.000000e-01> : tensor<f32>
// CHECK-NEXT:    graph.requantize %[[C]], %[[M]]
// CHECK:         %[[D:.*]] = graph.conv %x
// CHECK-NEXT:    func.return %{{.*}}, %[[D]]
func.func @bias(%x: tensor<1x1x3xi8>) -> (tensor<1x2x6xi8>, tensor<1x2x4xi32>) attributes {aot.entry} {
  %w = graph.constant dense<[[[1, 2], [3, 4]]]> : tensor<1x2x2xi8>
  %b = graph.constant dense<[7, 8]> : tensor<2xi32>
  %m = graph.constant dense<5.000000e-01> : tensor<f32>
  %0 = graph.conv_transpose %x, %w, %b {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x3xi8>, tensor<1x2x2xi8>, tensor<2xi32>) -> tensor<1x2x6xi32>
  %1 = graph.requantize %0, %m {axis = 1, zero_point = 0, low = -128, high = 127, to = i8} : (tensor<1x2x6xi32>, tensor<f32>) -> tensor<1x2x6xi8>
  %2 = graph.conv_transpose %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1 : i64, accumulator = i32} : (tensor<1x1x3xi8>, tensor<1x2x2xi8>) -> tensor<1x2x4xi32>
  func.return %1, %2 : tensor<1x2x6xi8>, tensor<1x2x4xi32>
}
