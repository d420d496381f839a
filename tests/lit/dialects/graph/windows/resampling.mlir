// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse | filecheck %s --check-prefix=LOOPS
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' | filecheck %s --check-prefix=LAYOUT

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.resample %x, %p, %q {axis = 2 : i64} : (tensor<1x4x8x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<1x4x5x8xf32>
func.func @forms(%x: tensor<1x4x8x8xf32>, %p: tensor<5x2xi64>, %q: tensor<5x2xf32>) {
  %0 = graph.resample %x, %p, %q {axis = 2} : (tensor<1x4x8x8xf32>, tensor<5x2xi64>, tensor<5x2xf32>) -> tensor<1x4x5x8xf32>
  func.return
}

// Four rows of 16 channels have one place along the axis; what is left of the eight rows is nothing.
// LOOPS-LABEL: func.func private @tiles
// LOOPS:      scf.parallel
// LOOPS:        %[[PLACE:.*]] = memref.load %p[%[[N:.*]], %{{.*}}] : memref<9x2xi64>
// LOOPS-NEXT:   %[[AT:.*]] = arith.index_cast %[[PLACE]] : i64 to index
// LOOPS-NEXT:   %[[X:.*]] = aot.tile_load %x[%{{.*}}, %{{.*}}, %{{.*}}, %[[AT]], %{{.*}}] {strides = array<i64: 80, 0, 1>} : memref<1x2x8x5x16xf32> -> vector<4x1x16xf32>
// LOOPS:        %[[Q:.*]] = memref.load %q[%[[N]], %{{.*}}] : memref<9x2xf32>
// LOOPS:        %[[FACTOR:.*]] = vector.broadcast %[[Q]] : f32 to vector<4x1x16xf32>
// LOOPS-NEXT:   math.fma %[[X]], %[[FACTOR]]
// LOOPS:        math.fma
// LOOPS:        aot.tile_store %{{.*}}, %y[%{{.*}}] {strides = array<i64: 144, 0, 1>}
// LOOPS-NOT:  aot.tile_store
func.func private @tiles(%x: memref<1x2x8x5x16xf32>, %p: memref<9x2xi64>, %q: memref<9x2xf32>, %y: memref<1x2x8x9x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x8x5x16xf32> to tensor<1x2x8x5x16xf32>
  %1 = bufferization.to_tensor %p : memref<9x2xi64> to tensor<9x2xi64>
  %2 = bufferization.to_tensor %q : memref<9x2xf32> to tensor<9x2xf32>
  %3 = graph.resample %0, %1, %2 {axis = 3, schedule = #graph.resample_schedule<lanes = 16, rows = 4, registers = 1>} : (tensor<1x2x8x5x16xf32>, tensor<9x2xi64>, tensor<9x2xf32>) -> tensor<1x2x8x9x16xf32>
  bufferization.materialize_in_destination %3 in %y : (tensor<1x2x8x9x16xf32>, memref<1x2x8x9x16xf32>) -> ()
  func.return
}

// What only leaves the function is unpacked before it grows; what is read on is not.
// LAYOUT-LABEL: func.func @growing
// LAYOUT:      %[[X:.*]] = graph.blocked_conv
// LAYOUT-NEXT: %[[WIDE:.*]] = graph.resample %[[X]], %p, %q {axis = 3 : i64} : (tensor<1x1x3x5x16xf32>, tensor<10x2xi64>, tensor<10x2xf32>) -> tensor<1x1x3x10x16xf32>
// LAYOUT-NEXT: %[[PLAIN:.*]] = graph.unpack %[[WIDE]]
// LAYOUT-NEXT: %[[RESULT:.*]] = graph.resample %[[PLAIN]], %r, %s {axis = 2 : i64} : (tensor<1x8x3x10xf32>,
// LAYOUT-NEXT: %[[INSIDE:.*]] = graph.resample %[[WIDE]], %r, %s {axis = 2 : i64} : (tensor<1x1x3x10x16xf32>,
// LAYOUT-NEXT: %[[RELU:.*]] = graph.relu %[[INSIDE]]
// LAYOUT-NEXT: %[[LAST:.*]] = graph.unpack %[[RELU]]
// LAYOUT-NEXT: func.return %[[RESULT]], %[[LAST]]
func.func @growing(%x: tensor<1x3x3x5xf32>, %p: tensor<10x2xi64>, %q: tensor<10x2xf32>, %r: tensor<6x2xi64>, %s: tensor<6x2xf32>) -> (tensor<1x8x6x10xf32>, tensor<1x8x6x10xf32>) attributes {aot.entry} {
  %w = graph.constant dense<1.0> : tensor<8x3x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1, schedule = #graph.matmul_schedule<lanes = 16, mr = 5, nr = 1, unroll = 2, order = rows>} : (tensor<1x3x3x5xf32>, tensor<8x3x1x1xf32>) -> tensor<1x8x3x5xf32>
  %1 = graph.resample %0, %p, %q {axis = 3} : (tensor<1x8x3x5xf32>, tensor<10x2xi64>, tensor<10x2xf32>) -> tensor<1x8x3x10xf32>
  %2 = graph.resample %1, %r, %s {axis = 2} : (tensor<1x8x3x10xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<1x8x6x10xf32>
  %3 = graph.resample %1, %r, %s {axis = 2} : (tensor<1x8x3x10xf32>, tensor<6x2xi64>, tensor<6x2xf32>) -> tensor<1x8x6x10xf32>
  %4 = graph.relu %3 : (tensor<1x8x6x10xf32>) -> tensor<1x8x6x10xf32>
  func.return %2, %4 : tensor<1x8x6x10xf32>, tensor<1x8x6x10xf32>
}
