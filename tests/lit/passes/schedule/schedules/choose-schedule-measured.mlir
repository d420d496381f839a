// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule{table="%S/Inputs/measured.json"}' | filecheck %s

// A schedule that was measured takes precedence over the one that would be chosen, but where weights stay packed.
// CHECK-LABEL: func.func @main
// CHECK: graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 3, nr = 1, unroll = 1, order = rows>}
// CHECK: graph.matmul %x, %{{.*}} {transpose_rhs = true, schedule = #graph.few_bits_schedule
// CHECK: graph.softmax %{{.*}}schedule = #graph.row_schedule
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>) -> (tensor<8x32xf32>, tensor<8x64xf32>) attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %b = graph.constant dense<17> : tensor<64x32xui8>
  %s = graph.constant dense<0.5> : tensor<64x4xf32>
  %1 = graph.unpack_bits %b {bits = 4 : i64} : (tensor<64x32xui8>) -> tensor<64x64xui8>
  %2 = graph.dequantize %1, %s {axis = 1 : i64, block_size = 16 : i64, to = f32} : (tensor<64x64xui8>, tensor<64x4xf32>) -> tensor<64x64xf32>
  %3 = graph.matmul %x, %2 {transpose_rhs = true} : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
  %4 = graph.softmax %0 {axes = array<i64: 1>} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  func.return %4, %3 : tensor<8x32xf32>, tensor<8x64xf32>
}
