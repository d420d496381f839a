// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-algorithms' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-algorithms' | filecheck %s --check-prefix=FOUR
// RUN: aotc-opt %s -p 'attach-target{target=test-xeon},choose-algorithms' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},choose-algorithms' | filecheck %s --check-prefix=NONE
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-algorithms,choose-schedule,assign-layouts' | filecheck %s --check-prefix=LAYOUT

// Where one instruction has four products few positions are not worth the transforms; where none has two of 16 bits,
// or where four of 8 bits are and transforms wait for the units that multiply, sums are computed as they are written.
// NONE-NOT: algorithm
// FOUR-NOT: algorithm

// CHECK-LABEL: func.func @main
// CHECK:      graph.conv %x, %0 {{.*}}algorithm = #graph.winograd<output_tile = 4, tile_rows = {{[0-9]+}}>}
// Stride 2 of few channels, a weight that is not constant, fewer channels than lanes, 5 x 5 taps:
// CHECK-NOT:  algorithm
// LAYOUT-LABEL: func.func @main
// LAYOUT:      %[[X:.*]] = graph.pack %x {layout = #graph.layout<channels ({{[^)]*}} mod 8)>}
// LAYOUT-NEXT: %[[PAIRS:.*]] = graph.pack %{{.*}} {layout = #graph.layout<conv_weight (d0 floordiv [[N:[0-9]+]], d1 floordiv 16, d2, d3, d1 floordiv 2 mod 8, (d0 mod [[N]], d1 mod 2))>} : (tensor<32x16x3x3xi8>) -> tensor<{{[0-9]+x1x3x3x8x[0-9]+}}xi8>
// LAYOUT-NEXT: graph.winograd_conv %[[X]], %[[PAIRS]] {pads = array<i64: 1, 1, 1, 1>, channels = 16 : i64, outputs = 32 : i64, {{.*}}x_zero_point = 3 : i64{{.*}}schedule = #graph.matmul_schedule<lanes = 8, {{.*}} : (tensor<1x2x32x32x8xui8>, tensor<{{[0-9]+x1x3x3x8x[0-9]+}}xi8>) -> (tensor<1x4x32x32x8xi32>, tensor<36x{{[0-9]+}}x24xi16>, tensor<36x{{[0-9]+}}x[[N]]xi32>, tensor<36x{{[0-9]+x[0-9]+}}xi16>)
func.func @main(%x: tensor<1x16x32x32xui8>, %v: tensor<32x16x3x3xi8>, %few: tensor<1x4x32x32xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<32x16x3x3xi8>
  %1 = graph.constant dense<1> : tensor<32x4x3x3xi8>
  %five = graph.constant dense<1> : tensor<32x16x5x5xi8>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x16x32x32xui8>, tensor<32x16x3x3xi8>) -> tensor<1x32x32x32xi32>
  %3 = graph.conv %x, %0 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x16x32x32xui8>, tensor<32x16x3x3xi8>) -> tensor<1x32x16x16xi32>
  %4 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x16x32x32xui8>, tensor<32x16x3x3xi8>) -> tensor<1x32x32x32xi32>
  %5 = graph.conv %few, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x4x32x32xui8>, tensor<32x4x3x3xi8>) -> tensor<1x32x32x32xi32>
  %6 = graph.conv %x, %five {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, x_zero_point = 3 : i64} : (tensor<1x16x32x32xui8>, tensor<32x16x5x5xi8>) -> tensor<1x32x32x32xi32>
  func.return
}

// So many channels that multiples of a sum might leave 32 bits: 9 * 64 times a sum of 115, 4 times one of 1832. What is
// known of sums decides where it is known.
// CHECK-LABEL: func.func @many
// FOUR-LABEL:  func.func @many
// CHECK:       graph.conv %x, %{{.*}}accumulator = i32} :
// CHECK-NEXT:  graph.conv %y, %{{.*}}algorithm = #graph.winograd<output_tile = 2,
// CHECK-NEXT:  graph.conv %y, %{{.*}}sum_bits = 27 : i64, algorithm = #graph.winograd<output_tile = 2,
// CHECK-NEXT:  graph.conv %y, %{{.*}}sum_bits = 26 : i64, algorithm = #graph.winograd<output_tile = 4,
// CHECK-NEXT:  graph.conv %y, %{{.*}}sum_bits = 31 : i64} :
func.func @many(%x: tensor<1x1832x16x16xui8>, %y: tensor<1x115x16x16xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<32x1832x3x3xi8>
  %1 = graph.constant dense<1> : tensor<32x115x3x3xi8>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x1832x16x16xui8>, tensor<32x1832x3x3xi8>) -> tensor<1x32x16x16xi32>
  %3 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x115x16x16xui8>, tensor<32x115x3x3xi8>) -> tensor<1x32x16x16xi32>
  %4 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 27 : i64} : (tensor<1x115x16x16xui8>, tensor<32x115x3x3xi8>) -> tensor<1x32x16x16xi32>
  %5 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x115x16x16xui8>, tensor<32x115x3x3xi8>) -> tensor<1x32x16x16xi32>
  %6 = graph.conv %y, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 31 : i64} : (tensor<1x115x16x16xui8>, tensor<32x115x3x3xi8>) -> tensor<1x32x16x16xi32>
  func.return
}

// Many positions are worth it where one instruction has four products, too.
// CHECK-LABEL: func.func @large
// FOUR-LABEL:  func.func @large
// FOUR:        algorithm = #graph.winograd<output_tile = 4,
func.func @large(%x: tensor<1x64x56x56xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<64x64x3x3xi8>
  %1 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x64x56x56xui8>, tensor<64x64x3x3xi8>) -> tensor<1x64x56x56xi32>
  func.return
}

// Few positions are not worth the memory of the buffers where direct sums take about as long; more positions are, and
// few are where direct sums take longer.
// CHECK-LABEL: func.func @memory
// CHECK:       graph.conv %x, %{{.*}}algorithm = #graph.winograd<output_tile = 4,
// FOUR-LABEL:  func.func @memory
// FOUR:        graph.conv %x, %{{.*}}accumulator = i32} :
// FOUR-NEXT:   graph.conv %y, %{{.*}}algorithm = #graph.winograd<output_tile = 4,
func.func @memory(%x: tensor<1x32x16x16xui8>, %y: tensor<1x32x64x64xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<32x32x3x3xi8>
  %1 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x32x16x16xui8>, tensor<32x32x3x3xi8>) -> tensor<1x32x16x16xi32>
  %2 = graph.conv %y, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32} : (tensor<1x32x64x64xui8>, tensor<32x32x3x3xi8>) -> tensor<1x32x64x64xi32>
  func.return
}

// Results two elements apart, along one axis or both, where multiples of a sum, 36 or 6 * 24 times as great, fit.
// CHECK-LABEL: func.func @strided
// FOUR-LABEL:  func.func @strided
// FOUR:        sum_bits = 30 : i64} :
// CHECK-NEXT:  graph.constant
// CHECK-NEXT:  graph.conv %x, %{{.*}}sum_bits = 30 : i64, algorithm = #graph.winograd<output_tile = 4,
// CHECK-NEXT:  graph.conv %x, %{{.*}}sum_bits = 28 : i64, algorithm = #graph.winograd<output_tile = 4,
// CHECK-NEXT:  graph.conv %x, %{{.*}}sum_bits = 31 : i64, algorithm = #graph.winograd<output_tile = 2,
// CHECK-NEXT:  graph.conv %x, %{{.*}}sum_bits = 29 : i64, algorithm = #graph.winograd<output_tile = 2,
// Three elements apart, or taps that are:
// CHECK-NOT:   algorithm
func.func @strided(%x: tensor<1x128x56x56xui8>) attributes {aot.entry} {
  %0 = graph.constant dense<1> : tensor<128x128x3x3xi8>
  %1 = graph.conv %x, %0 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 30 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x28x28xi32>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 28 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x56x28xi32>
  %3 = graph.conv %x, %0 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 31 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x28x28xi32>
  %4 = graph.conv %x, %0 {strides = array<i64: 1, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 29 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x56x28xi32>
  %5 = graph.conv %x, %0 {strides = array<i64: 3, 3>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x18x18xi32>
  %6 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 2, 2>, group = 1 : i64, accumulator = i32, sum_bits = 26 : i64} : (tensor<1x128x56x56xui8>, tensor<128x128x3x3xi8>) -> tensor<1x128x56x56xi32>
  func.return
}
