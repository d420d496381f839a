// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.pack %w {layout = #graph.layout<words ((d0 floordiv 2, d1, d2 floordiv 4, d0 mod 2, d2 mod 4)), tight>} : (tensor<5x3x6xi8>) -> tensor<90xi8>
// CHECK-NEXT: graph.channels_last_conv %x, %v, %b {strides = array<i64: 1, 1>, {{.*}}} : (tensor<1x8x18xi8>, tensor<90xi8>, tensor<5xi32>) -> tensor<1x1x6x7x5xi32>
// CHECK-NEXT: graph.interleaved_matmul %l, %v {{.*}} : (tensor<2x3x18xi8>, tensor<90xi8>) -> tensor<2x3x5xi32>
// CHECK-NEXT: graph.channels_last_depthwise_conv %d, %k {{.*}} : (tensor<1x1x6x7x5xf32>, tensor<3x3x5xf32>) -> tensor<1x1x4x5x5xf32>
func.func @forms(%w: tensor<5x3x6xi8>, %x: tensor<1x8x18xi8>, %v: tensor<90xi8>, %b: tensor<5xi32>, %l: tensor<2x3x18xi8>, %d: tensor<1x1x6x7x5xf32>, %k: tensor<3x3x5xf32>) {
  %0 = graph.pack %w {layout = #graph.layout<words ((d0 floordiv 2, d1, d2 floordiv 4, d0 mod 2, d2 mod 4)), tight>} : (tensor<5x3x6xi8>) -> tensor<90xi8>
  %1 = graph.channels_last_conv %x, %v, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<1x8x18xi8>, tensor<90xi8>, tensor<5xi32>) -> tensor<1x1x6x7x5xi32>
  %2 = graph.interleaved_matmul %l, %v {accumulator = i32, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64} : (tensor<2x3x18xi8>, tensor<90xi8>) -> tensor<2x3x5xi32>
  %3 = graph.channels_last_depthwise_conv %d, %k {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x1x6x7x5xf32>, tensor<3x3x5xf32>) -> tensor<1x1x4x5x5xf32>
  func.return
}

// Two positions times two outputs: a word of each, four products of both halves; the zero point is added on the way.
// What remains of a run is multiplied one by one, as is the last output.
// LOOPS-LABEL: func.func private @sums
// LOOPS:      %[[POINT:.*]] = arith.constant -131075 : i32
// LOOPS:      scf.parallel
// LOOPS:      %[[X0:.*]] = aot.word_load %x
// LOOPS-NEXT: %[[E0:.*]] = aot.instruction "sxtab16" %[[POINT]], %[[X0]]
// LOOPS-NEXT: %[[O0:.*]] = aot.instruction "sxtab16.ror8" %[[POINT]], %[[X0]]
// LOOPS:      %[[X1:.*]] = aot.word_load %x
// LOOPS-NEXT: %[[E1:.*]] = aot.instruction "sxtab16" %[[POINT]], %[[X1]]
// LOOPS:      %[[W0:.*]] = aot.word_load %w
// LOOPS-NEXT: %[[F0:.*]] = aot.instruction "sxtb16" %[[W0]]
// LOOPS-NEXT: %[[G0:.*]] = aot.instruction "sxtb16.ror8" %[[W0]]
// LOOPS-NEXT: %[[S:.*]] = aot.instruction "smlad" %[[E0]], %[[F0]], %{{.*}}
// LOOPS-NEXT: aot.instruction "smlad" %[[E1]], %[[F0]], %{{.*}}
// LOOPS-NEXT: aot.instruction "smlad" %[[O0]], %[[G0]], %[[S]]
// LOOPS:      arith.muli
// LOOPS:      memref.store
func.func private @sums(%x: memref<1x8x18xi8>, %w: memref<90xi8>, %y: memref<1x1x6x7x5xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8x18xi8> to tensor<1x8x18xi8>
  %1 = bufferization.to_tensor %w : memref<90xi8> to tensor<90xi8>
  %2 = graph.channels_last_conv %0, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 5 : i64, columns = 2 : i64, word = 4 : i64, schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 2, word = 4, unroll = 1, specialized>} : (tensor<1x8x18xi8>, tensor<90xi8>) -> tensor<1x1x6x7x5xi32>
  bufferization.materialize_in_destination %2 in %y : (tensor<1x1x6x7x5xi32>, memref<1x1x6x7x5xi32>) -> ()
  func.return
}

// Runs: eight elements at once of each position of one output, then what remains of them.
// LOOPS-LABEL: func.func private @runs
// LOOPS:      %[[W:.*]] = aot.tile_load %w[%{{.*}}] {{.*}} -> vector<8xi8>
// LOOPS-NEXT: %[[V:.*]] = aot.tile_convert "extui" %[[W]] : vector<8xi8> -> vector<8xi16>
// LOOPS-NEXT: aot.tile_load %x
// LOOPS-NEXT: %[[X:.*]] = aot.tile_convert "extsi" %{{.*}} : vector<8xi8> -> vector<8xi16>
// LOOPS-NEXT: %[[F:.*]] = arith.subi %[[X]], %{{.*}} : vector<8xi16>
// LOOPS:      aot.instruction "vmladava.s16" %[[F]], %[[V]], %{{.*}} : vector<8xi16>, vector<8xi16>, i32 -> i32
// LOOPS-NEXT: aot.instruction "vmladava.s16" %{{.*}}, %[[V]], %{{.*}} : vector<8xi16>, vector<8xi16>, i32 -> i32
// LOOPS:      memref.load %x
// LOOPS-NEXT: arith.extsi %{{.*}} : i8 to i32
// LOOPS:      memref.store
func.func private @runs(%x: memref<1x8x21xi8>, %w: memref<135xui8>, %y: memref<1x1x6x5x5xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8x21xi8> to tensor<1x8x21xi8>
  %1 = bufferization.to_tensor %w : memref<135xui8> to tensor<135xui8>
  %2 = graph.channels_last_conv %0, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, accumulator = i32, x_zero_point = 3 : i64, kernel_shape = array<i64: 3, 3>, channels = 3 : i64, outputs = 5 : i64, columns = 1 : i64, word = 8 : i64, schedule = #graph.sums_schedule<lanes = 1, positions = 2, columns = 1, word = 8, unroll = 1, specialized>} : (tensor<1x8x21xi8>, tensor<135xui8>) -> tensor<1x1x6x5x5xi32>
  bufferization.materialize_in_destination %2 in %y : (tensor<1x1x6x5x5xi32>, memref<1x1x6x5x5xi32>) -> ()
  func.return
}

// Quads: registers of 16 bytes of one position times those of four outputs; what lies outside of x counts as its number,
// times the weights of the rows that are cut off. What becomes of four sums is computed in a vector.
// LOOPS-LABEL: func.func private @quads
// LOOPS:      scf.for
// LOOPS:      %[[X:.*]] = aot.tile_load %x
// LOOPS-NEXT: aot.instruction "vmladava.s8" %[[X]], %{{.*}}, %{{.*}} : vector<16xi8>, vector<16xi8>, i32 -> i32
// LOOPS-NEXT: aot.instruction "vmladava.s8" %[[X]], %{{.*}}, %{{.*}} : vector<16xi8>, vector<16xi8>, i32 -> i32
// LOOPS-NEXT: aot.instruction "vmladava.s8" %[[X]], %{{.*}}, %{{.*}} : vector<16xi8>, vector<16xi8>, i32 -> i32
// LOOPS-NEXT: aot.instruction "vmladava.s8" %[[X]], %{{.*}}, %{{.*}} : vector<16xi8>, vector<16xi8>, i32 -> i32
// LOOPS:      scf.for
// LOOPS:      aot.instruction "vaddva.s8" %{{.*}}, %{{.*}} : vector<16xi8>, i32 -> i32
// LOOPS:      %[[Q:.*]] = aot.quad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<4xi32>
// LOOPS-NEXT: %[[B:.*]] = aot.tile_load %b
// LOOPS-NEXT: arith.addi %[[Q]], %[[B]] : vector<4xi32>
// LOOPS:      %[[N:.*]] = aot.instruction "vcvtn.s32.f32" %{{.*}} : vector<4xf32> -> vector<4xi32>
// LOOPS-NEXT: aot.instruction "vqadd.s32" %[[N]], %{{.*}} : vector<4xi32>, vector<4xi32> -> vector<4xi32>
// LOOPS-NEXT: arith.maxsi
// LOOPS-NEXT: arith.minsi
// LOOPS-NEXT: %[[R:.*]] = aot.tile_convert "trunci" %{{.*}} : vector<4xi32> -> vector<4xi8>
// LOOPS-NEXT: aot.tile_store %[[R]], %y
func.func private @quads(%x: memref<1x8x32xi8>, %w: memref<384xi8>, %b: memref<8xi32>, %m: memref<8xf32>, %y: memref<1x1x8x2x8xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8x32xi8> to tensor<1x8x32xi8>
  %1 = bufferization.to_tensor %w : memref<384xi8> to tensor<384xi8>
  %2 = bufferization.to_tensor %b : memref<8xi32> to tensor<8xi32>
  %3 = bufferization.to_tensor %m : memref<8xf32> to tensor<8xf32>
  %4 = graph.channels_last_conv %0, %1, %2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 1, 0>, dilations = array<i64: 1, 1>, accumulator = i32, outside = -5 : i64, kernel_shape = array<i64: 3, 1>, channels = 16 : i64, outputs = 8 : i64, columns = 4 : i64, word = 16 : i64, schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>} : (tensor<1x8x32xi8>, tensor<384xi8>, tensor<8xi32>) -> tensor<1x1x8x2x8xi32>
  %5 = graph.requantize %4, %3 {axis = 4 : i64, zero_point = 3 : i64, low = -128 : i64, high = 127 : i64, to = i8} : (tensor<1x1x8x2x8xi32>, tensor<8xf32>) -> tensor<1x1x8x2x8xi8>
  bufferization.materialize_in_destination %5 in %y : (tensor<1x1x8x2x8xi8>, memref<1x1x8x2x8xi8>) -> ()
  func.return
}

// What no quad can be computed from, as an element of 64 bits, is computed of each sum.
// LOOPS-LABEL: func.func private @apart
// LOOPS-SAME: attributes {aot.kernel}
// LOOPS:      aot.instruction "vmladava.s8"
// LOOPS-NOT:  aot.quad
// LOOPS-COUNT-4: arith.extsi %{{.*}} : i32 to i64
func.func private @apart(%x: memref<2x16xi8>, %w: memref<64xi8>, %y: memref<2x4xi64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<2x16xi8> to tensor<2x16xi8>
  %1 = bufferization.to_tensor %w : memref<64xi8> to tensor<64xi8>
  %2 = graph.interleaved_matmul %0, %1 {accumulator = i32, outputs = 4 : i64, columns = 4 : i64, word = 16 : i64, schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized>} : (tensor<2x16xi8>, tensor<64xi8>) -> tensor<2x4xi32>
  %3 = graph.cast %2 {to = i64} : (tensor<2x4xi32>) -> tensor<2x4xi64>
  bufferization.materialize_in_destination %3 in %y : (tensor<2x4xi64>, memref<2x4xi64>) -> ()
  func.return
}

// A patch: what a position sees is copied, or, where its window is cut, filled with what lies outside and copied in part.
// LOOPS-LABEL: func.func private @patch
// LOOPS:      scf.if
// LOOPS:      aot.tile_load %x[{{.*}}] {strides = array<i64: 1>, valid = 6 : i64} : memref<1x8x18xi8> -> vector<16xi8>
// LOOPS-NEXT: aot.tile_store %{{.*}}, %p[{{.*}}] {strides = array<i64: 1>, valid = 6 : i64}
// LOOPS:      } else {
// LOOPS:      aot.tile_store %{{.*}}, %p[{{.*}}] {strides = array<i64: 1>} : vector<16xi8>, memref<18xi8>
// LOOPS:      memref.store %{{.*}}, %p
// LOOPS:      aot.tile_load %p
// LOOPS:      aot.instruction "vmladava.s8"
func.func private @patch(%x: memref<1x8x18xi8>, %w: memref<72xi8>, %y: memref<1x1x8x9x4xi32>, %p: memref<18xi8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8x18xi8> to tensor<1x8x18xi8>
  %1 = bufferization.to_tensor %w : memref<72xi8> to tensor<72xi8>
  %2, %3 = graph.channels_last_conv %0, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, accumulator = i32, outside = 7 : i64, kernel_shape = array<i64: 3, 3>, channels = 2 : i64, outputs = 4 : i64, columns = 4 : i64, word = 16 : i64, schedule = #graph.sums_schedule<lanes = 4, positions = 1, columns = 4, word = 16, unroll = 1, specialized, patch>} : (tensor<1x8x18xi8>, tensor<72xi8>) -> (tensor<1x1x8x9x4xi32>, tensor<18xi8>)
  bufferization.materialize_in_destination %2 in %y : (tensor<1x1x8x9x4xi32>, memref<1x1x8x9x4xi32>) -> ()
  bufferization.materialize_in_destination %3 in %p : (tensor<18xi8>, memref<18xi8>) -> ()
  func.return
}
