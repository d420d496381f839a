// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s
// RUN: aotc-opt %s -p 'raise-quantization{means=true},dce' --split-input-file | filecheck %s --check-prefix=MEANS
// RUN: aotc-opt %s -p 'raise-quantization{means=true averages=true},dce' --split-input-file | filecheck %s --check-prefix=AVERAGES
// RUN: aotc-opt %s -p 'raise-quantization{most-bits=8},dce' --split-input-file | filecheck %s --check-prefix=BYTES

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

// What moves or picks elements does that with integers, padding too; what is quantised back was there before.
// CHECK-LABEL: func.func @main
// CHECK:      %[[T:.*]] = graph.transpose %x {{.*}} -> tensor<1x2x4x4xi8>
// CHECK:      %[[P:.*]] = graph.max_pool %[[T]] {{.*}} -> tensor<1x2x2x2xi8>
// CHECK:      %[[C:.*]] = graph.concat %[[P]], %[[P]] {{.*}} -> tensor<1x4x2x2xi8>
// CHECK:      %[[D:.*]] = graph.pad %[[C]], %[[Z:.*]] {{.*}} -> tensor<1x4x2x3xi8>
// CHECK-NEXT: func.return %[[D]]
func.func @main(%x: tensor<1x4x4x2xi8>) -> tensor<1x4x2x3xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x4x4x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x4x4x2xf32>
  %t = graph.transpose %xf {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x4x4x2xf32>) -> tensor<1x2x4x4xf32>
  %p = graph.max_pool %t {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %c = graph.concat %p, %p {axis = 1} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x4x2x2xf32>
  %d = graph.pad %c {pads = array<i64: 0, 0, 0, 0, 0, 0, 0, 1>, mode = "constant"} : (tensor<1x4x2x2xf32>) -> tensor<1x4x2x3xf32>
  %q = graph.quantize %d, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4x2x3xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4x2x3xi8>
  func.return %q : tensor<1x4x2x3xi8>
}

// -----

// Not where another scale quantises back, parts have several scales, or no integer stands for what is padded with.
// CHECK-LABEL: func.func @main
// CHECK:      graph.concat {{.*}}f32>
// CHECK:      graph.pad {{.*}}f32>
// CHECK:      %[[Q:.*]] = graph.quantize %xf
// CHECK:      func.return %{{.*}}, %{{.*}}, %[[Q]]
func.func @main(%x: tensor<1x2xi8>) -> (tensor<2x2xf32>, tensor<1x3xf32>, tensor<1x2xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %s2 = graph.constant dense<2.500000e-01> : tensor<f32>
  %v = graph.constant dense<2.500000e-01> : tensor<f32>
  %yf = graph.dequantize %x, %s2, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %c = graph.concat %xf, %yf {axis = 0} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %d = graph.pad %xf, %v {pads = array<i64: 0, 0, 0, 1>, mode = "constant"} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x3xf32>
  %q = graph.quantize %xf, %s2, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %c, %d, %q : tensor<2x2xf32>, tensor<1x3xf32>, tensor<1x2xi8>
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

// Means: of a channel, and of windows whose mean is never half of an integer, with multipliers 1 / 4 and 1 / 9.
// CHECK-LABEL: func.func @means
// CHECK:      %[[C:.*]] = graph.cast %x {to = i32}
// CHECK-NEXT: %[[S:.*]] = graph.reduce %[[C]] {kind = "sum"
// CHECK-NEXT: %[[Z:.*]] = graph.add %[[S]]
// CHECK-NEXT: graph.requantize %[[Z]]
// CHECK:      %[[P:.*]] = graph.sum_pool %x {{{.*}}x_zero_point = 3 : i64} : (tensor<1x2x3x3xi8>) -> tensor<1x2x1x1xi32>
// CHECK-NEXT: graph.requantize %[[P]]
// CHECK:      graph.average_pool {{.*}}f32>
// CHECK:      graph.average_pool {{.*}}f32>
// CHECK:      graph.reduce {{.*}}f32>
// Where all means are wanted as sums, those of windows at borders have multipliers of their own: 1 / 4, 1 / 6, 1 / 9.
// MEANS-LABEL: func.func @means
// MEANS-DAG:   %[[M:.*]] = graph.constant dense<{{\[\[\[\[}}2.500000e-01, 0.166666672, 2.500000e-01], [0.166666672, 0.111111112, 0.166666672], [2.500000e-01, 0.166666672, 2.500000e-01]]]]> : tensor<1x1x3x3xf32>
// MEANS-NOT:   graph.average_pool
// MEANS:       %[[B:.*]] = graph.sum_pool %x {{{.*}}pads = array<i64: 1, 1, 1, 1>
// MEANS-NEXT:  graph.requantize %[[B]], %[[M]]
// MEANS-NOT:   kind = "mean"
// MEANS:       func.return
// In fixed point, where a mean may be near the middle, windows have factors and middles by their count.
// AVERAGES-LABEL: func.func @means
// AVERAGES:       graph.sum_pool
// AVERAGES-NEXT:  graph.requantize
// AVERAGES-NEXT:  graph.fixed_average_pool %x, %{{.*}}, %{{.*}} {{{.*}}counts = array<i64: 4>{{.*}}} : (tensor<1x2x3x3xi8>, tensor<1xi32>, tensor<1x255xi32>) -> tensor<1x2x2x2xi8>
// AVERAGES-NEXT:  graph.fixed_average_pool %x, %{{.*}}, %{{.*}} {{{.*}}counts = array<i64: 4, 6, 9>{{.*}}} : (tensor<1x2x3x3xi8>, tensor<3xi32>, tensor<3x255xi32>) -> tensor<1x2x3x3xi8>
func.func @means(%x: tensor<1x2x3x3xi8>) -> (tensor<1x2x1x1xi8>, tensor<1x2x1x1xi8>, tensor<1x2x2x2xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x1xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2x3x3xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x3xf32>
  %g = graph.reduce %xf {kind = "mean", axes = array<i64: 2, 3>, keepdims = true} : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  %gq = graph.quantize %g, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x1x1xi8>
  %p = graph.average_pool %xf {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x1x1xf32>
  %pq = graph.quantize %p, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x1x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x1x1xi8>
  %h = graph.average_pool %xf {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x2x2xf32>
  %hq = graph.quantize %h, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x2x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x2x2xi8>
  %e = graph.average_pool %xf {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %eq = graph.quantize %e, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x3x3xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x3xi8>
  %two = graph.slice %xf {starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 2, 3, 2>} : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x2xf32>
  %m = graph.reduce %two {kind = "mean", axes = array<i64: 3>, keepdims = true} : (tensor<1x2x3x2xf32>) -> tensor<1x2x3x1xf32>
  %mq = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2x3x1xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2x3x1xi8>
  func.return %gq, %pq, %hq, %eq, %mq : tensor<1x2x1x1xi8>, tensor<1x2x1x1xi8>, tensor<1x2x2x2xi8>, tensor<1x2x3x3xi8>, tensor<1x2x3x1xi8>
}

// -----

// Sums of a transposed convolution have more and fewer terms; a zero point that is known at run time is taken off.
// CHECK-LABEL: func.func @main
// CHECK:      graph.conv_transpose %x, %{{.*}} {{{.*}}accumulator = i32, x_zero_point = 3 : i64}
// CHECK:      %[[A:.*]] = graph.matmul %d, %{{.*}} {accumulator = i32} : (tensor<4x2xui8>, tensor<2x2xi8>) -> tensor<4x2xi32>
// CHECK-NEXT: %[[M:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<i32>, tensor<2xi32>)
// CHECK-NEXT: %[[S:.*]] = graph.sub %[[A]], %[[M]]
// CHECK-NEXT: func.return %{{.*}}, %[[S]]
func.func @main(%x: tensor<1x2x4xi8>, %d: tensor<4x2xui8>, %dz: tensor<ui8>) -> (tensor<1x1x8xf32>, tensor<4x2xi32>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2x4xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2x4xf32>
  %w = graph.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xi8>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x1x2xi8>, tensor<f32>) -> tensor<2x1x2xf32>
  %c = graph.conv_transpose %xf, %wf {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x2x4xf32>, tensor<2x1x2xf32>) -> tensor<1x1x8xf32>
  %k = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
  %di = graph.cast %d {to = i32} : (tensor<4x2xui8>) -> tensor<4x2xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %dd = graph.sub %di, %zi : (tensor<4x2xi32>, tensor<i32>) -> tensor<4x2xi32>
  %p = graph.matmul %dd, %k : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %c, %p : tensor<1x1x8xf32>, tensor<4x2xi32>
}

// -----

// A zero point that is known at run time is taken off convolutions, too: padding is written as such zero points.
// CHECK-LABEL: func.func @main
// CHECK:      %[[P:.*]] = graph.pad %d, %dz {pads = array<i64: 0, 0, 1, 0, 0, 2>, mode = "constant"} : (tensor<1x4x5xui8>, tensor<ui8>)
// CHECK-NEXT: %[[C:.*]] = graph.conv %[[P]], %{{.*}} {{{.*}}pads = array<i64: 0, 0>, {{.*}}group = 2 : i64, accumulator = i32} : (tensor<1x4x8xui8>, tensor<2x2x2xi8>) -> tensor<1x2x7xi32>
// CHECK-NEXT: %[[M:.*]] = graph.mul %{{.*}}, %{{.*}} : (tensor<i32>, tensor<2x1xi32>)
// CHECK-NEXT: graph.sub %[[C]], %[[M]]
// CHECK-NOT:  graph.pad
// CHECK:      graph.conv %d, %{{.*}}accumulator = i32} : (tensor<1x4x5xui8>, tensor<3x4x1xi8>) -> tensor<1x3x5xi32>
func.func @main(%d: tensor<1x4x5xui8>, %dz: tensor<ui8>) -> (tensor<1x2x7xi32>, tensor<1x3x5xi32>) attributes {aot.entry} {
  %v = graph.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %w = graph.constant dense<[[[1], [2], [3], [4]], [[5], [6], [7], [8]], [[0], [1], [0], [-9]]]> : tensor<3x4x1xi32>
  %di = graph.cast %d {to = i32} : (tensor<1x4x5xui8>) -> tensor<1x4x5xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %dd = graph.sub %di, %zi : (tensor<1x4x5xi32>, tensor<i32>) -> tensor<1x4x5xi32>
  %a = graph.conv %dd, %v {strides = array<i64: 1>, pads = array<i64: 1, 2>, dilations = array<i64: 1>, group = 2} : (tensor<1x4x5xi32>, tensor<2x2x2xi32>) -> tensor<1x2x7xi32>
  %b = graph.conv %dd, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<3x4x1xi32>) -> tensor<1x3x5xi32>
  func.return %a, %b : tensor<1x2x7xi32>, tensor<1x3x5xi32>
}

// -----

// Not one for each channel, of elements that are left out, or of a transposed convolution.
// CHECK-LABEL: func.func @main
// CHECK-NOT:  accumulator
// CHECK:      func.return
func.func @main(%d: tensor<1x4x5xui8>, %dz: tensor<ui8>, %dc: tensor<4x1xui8>) -> (tensor<1x2x4xi32>, tensor<1x3x5xi32>, tensor<1x3x5xi32>) attributes {aot.entry} {
  %v = graph.constant dense<1> : tensor<2x4x1xi32>
  %w = graph.constant dense<1> : tensor<3x4x1xi32>
  %t = graph.constant dense<1> : tensor<4x3x1xi32>
  %di = graph.cast %d {to = i32} : (tensor<1x4x5xui8>) -> tensor<1x4x5xi32>
  %zi = graph.cast %dz {to = i32} : (tensor<ui8>) -> tensor<i32>
  %ci = graph.cast %dc {to = i32} : (tensor<4x1xui8>) -> tensor<4x1xi32>
  %dd = graph.sub %di, %zi : (tensor<1x4x5xi32>, tensor<i32>) -> tensor<1x4x5xi32>
  %de = graph.sub %di, %ci : (tensor<1x4x5xi32>, tensor<4x1xi32>) -> tensor<1x4x5xi32>
  %a = graph.conv %dd, %v {strides = array<i64: 1>, pads = array<i64: -1, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<2x4x1xi32>) -> tensor<1x2x4xi32>
  %b = graph.conv %de, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x4x5xi32>, tensor<3x4x1xi32>) -> tensor<1x3x5xi32>
  %c = graph.conv_transpose %dd, %t {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 0>, group = 1} : (tensor<1x4x5xi32>, tensor<4x3x1xi32>) -> tensor<1x3x5xi32>
  func.return %a, %b, %c : tensor<1x2x4xi32>, tensor<1x3x5xi32>, tensor<1x3x5xi32>
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

// -----

// Activations of 16 bits are summed up as integers, or not where registers are for bytes; wide weights are no reason.
// CHECK-LABEL: func.func @width
// CHECK:       graph.matmul %x, %{{.*}} {accumulator = i32} : (tensor<1x2xi16>, tensor<2x2xi8>)
// CHECK:       graph.matmul %y, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>)
// CHECK:       graph.matmul %y, %x {transpose_lhs = true, accumulator = i32} : (tensor<1x2xi8>, tensor<1x2xi16>)
// BYTES-LABEL: func.func @width
// BYTES-NOT:   accumulator
// BYTES:       graph.matmul %{{.*}}, %{{.*}} : (tensor<1x2xf32>, tensor<2x2xf32>)
// BYTES-NEXT:  graph.matmul %{{.*}}, %{{.*}} {transpose_lhs = true} : (tensor<1x2xf32>, tensor<1x2xf32>)
// BYTES:       graph.matmul %y, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi16>)
func.func @width(%x: tensor<1x2xi16>, %y: tensor<1x2xi8>) -> (tensor<1x2xi8>, tensor<1x2xi8>, tensor<2x2xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %xf = graph.dequantize %x, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2xi16>, tensor<f32>) -> tensor<1x2xf32>
  %yf = graph.dequantize %y, %s {axis = 0, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %v = graph.constant dense<[[300, 2], [3, 4]]> : tensor<2x2xi16>
  %wf = graph.dequantize %w, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %vf = graph.dequantize %v, %s {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi16>, tensor<f32>) -> tensor<2x2xf32>
  %0 = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = graph.matmul %yf, %vf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %2 = graph.matmul %yf, %xf {transpose_lhs = true} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %a = graph.quantize %0, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
  %b = graph.quantize %1, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>) -> tensor<1x2xi8>
  %c = graph.quantize %2, %s {axis = 1, block_size = 0, to = i8} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xi8>
  func.return %a, %b, %c : tensor<1x2xi8>, tensor<1x2xi8>, tensor<2x2xi8>
}

// -----

// Parts of a concatenation that is quantised, of other scales: each is quantised as the whole is; one that is, stays.
// CHECK-LABEL: func.func @parts
// CHECK-DAG:  %[[X:.*]] = graph.dequantize %x
// CHECK-DAG:  %[[A:.*]] = graph.quantize %[[X]]
// CHECK-DAG:  %[[B:.*]] = graph.quantize %r
// CHECK:      %[[C:.*]] = graph.concat %[[A]], %y, %[[B]] {axis = 1 : i64} : (tensor<1x2xi8>, tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x6xi8>
// CHECK-NEXT: func.return %[[C]]
func.func @parts(%x: tensor<1x2xi8>, %y: tensor<1x2xi8>, %r: tensor<1x2xf32>) -> tensor<1x6xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %t = graph.constant dense<2.500000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %t, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %yf = graph.dequantize %y, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %c = graph.concat %xf, %yf, %r {axis = 1} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x6xf32>
  %q = graph.quantize %c, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x6xf32>, tensor<f32>, tensor<i8>) -> tensor<1x6xi8>
  func.return %q : tensor<1x6xi8>
}

// -----

// Not what real numbers are read of, too, what is quantised by a scale for each channel, or real numbers alone.
// CHECK-LABEL: func.func @whole
// CHECK:      graph.concat {{.*}}f32>
// CHECK:      graph.concat {{.*}}f32>
// CHECK:      graph.concat {{.*}}f32>
func.func @whole(%x: tensor<1x2xi8>, %r: tensor<1x2xf32>) -> (tensor<1x4xf32>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %t = graph.constant dense<[0.25, 0.5, 0.75, 1.0]> : tensor<4xf32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %c = graph.concat %xf, %r {axis = 1} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %q = graph.quantize %c, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  %d = graph.concat %r, %xf {axis = 1} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %e = graph.quantize %d, %t {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xi8>
  %f = graph.concat %r, %r {axis = 1} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %g = graph.quantize %f, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x4xf32>, tensor<f32>, tensor<i8>) -> tensor<1x4xi8>
  func.return %c, %q, %e, %g : tensor<1x4xf32>, tensor<1x4xi8>, tensor<1x4xi8>, tensor<1x4xi8>
}

// -----

// Weights that no narrow type holds: sums of i32 stay as they are.
// CHECK-LABEL: func.func @main
// CHECK:       graph.matmul %{{.*}}, %{{.*}} : (tensor<4x2xi32>, tensor<2x2xi32>)
func.func @main(%d: tensor<4x2xi8>) -> tensor<4x2xi32> attributes {aot.entry} {
  %k = graph.constant dense<[[1, -2], [3, 40000]]> : tensor<2x2xi32>
  %di = graph.cast %d {to = i32} : (tensor<4x2xi8>) -> tensor<4x2xi32>
  %p = graph.matmul %di, %k : (tensor<4x2xi32>, tensor<2x2xi32>) -> tensor<4x2xi32>
  func.return %p : tensor<4x2xi32>
}

// -----

// Whatever is constant may be the left operand.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   graph.constant dense<[2, -8]> : tensor<2xi32>
// CHECK:       %[[A:.*]] = graph.matmul %x, %{{.*}} {accumulator = i32} : (tensor<1x2xi8>, tensor<2x2xi8>) -> tensor<1x2xi32>
// CHECK-NEXT:  %[[B:.*]] = graph.add %[[A]], %{{.*}} : (tensor<1x2xi32>, tensor<2xi32>) -> tensor<1x2xi32>
// CHECK-NEXT:  %[[Q:.*]] = graph.requantize %[[B]]
// CHECK-NEXT:  func.return %[[Q]]
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %z = graph.constant dense<3> : tensor<i8>
  %xf = graph.dequantize %x, %s, %z {axis = 1, block_size = 0, to = f32} : (tensor<1x2xi8>, tensor<f32>, tensor<i8>) -> tensor<1x2xf32>
  %w = graph.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi8>
  %ws = graph.constant dense<2.500000e-01> : tensor<f32>
  %wf = graph.dequantize %w, %ws {axis = 0, block_size = 0, to = f32} : (tensor<2x2xi8>, tensor<f32>) -> tensor<2x2xf32>
  %bias = graph.constant dense<[1.750000e+00, -2.500000e-01]> : tensor<2xf32>
  %most = graph.constant dense<6.000000e+00> : tensor<f32>
  %p = graph.matmul %xf, %wf : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a = graph.add %bias, %p : (tensor<2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %m = graph.min %most, %a : (tensor<f32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %q = graph.quantize %m, %s, %z {axis = 1, block_size = 0, to = i8} : (tensor<1x2xf32>, tensor<f32>, tensor<i8>) -> tensor<1x2xi8>
  func.return %q : tensor<1x2xi8>
}
