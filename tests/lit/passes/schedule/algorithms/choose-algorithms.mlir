// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms{accuracy=strict}' | filecheck %s --check-prefix=STRICT
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},choose-algorithms' | filecheck %s --check-prefix=STRICT
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-algorithms,choose-schedule,assign-layouts' | filecheck %s --check-prefix=LAYOUT

// STRICT-NOT: algorithm

// CHECK-LABEL: func.func @main
// CHECK:      graph.conv %x, %0 {{.*}}group = 1 : i64, algorithm = #graph.winograd<output_tile = 4, tile_rows = {{[0-9]+}}>}
// Stride 2; 5 x 5 taps; a weight that is not constant:
// CHECK-NEXT: graph.conv %x, %0 {strides = array<i64: 2, 2>, {{.*}}group = 1 : i64}
// CHECK-NEXT: graph.conv %x, %1 {{.*}}group = 1 : i64, algorithm = #graph.winograd<output_tile = 4, tile_rows = {{[0-9]+}}>}
// CHECK-NEXT: graph.conv %x, %v {{.*}}group = 1 : i64}
// A large product, on a constant stored by rows of results; few rows where weights are not near, a shallow one, a computed right-hand side, integers:
// CHECK-LABEL: func.func @products
// CHECK:      graph.matmul %x, %{{[0-9]+}} {transpose_rhs = true, algorithm = #graph.strassen<rows = 100>}
// CHECK-NOT:  algorithm

// LAYOUT-LABEL: func.func @main
// LAYOUT:      %[[X:.*]] = graph.pack %x {layout = #graph.layout<channels ({{[^)]*}} mod 16)>}
// LAYOUT-NEXT: %[[W:.*]] = graph.winograd_weight %{{.*}} {output_tile = 4 : i64, width = 32 : i64} : (tensor<32x16x3x3xf32>) -> tensor<1x36x16x32xf32>
// LAYOUT-NEXT: graph.winograd_conv %[[X]], %[[W]] {pads = array<i64: 1, 1, 1, 1>, channels = 16 : i64, outputs = 32 : i64, output_tile = 4 : i64, tile_rows = {{[0-9]+}} : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = {{[0-9]+}}, nr = 2,
func.func @main(%x: tensor<1x16x64x64xf32>, %v: tensor<32x16x3x3xf32>) -> (tensor<1x32x64x64xf32>, tensor<1x32x32x32xf32>, tensor<1x32x60x60xf32>, tensor<1x32x64x64xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<32x16x3x3xf32>
  %1 = graph.constant dense<1.0> : tensor<32x16x5x5xf32>
  %2 = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x64xf32>
  %3 = graph.conv %x, %0 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x32x32xf32>
  %4 = graph.conv %x, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x64xf32>, tensor<32x16x5x5xf32>) -> tensor<1x32x60x60xf32>
  %5 = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x16x64x64xf32>, tensor<32x16x3x3xf32>) -> tensor<1x32x64x64xf32>
  func.return %2, %3, %4, %5 : tensor<1x32x64x64xf32>, tensor<1x32x32x32xf32>, tensor<1x32x60x60xf32>, tensor<1x32x64x64xf32>
}

// LAYOUT-LABEL: func.func @products
// LAYOUT:      %[[W:.*]] = graph.strassen_weight %{{.*}} {left = 384 : i64, width = 48 : i64, transpose = true} : (tensor<760x512xf32>) -> tensor<8x7x256x48xf32>
// LAYOUT-NEXT: graph.strassen_matmul %x, %[[W]] {columns = 760 : i64, left = 384 : i64, block_rows = 100 : i64, schedule = #graph.matmul_schedule<lanes = 16, mr = 9, nr = 3, unroll = 2, order = columns, prefetch>} : (tensor<2x400x512xf32>, tensor<8x7x256x48xf32>) -> (tensor<2x400x760xf32>, tensor<7x51x272xf32>, tensor<7x51x48xf32>)
func.func @products(%x: tensor<2x400x512xf32>, %few: tensor<32x512xf32>, %shallow: tensor<400x64xf32>, %v: tensor<512x760xf32>, %i: tensor<400x512xi32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<760x512xf32>
  %1 = graph.constant dense<1.0> : tensor<64x760xf32>
  %2 = graph.constant dense<1> : tensor<512x760xi32>
  %3 = graph.matmul %x, %0 {transpose_rhs = true} : (tensor<2x400x512xf32>, tensor<760x512xf32>) -> tensor<2x400x760xf32>
  %4 = graph.matmul %few, %0 {transpose_rhs = true} : (tensor<32x512xf32>, tensor<760x512xf32>) -> tensor<32x760xf32>
  %5 = graph.matmul %shallow, %1 : (tensor<400x64xf32>, tensor<64x760xf32>) -> tensor<400x760xf32>
  %6 = graph.matmul %x, %v : (tensor<2x400x512xf32>, tensor<512x760xf32>) -> tensor<2x400x760xf32>
  %7 = graph.matmul %i, %2 : (tensor<400x512xi32>, tensor<512x760xi32>) -> tensor<400x760xi32>
  func.return
}
