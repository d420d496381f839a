// RUN: aotc-opt %s -p raise-quantization,dce --split-input-file | filecheck %s

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

// Activations with a scale for each channel stay in front of a transpose: it is weights that are stored transposed.
// CHECK-LABEL: func.func @main
// CHECK:       %[[R:.*]] = graph.dequantize %x
// CHECK-NEXT:  graph.transpose %[[R]]
func.func @main(%x: tensor<2x3xi8>) -> tensor<3x2xf32> attributes {aot.entry} {
  %s = graph.constant dense<[0.5, 0.25, 0.125]> : tensor<3xf32>
  %xf = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<2x3xi8>, tensor<3xf32>) -> tensor<2x3xf32>
  %t = graph.transpose %xf {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %t : tensor<3x2xf32>
}

// -----

// Padding with the last numbers that an integer stands for, -128 and 127, is of integers; with the next ones it is not.
// CHECK-LABEL: func.func @ends
// CHECK:       graph.pad %x, %{{.*}} : (tensor<1x4xi8>, tensor<i8>)
// CHECK:       graph.pad %x, %{{.*}} : (tensor<1x4xi8>, tensor<i8>)
// CHECK:       graph.pad {{.*}}f32>
// CHECK:       graph.pad {{.*}}f32>
func.func @ends(%x: tensor<1x4xi8>) -> (tensor<1x5xi8>, tensor<1x5xi8>, tensor<1x5xi8>, tensor<1x5xi8>) attributes {aot.entry} {
  %s = graph.constant dense<5.000000e-01> : tensor<f32>
  %xf = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<1x4xi8>, tensor<f32>) -> tensor<1x4xf32>
  %low = graph.constant dense<-64.0> : tensor<f32>
  %high = graph.constant dense<63.5> : tensor<f32>
  %lower = graph.constant dense<-64.5> : tensor<f32>
  %higher = graph.constant dense<64.0> : tensor<f32>
  %p0 = graph.pad %xf, %low {pads = array<i64: 0, 0, 0, 1>, mode = "constant"} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x5xf32>
  %0 = graph.quantize %p0, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xi8>
  %p1 = graph.pad %xf, %high {pads = array<i64: 0, 0, 0, 1>, mode = "constant"} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x5xf32>
  %1 = graph.quantize %p1, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xi8>
  %p2 = graph.pad %xf, %lower {pads = array<i64: 0, 0, 0, 1>, mode = "constant"} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x5xf32>
  %2 = graph.quantize %p2, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xi8>
  %p3 = graph.pad %xf, %higher {pads = array<i64: 0, 0, 0, 1>, mode = "constant"} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x5xf32>
  %3 = graph.quantize %p3, %s {axis = 1, block_size = 0, to = i8} : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xi8>
  func.return %0, %1, %2, %3 : tensor<1x5xi8>, tensor<1x5xi8>, tensor<1x5xi8>, tensor<1x5xi8>
}

// -----

// By a scale of 0 all integers stand for 0.
// CHECK-LABEL: func.func @zero
// CHECK:       graph.transpose {{.*}} -> tensor<4x2xf32>
func.func @zero(%x: tensor<2x4xi8>) -> tensor<4x2xi8> attributes {aot.entry} {
  %s = graph.constant dense<0.0> : tensor<f32>
  %xf = graph.dequantize %x, %s {axis = 1, block_size = 0, to = f32} : (tensor<2x4xi8>, tensor<f32>) -> tensor<2x4xf32>
  %t = graph.transpose %xf {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %q = graph.quantize %t, %s {axis = 1, block_size = 0, to = i8} : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xi8>
  func.return %q : tensor<4x2xi8>
}
