// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx2},choose-schedule' | filecheck %s --check-prefix=AVX2
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s --check-prefix=SCALAR
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s --check-prefix=ALGORITHM

// A few rows take what they multiply out of words in registers; many unpack a panel first.
// CHECK-LABEL: func.func @rows
// CHECK:      graph.matmul %x, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule<lanes = 16, mr = 1, nr = 4, unroll = 1>}
// CHECK:      graph.matmul %y, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule<lanes = 16, mr = 4, nr = 2, unroll = 1>}
// CHECK:      graph.matmul %z, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule<lanes = 16, {{.*}}, kc = 64>}
// AVX2-LABEL: func.func @rows
// AVX2:       graph.matmul %x, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule<lanes = 8, mr = 1, nr = 3, unroll = 1>}
// AVX2:       graph.matmul %y, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule<lanes = 8, {{.*}}, kc = 64>}
// SCALAR-LABEL: func.func @rows
// SCALAR-NOT: schedule =
func.func @rows(%x: tensor<1x64xf32>, %y: tensor<4x1x64xf32>, %z: tensor<90x64xf32>) attributes {aot.entry} {
  %b = graph.constant dense<17> : tensor<64x32xui8>
  %s = graph.constant dense<0.5> : tensor<64x4xf32>
  %0 = graph.unpack_bits %b {bits = 4 : i64} : (tensor<64x32xui8>) -> tensor<64x64xui8>
  %1 = graph.dequantize %0, %s {axis = 1 : i64, block_size = 16 : i64, to = f32} : (tensor<64x64xui8>, tensor<64x4xf32>) -> tensor<64x64xf32>
  %2 = graph.matmul %x, %1 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %3 = graph.matmul %y, %1 {transpose_rhs = true} : (tensor<4x1x64xf32>, tensor<64x64xf32>) -> tensor<4x1x64xf32>
  %4 = graph.matmul %z, %1 {transpose_rhs = true} : (tensor<90x64xf32>, tensor<64x64xf32>) -> tensor<90x64xf32>
  func.return
}

// Integers of less than a byte that the model does not pack, too, with a scale for all, for a column, or in blocks; on
// targets without vectors as any others. Integers of 8 bits only in blocks.
// CHECK-LABEL: func.func @types
// CHECK-COUNT-4: schedule = #graph.few_bits_schedule
// CHECK:      graph.matmul %x, %{{.*}} {schedule = #graph.matmul_schedule
// CHECK-NOT:  graph.matmul
// SCALAR-LABEL: func.func @types
// SCALAR:     schedule = #graph.sums_schedule
func.func @types(%x: tensor<1x64xf32>) attributes {aot.entry} {
  %a = graph.constant dense<3> : tensor<64x32xi4>
  %b = graph.constant dense<3> : tensor<64x32xui2>
  %c = graph.constant dense<3> : tensor<64x32xi8>
  %s = graph.constant dense<0.5> : tensor<f32>
  %t = graph.constant dense<0.5> : tensor<32xf32>
  %u = graph.constant dense<0.5> : tensor<2x32xf32>
  %0 = graph.dequantize %a, %s {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<64x32xi4>, tensor<f32>) -> tensor<64x32xf32>
  %1 = graph.dequantize %b, %t {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x32xui2>, tensor<32xf32>) -> tensor<64x32xf32>
  %2 = graph.dequantize %a, %u {axis = 0 : i64, block_size = 32 : i64, to = f32} : (tensor<64x32xi4>, tensor<2x32xf32>) -> tensor<64x32xf32>
  %3 = graph.dequantize %c, %u {axis = 0 : i64, block_size = 32 : i64, to = f32} : (tensor<64x32xi8>, tensor<2x32xf32>) -> tensor<64x32xf32>
  %4 = graph.dequantize %c, %t {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x32xi8>, tensor<32xf32>) -> tensor<64x32xf32>
  %5 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %6 = graph.matmul %x, %1 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %7 = graph.matmul %x, %2 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %8 = graph.matmul %x, %3 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  %9 = graph.matmul %x, %4 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return
}

// What a model packs is never widened in memory: no strategy that would is asked where this one is of no use, as for
// scales of columns that change along them, blocks that are no whole words, f64, scales of f64, a transposed operand.
// CHECK-LABEL: func.func @others
// CHECK-NOT:  schedule =
// CHECK:      func.return
func.func @others(%x: tensor<1x64xf32>, %y: tensor<1x64xf64>, %z: tensor<64x1xf32>) attributes {aot.entry} {
  %b = graph.constant dense<17> : tensor<64x32xui8>
  %s = graph.constant dense<0.5> : tensor<64xf32>
  %t = graph.constant dense<0.5> : tensor<64x6xf32>
  %u = graph.constant dense<0.5> : tensor<f64>
  %v = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.unpack_bits %b {bits = 4 : i64} : (tensor<64x32xui8>) -> tensor<64x64xui8>
  %1 = graph.dequantize %0, %s {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x64xui8>, tensor<64xf32>) -> tensor<64x64xf32>
  %2 = graph.dequantize %0, %t {axis = 1 : i64, block_size = 12 : i64, to = f32} : (tensor<64x64xui8>, tensor<64x6xf32>) -> tensor<64x64xf32>
  %3 = graph.dequantize %0, %v {axis = 1 : i64, block_size = 0 : i64, to = f64} : (tensor<64x64xui8>, tensor<f32>) -> tensor<64x64xf64>
  %4 = graph.dequantize %0, %v {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x64xui8>, tensor<f32>) -> tensor<64x64xf32>
  %5 = graph.matmul %x, %1 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %6 = graph.matmul %x, %2 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %7 = graph.matmul %y, %3 {transpose_rhs = true} : (tensor<1x64xf64>, tensor<64x64xf64>) -> tensor<1x64xf64>
  %8 = graph.matmul %z, %4 {transpose_lhs = true, transpose_rhs = true} : (tensor<64x1xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  %9 = graph.dequantize %0, %u {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x64xui8>, tensor<f64>) -> tensor<64x64xf32>
  %10 = graph.matmul %x, %9 {transpose_rhs = true} : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
  func.return
}

// What is not constant is no such matrix.
// CHECK-LABEL: func.func @computed
// CHECK:      graph.matmul %x, %{{.*}} {schedule = #graph.matmul_schedule
func.func @computed(%x: tensor<1x64xf32>, %w: tensor<64x32xi4>) attributes {aot.entry} {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %w, %s {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<64x32xi4>, tensor<f32>) -> tensor<64x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return
}

// Nor is one whose scales are not.
// CHECK-LABEL: func.func @scaled
// CHECK:      graph.matmul %x, %{{.*}} {schedule = #graph.matmul_schedule
func.func @scaled(%x: tensor<1x64xf32>, %s: tensor<32xf32>) attributes {aot.entry} {
  %a = graph.constant dense<3> : tensor<64x32xi4>
  %0 = graph.dequantize %a, %s {axis = 1 : i64, block_size = 0 : i64, to = f32} : (tensor<64x32xi4>, tensor<32xf32>) -> tensor<64x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x64xf32>, tensor<64x32xf32>) -> tensor<1x32xf32>
  func.return
}

// No algorithm widens them either.
// ALGORITHM-LABEL: func.func @algorithm
// ALGORITHM:      graph.matmul %x, %{{[0-9]}} :
// ALGORITHM:      graph.matmul %x, %v {algorithm = #graph.strassen
func.func @algorithm(%x: tensor<1024x1024xf32>) attributes {aot.entry} {
  %w = graph.constant dense_resource<w> : tensor<1024x1024xi4>
  %v = graph.constant dense_resource<v> : tensor<1024x1024xf32>
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.dequantize %w, %s {axis = 0 : i64, block_size = 0 : i64, to = f32} : (tensor<1024x1024xi4>, tensor<f32>) -> tensor<1024x1024xf32>
  %1 = graph.matmul %x, %0 : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = graph.matmul %x, %v : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  func.return
}
