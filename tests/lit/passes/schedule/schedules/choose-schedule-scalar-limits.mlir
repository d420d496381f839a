// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' --split-input-file | filecheck %s --check-prefix M4F
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},choose-schedule' --split-input-file | filecheck %s --check-prefix M55
// RUN: aotc-opt %s -p 'attach-target{target=test-m55},choose-schedule{size=true}' --split-input-file | filecheck %s --check-prefix SMALL

// Words are of bytes on both sides, of which a strip has four; f64 has no instructions; of nothing there are no sums.
// Products are of one constant matrix with the rows of another.
// M4F-LABEL: func.func @types
// M4F:       graph.matmul %s, %w {{.*}} word = 1,
// M4F:       graph.matmul %d, %e : (tensor<6x32xf64>
// M4F:       graph.conv %i, %c {{.*}} word = 1,
// M4F:       graph.conv %p, %o {{.*}} word = 1,
// M4F:       graph.conv %n, %c {{[^#]*}} : (tensor<0x8x16x16xi8>
// M4F:       graph.conv %n, %k {{[^#]*}} : (tensor<0x8x16x16xi8>
// M4F:       graph.matmul %t, %w {{[^#]*}} : (tensor<32x6xi8>
// M4F:       graph.matmul %b, %q {{[^#]*}} : (tensor<2x6x32xi8>
// M4F:       graph.matmul %b, %b {{[^#]*}} : (tensor<2x6x32xi8>
// Quads are of signed bytes on both sides.
// M55-LABEL: func.func @types
// M55:       graph.matmul %s, %w {{.*}} word = 1,
// M55:       graph.matmul %u, %w {{.*}} word = 8,
// Eight elements or four make a run or a word, less do not, nor weights of four bits.
// M4F-LABEL: func.func @depths
// M4F:       graph.matmul %d4, %{{.*}} word = 4,
// M4F:       graph.matmul %d3, %{{.*}} word = 1,
// M55-LABEL: func.func @depths
// M55:       graph.matmul %d8, %{{.*}} word = 8,
// M55:       graph.matmul %d8, %{{.*}} word = 4,
// M55:       graph.matmul %d7, %{{.*}} word = 4,
func.func @types(%s: tensor<6x32xi16>, %u: tensor<6x32xui8>, %d: tensor<6x32xf64>, %i: tensor<1x8x16x16xi16>, %p: tensor<1x1x16x16xi8>, %n: tensor<0x8x16x16xi8>, %t: tensor<32x6xi8>, %b: tensor<2x6x32xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<32x12xi8>
  %e = graph.constant dense<1.0> : tensor<32x12xf64>
  %c = graph.constant dense<1> : tensor<16x8x3x3xi8>
  %k = graph.constant dense<1> : tensor<8x1x3x3xi8>
  %o = graph.constant dense<1> : tensor<16x1x3x3xi8>
  %q = graph.constant dense<1> : tensor<2x32x12xi8>
  %0 = graph.matmul %s, %w {accumulator = i32} : (tensor<6x32xi16>, tensor<32x12xi8>) -> tensor<6x12xi32>
  %1 = graph.matmul %u, %w {accumulator = i32} : (tensor<6x32xui8>, tensor<32x12xi8>) -> tensor<6x12xi32>
  %2 = graph.matmul %d, %e : (tensor<6x32xf64>, tensor<32x12xf64>) -> tensor<6x12xf64>
  %3 = graph.conv %i, %c {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x16x16xi16>, tensor<16x8x3x3xi8>) -> tensor<1x16x16x16xi32>
  %4 = graph.conv %p, %o {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x1x16x16xi8>, tensor<16x1x3x3xi8>) -> tensor<1x16x16x16xi32>
  %5 = graph.conv %n, %c {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<0x8x16x16xi8>, tensor<16x8x3x3xi8>) -> tensor<0x16x16x16xi32>
  %6 = graph.conv %n, %k {group = 8 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<0x8x16x16xi8>, tensor<8x1x3x3xi8>) -> tensor<0x8x16x16xi32>
  %7 = graph.matmul %t, %w {transpose_lhs = true, accumulator = i32} : (tensor<32x6xi8>, tensor<32x12xi8>) -> tensor<6x12xi32>
  %8 = graph.matmul %b, %q {accumulator = i32} : (tensor<2x6x32xi8>, tensor<2x32x12xi8>) -> tensor<2x6x12xi32>
  %9 = graph.matmul %b, %b {transpose_rhs = true, accumulator = i32} : (tensor<2x6x32xi8>, tensor<2x6x32xi8>) -> tensor<2x6x6xi32>
  func.return
}

func.func @depths(%d8: tensor<6x8xui8>, %d7: tensor<6x7xui8>, %d4: tensor<6x4xui8>, %d3: tensor<6x3xui8>) attributes {aot.entry} {
  %8 = graph.constant dense<1> : tensor<8x4xi8>
  %b = graph.constant dense<1> : tensor<8x4xi4>
  %7 = graph.constant dense<1> : tensor<7x4xi8>
  %4 = graph.constant dense<1> : tensor<4x4xi8>
  %3 = graph.constant dense<1> : tensor<3x4xi8>
  %r0 = graph.matmul %d8, %8 {accumulator = i32} : (tensor<6x8xui8>, tensor<8x4xi8>) -> tensor<6x4xi32>
  %r1 = graph.matmul %d8, %b {accumulator = i32} : (tensor<6x8xui8>, tensor<8x4xi4>) -> tensor<6x4xi32>
  %r2 = graph.matmul %d7, %7 {accumulator = i32} : (tensor<6x7xui8>, tensor<7x4xi8>) -> tensor<6x4xi32>
  %r3 = graph.matmul %d4, %4 {accumulator = i32} : (tensor<6x4xui8>, tensor<4x4xi8>) -> tensor<6x4xi32>
  %r4 = graph.matmul %d3, %3 {accumulator = i32} : (tensor<6x3xui8>, tensor<3x4xi8>) -> tensor<6x4xi32>
  func.return
}

// -----

// Registers of 16 elements of a strip: where windows are cut, strips are whole pixels of as many channels, or are copied
// to a patch where the result is large, or there are none. Where no window is cut, a patch must save time, and it is of
// one group.
// M55-LABEL: func.func @quads
// M55:       graph.conv %x, %w {{.*}}<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>
// M55:       graph.conv %p, %g {group = 2 {{.*}}<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>
// SMALL-LABEL: func.func @quads
// SMALL:     graph.conv %x, %w {{.*}}<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1>
// SMALL:     graph.conv %y, %v {{.*}}<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, patch>
// SMALL:     graph.conv %y, %f {{.*}}<lanes = 1, {{.*}} word = 4
func.func @quads(%x: tensor<1x16x16x16xi8>, %y: tensor<1x12x16x16xi8>, %p: tensor<1x8x20x9xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<64x16x3x3xi8>
  %v = graph.constant dense<1> : tensor<64x12x3x3xi8>
  %f = graph.constant dense<1> : tensor<8x12x3x3xi8>
  %g = graph.constant dense<1> : tensor<64x4x3x3xi8>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x16x16x16xi8>, tensor<64x16x3x3xi8>) -> tensor<1x64x16x16xi32>
  %1 = graph.conv %y, %v {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x12x16x16xi8>, tensor<64x12x3x3xi8>) -> tensor<1x64x16x16xi32>
  %2 = graph.conv %y, %f {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x12x16x16xi8>, tensor<8x12x3x3xi8>) -> tensor<1x8x16x16xi32>
  %3 = graph.conv %p, %g {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x8x20x9xi8>, tensor<64x4x3x3xi8>) -> tensor<1x64x20x9xi32>
  func.return
}

// -----

// Of unsigned bytes runs of eight, where a strip has as many, windows are not cut, there is one group, and weights are no
// pairs of four bits. Strips of groups are whole pixels, of words where these are cut, too; others must not be cut.
// M55-LABEL: func.func @runs
// M55:       graph.conv %x, %w {{.*}} word = 8,
// M55:       graph.conv %y, %v {{.*}} word = 4,
// M55:       graph.conv %y, %r {{.*}} word = 8,
// M55:       graph.conv %x, %g {{.*}} word = 4,
// M55:       graph.conv %u, %i {{.*}} word = 4,
// SMALL-LABEL: func.func @runs
// SMALL:     graph.conv %x, %w {{.*}} word = 4,
// SMALL:     graph.conv %t, %h {{.*}} word = 4,
// SMALL:     graph.conv %z, %d {{.*}} columns = 2, word = 1,
func.func @runs(%x: tensor<1x16x16x16xi8>, %y: tensor<1x2x16x16xi8>, %z: tensor<1x6x16x16xi8>, %u: tensor<1x16x16x16xui8>, %t: tensor<1x12x16x16xi8>) attributes {aot.entry} {
  %w = graph.constant dense<1> : tensor<4x16x3x3xui8>
  %v = graph.constant dense<1> : tensor<4x2x3x3xui8>
  %r = graph.constant dense<1> : tensor<4x2x3x4xui8>
  %g = graph.constant dense<1> : tensor<4x8x3x3xui8>
  %i = graph.constant dense<1> : tensor<4x16x3x3xi4>
  %h = graph.constant dense<1> : tensor<4x6x3x3xui8>
  %d = graph.constant dense<1> : tensor<3x6x3x3xui8>
  %0 = graph.conv %x, %w {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x16x16x16xi8>, tensor<4x16x3x3xui8>) -> tensor<1x4x16x16xi32>
  %1 = graph.conv %y, %v {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x2x16x16xi8>, tensor<4x2x3x3xui8>) -> tensor<1x4x16x16xi32>
  %2 = graph.conv %y, %r {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 2>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x2x16x16xi8>, tensor<4x2x3x4xui8>) -> tensor<1x4x16x16xi32>
  %3 = graph.conv %x, %g {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x16x16x16xi8>, tensor<4x8x3x3xui8>) -> tensor<1x4x16x16xi32>
  %4 = graph.conv %u, %i {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x16x16x16xui8>, tensor<4x16x3x3xi4>) -> tensor<1x4x16x16xi32>
  %5 = graph.conv %t, %h {group = 2 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x12x16x16xi8>, tensor<4x6x3x3xui8>) -> tensor<1x4x16x16xi32>
  %6 = graph.conv %z, %d {group = 1 : i64, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32} : (tensor<1x6x16x16xi8>, tensor<3x6x3x3xui8>) -> tensor<1x3x16x16xi32>
  func.return
}
