// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms{table="%S/Inputs/measured.json"}' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s --check-prefix CHOSEN

// An algorithm that was measured takes precedence over the one that would be chosen, and so does none.
// CHECK-LABEL: func.func @main
// CHECK: graph.conv %x, {{.*}}algorithm = #graph.winograd<output_tile = 2, tile_rows = 1>}
// CHECK: graph.conv %y,
// CHECK-NOT: algorithm
// CHOSEN: graph.conv %x, {{.*}}algorithm = #graph.winograd<output_tile = 4, {{.*}}>}
// CHOSEN: graph.conv %y, {{.*}}algorithm
func.func @main(%x: tensor<1x16x64x64xf32>, %y: tensor<1x16x64x80xf32>) -> (tensor<1x32x64x64xf32>, tensor<1x32x64x80xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<32x16x3x3xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x64xf32>
  %1 = graph.conv %y, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x80xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x80xf32>
  func.return %0, %1 : tensor<1x32x64x64xf32>, tensor<1x32x64x80xf32>
}
