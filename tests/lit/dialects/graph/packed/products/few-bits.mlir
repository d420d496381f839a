// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p fold-constants | filecheck %s --check-prefix=FOLD
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK:      graph.few_bits_matmul %x, %{{.*}}, %s {columns = 20 : i64, bits = 4 : i64, block = 16 : i64, point = 8.000000e+00 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 16, mr = 1, nr = 2, unroll = 1>}
// CHECK:      graph.few_bits_matmul %x, %{{.*}}, %s, %z {columns = 20 : i64, bits = 4 : i64, block = 16 : i64, point = 0.000000e+00 : f64, to = f16, kc = 16 : i64, schedule = #graph.few_bits_schedule<lanes = 16, mr = 1, nr = 2, unroll = 1, kc = 16>} : (tensor<1x40xf32>, tensor<1x5x32xi32>, tensor<1x3x32xf32>, tensor<1x3x32xui8>) -> (tensor<1x20xf16>, tensor<17x32xf32>)
func.func @forms(%x: tensor<1x40xf32>, %w: tensor<40x20xui8>, %s: tensor<1x3x32xf32>, %z: tensor<1x3x32xui8>) {
  %p = graph.pack_few_bits %w {bits = 4 : i64, offset = 0 : i64, width = 32 : i64} : (tensor<40x20xui8>) -> tensor<1x5x32xi32>
  %0 = graph.few_bits_matmul %x, %p, %s {columns = 20 : i64, bits = 4 : i64, block = 16 : i64, point = 8.0 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 16, mr = 1, nr = 2, unroll = 1>} : (tensor<1x40xf32>, tensor<1x5x32xi32>, tensor<1x3x32xf32>) -> tensor<1x20xf32>
  %1, %2 = graph.few_bits_matmul %x, %p, %s, %z {columns = 20 : i64, bits = 4 : i64, block = 16 : i64, point = 0.0 : f64, to = f16, kc = 16 : i64, schedule = #graph.few_bits_schedule<lanes = 16, mr = 1, nr = 2, unroll = 1, kc = 16>} : (tensor<1x40xf32>, tensor<1x5x32xi32>, tensor<1x3x32xf32>, tensor<1x3x32xui8>) -> (tensor<1x20xf16>, tensor<17x32xf32>)
  func.return
}

// Nine rows of three columns, four bits each: the first eight in one word, the last in another; what is signed is
// shifted to begin at zero. 0x76543210, 0xFFFFFFFF and 0x89ABCDEF.
// FOLD-LABEL: func.func @words
// FOLD:       graph.constant dense<[{{\[}}[1985229328, -1], [8, 15]], {{\[}}[-1985229329, 0], [0, 0]]]> : tensor<2x2x2xi32>
func.func @words() -> tensor<2x2x2xi32> attributes {aot.entry} {
  %w = graph.constant dense<[[-8, 7, 7], [-7, 7, 6], [-6, 7, 5], [-5, 7, 4], [-4, 7, 3], [-3, 7, 2], [-2, 7, 1], [-1, 7, 0], [0, 7, -8]]> : tensor<9x3xi8>
  %0 = graph.pack_few_bits %w {bits = 4 : i64, offset = 8 : i64, width = 2 : i64} : (tensor<9x3xi8>) -> tensor<2x2x2xi32>
  func.return %0 : tensor<2x2x2xi32>
}

// FOLD-LABEL: func.func @transposed
// FOLD:       graph.constant dense<[{{\[}}[228, 1]]]> : tensor<1x1x2xi32>
func.func @transposed() -> tensor<1x1x2xi32> attributes {aot.entry} {
  %w = graph.constant dense<[[0, 1, 2, 3], [1, 0, 0, 0]]> : tensor<2x4xui8>
  %0 = graph.pack_few_bits %w {bits = 2 : i64, offset = 0 : i64, width = 2 : i64, transpose = true} : (tensor<2x4xui8>) -> tensor<1x1x2xi32>
  func.return %0 : tensor<1x1x2xi32>
}

// One row: words are shifted and masked in registers, and the sum of a block is scaled, less the zero point times the
// sum of what it was multiplied with.
// LOOPS-LABEL: func.func private @registers
// LOOPS:      scf.for {{.*}} iter_args(
// LOOPS:        scf.for {{.*}} iter_args(%{{.*}}, %{{.*}}) -> (vector<1x1x8xf32>, vector<1x1x8xf32>) {
// LOOPS:          [[WORDS:%.*]] = aot.tile_load %w{{.*}} -> vector<1x1x8xi32>
// LOOPS:          [[FIELD:%.*]] = arith.shrsi [[WORDS]], %{{.*}} : vector<1x1x8xi32>
// LOOPS:          arith.andi [[FIELD]], %{{.*}} : vector<1x1x8xi32>
// LOOPS:          aot.tile_convert "sitofp"
// LOOPS:          math.fma
// LOOPS:          arith.addf
// LOOPS:        [[SCALE:%.*]] = aot.tile_load %s
// LOOPS-NEXT:   math.fma [[SCALE]],
// LOOPS:      aot.tile_store %{{.*}}, %y{{.*}} valid = 5
func.func private @registers(%x: memref<1x64xf32>, %w: memref<1x8x8xi32>, %s: memref<1x2x8xf32>, %y: memref<1x5xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x64xf32> to tensor<1x64xf32>
  %1 = bufferization.to_tensor %w : memref<1x8x8xi32> to tensor<1x8x8xi32>
  %2 = bufferization.to_tensor %s : memref<1x2x8xf32> to tensor<1x2x8xf32>
  %3 = graph.few_bits_matmul %0, %1, %2 {columns = 5 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 8, mr = 1, nr = 1, unroll = 1>} : (tensor<1x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> tensor<1x5xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x5xf32>, memref<1x5xf32>) -> ()
  func.return
}

// Without a zero point nothing but products is summed up.
// LOOPS-LABEL: func.func private @no_point
// LOOPS-NOT:  arith.addf
func.func private @no_point(%x: memref<1x16xf32>, %w: memref<1x2x8xi32>, %s: memref<1x1x8xf32>, %y: memref<1x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x16xf32> to tensor<1x16xf32>
  %1 = bufferization.to_tensor %w : memref<1x2x8xi32> to tensor<1x2x8xi32>
  %2 = bufferization.to_tensor %s : memref<1x1x8xf32> to tensor<1x1x8xf32>
  %3 = graph.few_bits_matmul %0, %1, %2 {columns = 8 : i64, bits = 4 : i64, block = 16 : i64, point = 0.0 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 8, mr = 1, nr = 1, unroll = 1>} : (tensor<1x16xf32>, tensor<1x2x8xi32>, tensor<1x1x8xf32>) -> tensor<1x8xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  func.return
}

// Many rows: 32 steps of a panel are unpacked to memory, then all rows are multiplied with them; the sums of the first
// 32 are behind the panel until the others are there.
// LOOPS-LABEL: func.func private @unpacked
// LOOPS:      aot.tile_load %w
// LOOPS:      aot.tile_store %{{.*}}, %panel
// LOOPS:      scf.for
// LOOPS:      aot.tile_load %panel
// LOOPS:      aot.tile_store %{{.*}}, %panel
// LOOPS:      aot.tile_load %w
// LOOPS:      aot.tile_store %{{.*}}, %panel
// LOOPS:      scf.for
// LOOPS:      aot.tile_load %panel
// LOOPS:      aot.tile_store %{{.*}}, %y
func.func private @unpacked(%x: memref<12x64xf32>, %w: memref<1x8x8xi32>, %s: memref<1x2x8xf32>, %y: memref<12x8xf32>, %panel: memref<44x8xf32> {aot.scratch}) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<12x64xf32> to tensor<12x64xf32>
  %1 = bufferization.to_tensor %w : memref<1x8x8xi32> to tensor<1x8x8xi32>
  %2 = bufferization.to_tensor %s : memref<1x2x8xf32> to tensor<1x2x8xf32>
  %3, %4 = graph.few_bits_matmul %0, %1, %2 {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32, kc = 32 : i64, schedule = #graph.few_bits_schedule<lanes = 8, mr = 6, nr = 1, unroll = 1, kc = 32>} : (tensor<12x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> (tensor<12x8xf32>, tensor<44x8xf32>)
  bufferization.materialize_in_destination %3 in %y : (tensor<12x8xf32>, memref<12x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in %panel : (tensor<44x8xf32>, memref<44x8xf32>) -> ()
  func.return
}

// Without a schedule, and where panels have another width than the register tile, element by element.
// LOOPS-LABEL: func.func private @scalar
// LOOPS:      arith.shrsi
// LOOPS:      arith.andi
// LOOPS:      arith.sitofp
// LOOPS-LABEL: func.func private @width
// LOOPS-NOT:  vector<
func.func private @scalar(%x: memref<1x8xf32>, %w: memref<1x1x8xi32>, %s: memref<1x1x8xf32>, %y: memref<1x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8xf32> to tensor<1x8xf32>
  %1 = bufferization.to_tensor %w : memref<1x1x8xi32> to tensor<1x1x8xi32>
  %2 = bufferization.to_tensor %s : memref<1x1x8xf32> to tensor<1x1x8xf32>
  %3 = graph.few_bits_matmul %0, %1, %2 {columns = 8 : i64, bits = 4 : i64, block = 8 : i64, point = 8.0 : f64, to = f32} : (tensor<1x8xf32>, tensor<1x1x8xi32>, tensor<1x1x8xf32>) -> tensor<1x8xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  func.return
}
func.func private @width(%x: memref<1x8xf32>, %w: memref<1x1x8xi32>, %s: memref<1x1x8xf32>, %y: memref<1x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8xf32> to tensor<1x8xf32>
  %1 = bufferization.to_tensor %w : memref<1x1x8xi32> to tensor<1x1x8xi32>
  %2 = bufferization.to_tensor %s : memref<1x1x8xf32> to tensor<1x1x8xf32>
  %3 = graph.few_bits_matmul %0, %1, %2 {columns = 8 : i64, bits = 4 : i64, block = 8 : i64, point = 8.0 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 8, mr = 1, nr = 2, unroll = 1>} : (tensor<1x8xf32>, tensor<1x1x8xi32>, tensor<1x1x8xf32>) -> tensor<1x8xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x8xf32>, memref<1x8xf32>) -> ()
  func.return
}
