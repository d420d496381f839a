// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

// A convolution with borders keeps the zero point of x; multipliers are 0.5 * [0.25, 0.125] / 0.5.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[M:.*]] = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
// CHECK-DAG:  %[[W:.*]] = graph.constant dense<{{.*}}> : tensor<2x1x3xi8>
// CHECK:      %[[A:.*]] = graph.conv %x, %[[W]] {{{.*}}accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x1x8xi8>, tensor<2x1x3xi8>) -> tensor<1x2x8xi32>
// CHECK-NEXT: %[[Q:.*]] = graph.requantize %[[A]], %[[M]] {axis = 1 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64, to = i8}
// CHECK-NEXT: func.return %[[Q]]
func.func @main(%x: tensor<1x1x8xi8>) -> tensor<1x2x8xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x1x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x8xf32>
  %w = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi8>
  %ws = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x1x3xi8>, tensor<2xf32>) -> tensor<2x1x3xf32>
  %c = graph.conv %xf, %wf {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>) -> tensor<1x2x8xf32>
  %q = graph.quantize %c, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x8xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x8xi8>
  func.return %q : tensor<1x2x8xi8>
}

// -----

// Zero points of a bias that are 0 change nothing; with others it stays a sum of real numbers.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[B:.*]] = graph.constant dense<[10, 20]> : tensor<2xi32>
// CHECK:      graph.conv %x, %{{[^,]*}} {{{.*}}accumulator = i32}
// CHECK:      graph.dequantize %{{.*}} : (tensor<1x2x6xi32>, tensor<2xf32>) -> tensor<1x2x6xf32>
// CHECK:      graph.add
// CHECK:      graph.conv %x, %{{.*}}, %[[B]] {{{.*}}accumulator = i32}
func.func @main(%x: tensor<1x1x8xi8>) -> (tensor<1x2x6xi8>, tensor<1x2x6xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %xf = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x1x8xi8>, tensor<f32>) -> tensor<1x1x8xf32>
  %w = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi8>
  %ws = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x1x3xi8>, tensor<2xf32>) -> tensor<2x1x3xf32>
  %b = graph.constant dense<[10, 20]> : tensor<2xi32>
  %bs = graph.constant dense<[1.250000e-01, 6.250000e-02]> : tensor<2xf32>
  %zeros = graph.constant dense<0> : tensor<2xi32>
  %others = graph.constant dense<[0, 1]> : tensor<2xi32>
  %bf = graph.dequantize %b, %bs, %zeros {axis = 0, block_size = 0, to = f32} : (tensor<2xi32>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  %bo = graph.dequantize %b, %bs, %others {axis = 0, block_size = 0, to = f32} : (tensor<2xi32>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  %c = graph.conv %xf, %wf, %bf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>, tensor<2xf32>) -> tensor<1x2x6xf32>
  %d = graph.conv %xf, %wf, %bo {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>, tensor<2xf32>) -> tensor<1x2x6xf32>
  %q = graph.quantize %c, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xi8>
  %r = graph.quantize %d, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xi8>
  func.return %q, %r : tensor<1x2x6xi8>, tensor<1x2x6xi8>
}

// -----

// Without borders the zero point goes into the bias, [10, 20] - 3 * [2, 3]; a relu and a clip into the clamp.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[B:.*]] = graph.constant dense<[4, 11]> : tensor<2xi32>
// CHECK:      %[[A:.*]] = graph.conv %x, %{{.*}}, %[[B]] {{{.*}}accumulator = i32} : (tensor<1x1x8xi8>, tensor<2x1x3xi8>, tensor<2xi32>) -> tensor<1x2x6xi32>
// CHECK-NEXT: graph.requantize %[[A]], %{{.*}} {axis = 1 : i64, zero_point = 3 : i64, low = 3 : i64, high = 15 : i64, to = i8}
func.func @main(%x: tensor<1x1x8xi8>) -> tensor<1x2x6xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x1x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x8xf32>
  %w = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi8>
  %ws = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x1x3xi8>, tensor<2xf32>) -> tensor<2x1x3xf32>
  %b = graph.constant dense<[10, 20]> : tensor<2xi32>
  %bs = graph.constant dense<[1.250000e-01, 6.250000e-02]> : tensor<2xf32>
  %bf = graph.dequantize %b, %bs {axis = 0, block_size = 0, to = f32} : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %six = graph.constant dense<6.000000e+00> : tensor<f32>
  %c = graph.conv %xf, %wf, %bf {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>, tensor<2xf32>) -> tensor<1x2x6xf32>
  %r = graph.relu %c : (tensor<1x2x6xf32>) -> tensor<1x2x6xf32>
  %m = graph.min %r, %six : (tensor<1x2x6xf32>, tensor<f32>) -> tensor<1x2x6xf32>
  %q = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x6xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x6xi8>
  func.return %q : tensor<1x2x6xi8>
}

// -----

// A bias in f32 that is a whole number of units of the sums is one in i32; of another it is added to real numbers.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  graph.constant dense<[2, -8]> : tensor<2xi32>
// CHECK:      %[[A:.*]] = graph.matmul %x, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32>
// CHECK-NEXT: %[[B:.*]] = graph.add %[[A]], %{{.*}} : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
// CHECK-NEXT: graph.requantize %[[B]]
// CHECK:      graph.matmul %x, %{{.*}} {accumulator = i32}
// CHECK-NEXT: graph.add
// CHECK-NEXT: graph.dequantize
// CHECK-NEXT: graph.add {{.*}}f32
// CHECK-NEXT: graph.quantize
func.func @main(%x: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x2xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %ws = graph.constant dense<2.500000e-01> : tensor<f32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %whole = graph.constant dense<[1.750000e+00, -2.500000e-01]> : tensor<2xf32>
  %other = graph.constant dense<[1.800000e+00, -2.500000e-01]> : tensor<2xf32>
  %p = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a = graph.add %p, %whole : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %q = graph.quantize %a, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  %p2 = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a2 = graph.add %p2, %other : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
  %q2 = graph.quantize %a2, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %q, %q2 : tensor<1x2xi8>, tensor<1x2xi8>
}

// -----

// Products of two activations keep both zero points; the model goes on with real numbers.
// CHECK-LABEL: func.func @main
// CHECK:      %[[A:.*]] = graph.matmul %x, %y {transpose_rhs = true, accumulator = i32, lhs_zero_point = 3 : i64, rhs_zero_point = 3 : i64} : (tensor<4x2xi8>, tensor<4x2xi8>) -> tensor<4x4xi32>
// CHECK-NEXT: %[[D:.*]] = graph.dequantize %[[A]], %{{.*}} : (tensor<4x4xi32>, tensor<f32>) -> tensor<4x4xf32>
// CHECK-NEXT: func.return %[[D]]
func.func @main(%x: tensor<4x2xi8>, %y: tensor<4x2xi8>) -> tensor<4x4xf32> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<4x2xf32>
  %yf = graph.dequantize %y, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<4x2xf32>
  %p = graph.matmul %xf, %yf {transpose_rhs = true} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  func.return %p : tensor<4x4xf32>
}

// -----

// Weights less their zero point take the narrowest type: ui8 about 128 is i8; what needs nine bits is i16.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  graph.constant dense<{{.*}}> : tensor<2x2xi16>
// CHECK-DAG:  graph.constant dense<{{.*}}-128{{.*}}> : tensor<2x2xi8>
// CHECK:      graph.matmul %x, %{{.*}} : (tensor<1x2xi8>, tensor<2x2xi8>)
// CHECK:      graph.matmul %x, %{{.*}} : (tensor<1x2xi8>, tensor<2x2xi16>)
func.func @main(%x: tensor<1x2xi8>) -> (tensor<1x2xf32>, tensor<1x2xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[0, 255], [128, 1]]> : tensor<2x2xui8>
  %p = graph.constant dense<128> : tensor<ui8>
  %p1 = graph.constant dense<127> : tensor<ui8>
  %wf = graph.dequantize %w, %s, %p {axis = 0, block_size = 0, to = f32} : (tensor<2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xf32>
  %vf = graph.dequantize %w, %s, %p1 {axis = 0, block_size = 0, to = f32} : (tensor<2x2xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x2xf32>
  %a = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %b = graph.matmul %xf, %vf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %a, %b : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// Integers as QLinearConv is imported: casts less zero points, and one factor.
// CHECK-LABEL: func.func @main
// CHECK-DAG:  %[[M:.*]] = graph.constant dense<1.250000e-01> : tensor<f32>
// CHECK-DAG:  %[[W:.*]] = graph.constant dense<{{.*}}> : tensor<2x1x3xi8>
// CHECK:      %[[A:.*]] = graph.conv %x, %[[W]] {{{.*}}accumulator = i32, x_zero_point = 200 : i64} : (tensor<1x1x8xui8>
// CHECK-NEXT: graph.requantize %[[A]], %{{.*}} {axis = 1 : i64, zero_point = 7 : i64, low = 0 : i64, high = 255 : i64, to = ui8}
func.func @main(%x: tensor<1x1x8xui8>) -> tensor<1x2x8xui8> attributes {aot.entry} {
  %point = graph.constant dense<200> : tensor<i32>
  %w = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi32>
  %one = graph.constant dense<1.000000e+00> : tensor<f32>
  %m = graph.constant dense<1.250000e-01> : tensor<f32>
  %z = graph.constant dense<7> : tensor<ui8>
  %xi = graph.cast %x {to = i32} : (tensor<1x1x8xui8>) -> tensor<1x1x8xi32>
  %xz = graph.sub %xi, %point : (tensor<1x1x8xi32>, tensor<i32>) -> tensor<1x1x8xi32>
  %c = graph.conv %xz, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xi32>, tensor<2x1x3xi32>) -> tensor<1x2x8xi32>
  %f = graph.cast %c {to = f32} : (tensor<1x2x8xi32>) -> tensor<1x2x8xf32>
  %g = graph.mul %f, %m : (tensor<1x2x8xf32>, tensor<f32>) -> tensor<1x2x8xf32>
  %q = graph.quantize %g, %one, %z {axis = 1, block_size = 0, to = ui8} : (tensor<1x2x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<1x2x8xui8>
  func.return %q : tensor<1x2x8xui8>
}

// -----

// Terms of a sum that have several scales, scales that are not known, and sums that may leave i32 stay floats.
// CHECK-LABEL: func.func @main
// CHECK-NOT:  accumulator
// CHECK:      func.return
func.func @main(%x: tensor<1x2xi8>, %rt: tensor<f32>, %wide: tensor<1x3xi16>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %ws = graph.constant dense<[2.500000e-01, 5.000000e-01]> : tensor<2xf32>
  %big = graph.constant dense<[[32767, -2], [32767, 4], [9, 0]]> : tensor<3x2xi16>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<2xf32>) -> tensor<2x2xf32>
  %vf = graph.dequantize %w, %rt {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %bf = graph.dequantize %big, %s {axis = 0, block_size = 0, to = f32} : (tensor<3x2xi16>, tensor<f32>) -> tensor<3x2xf32>
  %yf = graph.dequantize %wide, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x3xi16>, tensor<f32>) -> tensor<1x3xf32>
  %a = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %b = graph.matmul %xf, %vf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %c = graph.matmul %yf, %bf : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
  func.return %a, %b, %c : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// What something else reads before it is quantised is a real number; a bias that is not known is added to it.
// CHECK-LABEL: func.func @main
// CHECK:      graph.matmul {{.*}}accumulator
// CHECK:      %[[F:.*]] = graph.dequantize
// CHECK:      %[[Q:.*]] = graph.quantize %[[F]]
// CHECK:      %[[A:.*]] = graph.conv {{.*}}accumulator = i32
// CHECK-NEXT: %[[D:.*]] = graph.dequantize %[[A]]
// CHECK-NEXT: graph.reshape %b
// CHECK-NEXT: %[[S:.*]] = graph.add %[[D]]
// CHECK-NEXT: %[[R:.*]] = graph.quantize %[[S]]
// CHECK:      func.return %[[F]], %[[Q]], %[[R]]
func.func @main(%x: tensor<1x2xi8>, %i: tensor<1x1x8xi8>, %b: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<1x2xi8>, tensor<1x2x8xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %ws = graph.constant dense<2.500000e-01> : tensor<f32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %k = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi8>
  %ks = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
  %kf = graph.dequantize %k, %ks {axis = 0, block_size = 0, to = f32} : (tensor<2x1x3xi8>, tensor<2xf32>) -> tensor<2x1x3xf32>
  %if = graph.dequantize %i, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x1x8xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x8xf32>
  %p = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %q = graph.quantize %p, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  %c = graph.conv %if, %kf, %b {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x8xf32>, tensor<2x1x3xf32>, tensor<2xf32>) -> tensor<1x2x8xf32>
  %r = graph.quantize %c, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x8xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x8xi8>
  func.return %p, %q, %r : tensor<1x2xf32>, tensor<1x2xi8>, tensor<1x2x8xi8>
}

// -----

// Integers that are added along another axis than that of the channels are no bias.
// CHECK-LABEL: func.func @main
// CHECK:      graph.conv %x, %{{.*}} {{{.*}}accumulator = i32
// CHECK-NEXT: graph.dequantize
// CHECK-NEXT: graph.add {{.*}}f32>
// CHECK-NEXT: graph.quantize
func.func @main(%x: tensor<1x1x2xi8>) -> tensor<1x2x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x1x2xf32>
  %w = graph.constant dense<[[[1, -2, 3]], [[4, 5, -6]]]> : tensor<2x1x3xi8>
  %ws = graph.constant dense<[2.500000e-01, 1.250000e-01]> : tensor<2xf32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x1x3xi8>, tensor<2xf32>) -> tensor<2x1x3xf32>
  %b = graph.constant dense<[10, 20]> : tensor<2xi32>
  %bs = graph.constant dense<[1.250000e-01, 6.250000e-02]> : tensor<2xf32>
  %bf = graph.dequantize %b, %bs {axis = 0, block_size = 0, to = f32} : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %c = graph.conv %xf, %wf {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, group = 1} : (tensor<1x1x2xf32>, tensor<2x1x3xf32>) -> tensor<1x2x2xf32>
  %a = graph.add %c, %bf : (tensor<1x2x2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>
  %q = graph.quantize %a, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2xi8>
  func.return %q : tensor<1x2x2xi8>
}
