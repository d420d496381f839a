// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be [K, N] of integers, found tensor<8xui8>
func.func @matrix(%w: tensor<8xui8>) {
  %0 = graph.pack_few_bits %w {bits = 4 : i64, offset = 0 : i64, width = 8 : i64} : (tensor<8xui8>) -> tensor<1x1x8xi32>
  func.return
}

// -----

// CHECK: bits must be 2, 4 or 8, found 3
func.func @bits(%w: tensor<8x8xui8>) {
  %0 = graph.pack_few_bits %w {bits = 3 : i64, offset = 0 : i64, width = 8 : i64} : (tensor<8x8xui8>) -> tensor<1x1x8xi32>
  func.return
}

// -----

// CHECK: rhs must be [panels, words, width > 0] of i32, found tensor<1x8x8xui8>
func.func @words(%x: tensor<1x64xf32>, %w: tensor<1x8x8xui8>, %s: tensor<1x2x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32} : (tensor<1x64xf32>, tensor<1x8x8xui8>, tensor<1x2x8xf32>) -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: blocks of 12 elements of 4 bits are not whole words
func.func @blocks(%x: tensor<1x64xf32>, %w: tensor<1x8x8xi32>, %s: tensor<1x6x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 12 : i64, point = 8.0 : f64, to = f32} : (tensor<1x64xf32>, tensor<1x8x8xi32>, tensor<1x6x8xf32>) -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: [1, 64] and panels [1, 7, 8] of 8 columns do not multiply
func.func @depth(%x: tensor<1x64xf32>, %w: tensor<1x7x8xi32>, %s: tensor<1x2x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32} : (tensor<1x64xf32>, tensor<1x7x8xi32>, tensor<1x2x8xf32>) -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: points must be [1, 2, 8], found tensor<1x1x8xui8>
func.func @points(%x: tensor<1x64xf32>, %w: tensor<1x8x8xi32>, %s: tensor<1x2x8xf32>, %z: tensor<1x1x8xui8>) {
  %0 = graph.few_bits_matmul %x, %w, %s, %z {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 0.0 : f64, to = f32} : (tensor<1x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>, tensor<1x1x8xui8>) -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: rows and scales are f32 or narrower, found tensor<1x64xf64> and tensor<1x2x8xf32>
func.func @wide(%x: tensor<1x64xf64>, %w: tensor<1x8x8xi32>, %s: tensor<1x2x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32} : (tensor<1x64xf64>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> tensor<1x8xf32>
  func.return
}

// -----

// CHECK: the result is of floats, found i32
func.func @integers(%x: tensor<1x64xf32>, %w: tensor<1x8x8xi32>, %s: tensor<1x2x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = i32} : (tensor<1x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> tensor<1x8xi32>
  func.return
}

// -----

// CHECK: kc = 24 is not in whole words and blocks of 32
func.func @part(%x: tensor<9x64xf32>, %w: tensor<1x8x8xi32>, %s: tensor<1x2x8xf32>) {
  %0, %1 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32, kc = 24 : i64} : (tensor<9x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> (tensor<9x8xf32>, tensor<33x8xf32>)
  func.return
}

// -----

// CHECK: kc = 32 of the schedule is not that of the operation
func.func @schedule(%x: tensor<9x64xf32>, %w: tensor<1x8x8xi32>, %s: tensor<1x2x8xf32>) {
  %0 = graph.few_bits_matmul %x, %w, %s {columns = 8 : i64, bits = 4 : i64, block = 32 : i64, point = 8.0 : f64, to = f32, schedule = #graph.few_bits_schedule<lanes = 8, mr = 1, nr = 1, unroll = 1, kc = 32>} : (tensor<9x64xf32>, tensor<1x8x8xi32>, tensor<1x2x8xf32>) -> tensor<9x8xf32>
  func.return
}
