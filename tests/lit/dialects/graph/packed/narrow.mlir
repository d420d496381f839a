// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,assign-layouts' | filecheck %s --check-prefix=LAYOUT
// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.narrow_conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf32>, tensor<3xf32>) -> tensor<1x3x16xf32>
// CHECK-NEXT: graph.narrow_conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf32>) -> tensor<1x3x44xf32>
func.func @forms(%x: tensor<1x2x20x16xf32>, %w: tensor<3x2x5x16xf32>, %b: tensor<3xf32>) {
  %0 = graph.narrow_conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf32>, tensor<3xf32>) -> tensor<1x3x16xf32>
  %1 = graph.narrow_conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, output_padding = array<i64: 1>} : (tensor<1x2x20x16xf32>, tensor<3x2x5x16xf32>) -> tensor<1x3x44xf32>
  func.return
}

// One output channel would leave fifteen lanes empty, ten are worth a block; the narrow result is plain.
// LAYOUT-LABEL: func.func @main
// LAYOUT:      %[[X:.*]] = graph.pack %x {layout = #graph.layout<channels ({{[^)]*}} mod 16)>}
// LAYOUT:      %[[W:.*]] = graph.pack %v {layout = #graph.layout<channels (d0, d1 floordiv 16, d2, d1 mod 16)>} : (tensor<1x32x5xf32>) -> tensor<1x2x5x16xf32>
// LAYOUT:      %[[ONE:.*]] = graph.narrow_conv %[[X]], %[[W]] {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.inner_product_schedule<lanes = 16, positions = 16>} : (tensor<1x2x20x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x1x16xf32>
// LAYOUT:      graph.blocked_conv %[[X]]
// LAYOUT:      %[[MANY:.*]] = graph.unpack
// LAYOUT:      func.return %[[ONE]], %[[MANY]]
func.func @main(%x: tensor<1x32x20xf32>, %v: tensor<1x32x5xf32>, %w: tensor<14x32x5xf32>) -> (tensor<1x1x16xf32>, tensor<1x14x16xf32>) attributes {aot.entry} {
  %0 = graph.conv %x, %v {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x32x20xf32>, tensor<1x32x5xf32>) -> tensor<1x1x16xf32>
  %1 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 1} : (tensor<1x32x20xf32>, tensor<14x32x5xf32>) -> tensor<1x14x16xf32>
  func.return %0, %1 : tensor<1x1x16xf32>, tensor<1x14x16xf32>
}

// Two tiles of ten positions, with input channels in their lanes; turned at the end, what is beyond the tenth is not stored.
// LOOPS-LABEL: func.func private @sums
// LOOPS:      scf.for
// LOOPS:        scf.for
// LOOPS:          %[[X:.*]] = aot.tile_load %x[%{{.*}}, %[[BLOCK:.*]], %{{.*}}, %{{.*}}] {strides = array<i64: 16, 1>} : memref<1x2x24x16xf32> -> vector<10x16xf32>
// LOOPS:          %[[W:.*]] = aot.tile_load %w[%[[M:.*]], %[[BLOCK]], %{{.*}}, %{{.*}}] {strides = array<i64: 0, 1>} : memref<3x2x5x16xf32> -> vector<10x16xf32>
// LOOPS-NEXT:     math.fma %[[X]], %[[W]]
// LOOPS:      %[[SQUARE:.*]] = aot.tile_insert %{{.*}}, %{{.*}} {offsets = array<i64: 0>}
// LOOPS-NEXT: %[[TURNED:.*]] = aot.tile_transpose %[[SQUARE]] : vector<16x16xf32>
// LOOPS:      %[[BIAS:.*]] = memref.load %b[%[[M]]]
// LOOPS:      aot.tile_store %{{.*}}, %y[%{{.*}}, %[[M]], %{{.*}}] {strides = array<i64: 0, 1>, valid = 10 : i64}
func.func private @sums(%x: memref<1x2x24x16xf32>, %w: memref<3x2x5x16xf32>, %b: memref<3xf32>, %y: memref<1x3x20xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x24x16xf32> to tensor<1x2x24x16xf32>
  %1 = bufferization.to_tensor %w : memref<3x2x5x16xf32> to tensor<3x2x5x16xf32>
  %2 = bufferization.to_tensor %b : memref<3xf32> to tensor<3xf32>
  %3 = graph.narrow_conv %0, %1, %2 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.inner_product_schedule<lanes = 16, positions = 16>} : (tensor<1x2x24x16xf32>, tensor<3x2x5x16xf32>, tensor<3xf32>) -> tensor<1x3x20xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x3x20xf32>, memref<1x3x20xf32>) -> ()
  func.return
}
