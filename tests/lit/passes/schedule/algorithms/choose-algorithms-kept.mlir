// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s

// An algorithm that is chosen already stays, though another one would be.
// CHECK: graph.conv %x, %w {{.*}}algorithm = #graph.winograd<output_tile = 2, tile_rows = 1>}
func.func @main(%x: tensor<1x16x64x64xf32>) -> tensor<1x32x64x64xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x16x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, algorithm = #graph.winograd<output_tile = 2, tile_rows = 1>} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x64xf32>
  func.return %0 : tensor<1x32x64x64xf32>
}

// So does a schedule, which belongs to an algorithm.
// CHECK-LABEL: func.func @scheduled
// CHECK-NOT: algorithm
func.func @scheduled(%x: tensor<1x16x64x64xf32>) -> tensor<1x32x64x64xf32> attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x16x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 8, nr = 2, unroll = 2, order = rows>} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x64xf32>
  func.return %0 : tensor<1x32x64x64xf32>
}
