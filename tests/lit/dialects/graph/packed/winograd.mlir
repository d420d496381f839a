// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.winograd_weight %w {output_tile = 4 : i64, width = 16 : i64} : (tensor<24x5x3x3xf32>) -> tensor<2x36x5x16xf32>
// CHECK-NEXT: graph.winograd_conv %x, %0 {pads = array<i64: 1, 1, 1, 1>, channels = 5 : i64, outputs = 24 : i64, output_tile = 4 : i64, tile_rows = 2 : i64} : (tensor<1x1x9x9x8xf32>, tensor<2x36x5x16xf32>) -> (tensor<1x3x9x9x8xf32>, tensor<36x7x8xf32>, tensor<36x7x16xf32>)
func.func @forms(%x: tensor<1x1x9x9x8xf32>, %w: tensor<24x5x3x3xf32>) {
  %0 = graph.winograd_weight %w {output_tile = 4, width = 16} : (tensor<24x5x3x3xf32>) -> tensor<2x36x5x16xf32>
  %1, %2, %3 = graph.winograd_conv %x, %0 {pads = array<i64: 1, 1, 1, 1>, channels = 5, outputs = 24, output_tile = 4, tile_rows = 2} : (tensor<1x1x9x9x8xf32>, tensor<2x36x5x16xf32>) -> (tensor<1x3x9x9x8xf32>, tensor<36x7x8xf32>, tensor<36x7x16xf32>)
  func.return
}

// One row of three tiles at a time: the first and the last of them lack a column of the operand, the first and the last
// rows one or two lines. The last row has one line of results.
// LOOPS-LABEL: func.func private @conv
// LOOPS:        %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<1x4x8xf32>
// LOOPS:        scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// LOOPS:          %[[ABOVE:.*]] = arith.cmpi sge
// LOOPS-NEXT:     scf.if %[[ABOVE]] -> (vector<1x4x8xf32>) {
// LOOPS-NEXT:       %[[LINE:.*]] = aot.tile_load %x[%{{.*}}] {strides = array<i64: 0, 8, 1>} : memref<1x1x5x6x8xf32> -> vector<1x3x8xf32>
// LOOPS-NEXT:       %[[FILLED:.*]] = aot.tile_insert %[[LINE]], %[[ZERO]] {offsets = array<i64: 0, 1>}
// LOOPS-NEXT:       scf.yield %[[FILLED]]
// LOOPS-NEXT:     } else {
// LOOPS-NEXT:       scf.yield %[[ZERO]]
// The columns of the tile are transformed, then its lines, which become neighbouring products.
// LOOPS-COUNT-4:  aot.tile_store %{{.*}}, %v[%{{.*}}] {strides = array<i64: 24, 0, 1>} : vector<4x1x8xf32>
// LOOPS:          -> vector<1x4x8xf32>
// LOOPS-COUNT-4:  aot.tile_store %{{.*}}, %v
// LOOPS:          -> vector<1x3x8xf32>
// LOOPS-COUNT-4:  aot.tile_store %{{.*}}, %v
// LOOPS-NEXT:     scf.for %[[PRODUCT:.*]] = %{{.*}} to %{{.*}} step
// LOOPS:            aot.tile_load %v[%[[PRODUCT]], %{{.*}}] {strides = array<i64: 8, 0, 0>} : memref<16x3x8xf32> -> vector<3x1x8xf32>
// LOOPS-NEXT:       aot.tile_load %w[%{{.*}}, %[[PRODUCT]], %{{.*}}] {strides = array<i64: 0, 0, 1>}
// LOOPS-NEXT:       math.fma
// LOOPS:            aot.tile_store %{{.*}}, %p[%[[PRODUCT]], %{{.*}}] {strides = array<i64: 8, 0, 1>} : vector<3x1x8xf32>
// LOOPS:          scf.for
// LOOPS-COUNT-4:    aot.tile_load %p[%{{.*}}] {strides = array<i64: 96, 0, 1>} : memref<16x3x8xf32> -> vector<4x1x8xf32>
// LOOPS:            scf.if
// LOOPS:              aot.tile_load %b[%{{.*}}] {strides = array<i64: 0, 0, 1>} : memref<8xf32> -> vector<1x2x8xf32>
// LOOPS:              aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 0, 8, 1>} : vector<1x2x8xf32>
// LOOPS-NEXT:       } else {
// LOOPS:              aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 48, 8, 1>} : vector<2x2x8xf32>
// LOOPS-NOT:      memref.
func.func private @conv(%x: memref<1x1x5x6x8xf32>, %w: memref<1x16x5x8xf32>, %b: memref<8xf32>, %out: memref<1x1x5x6x8xf32>, %v: memref<16x3x8xf32>, %p: memref<16x3x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x5x6x8xf32> to tensor<1x1x5x6x8xf32>
  %1 = bufferization.to_tensor %w : memref<1x16x5x8xf32> to tensor<1x16x5x8xf32>
  %2 = bufferization.to_tensor %b : memref<8xf32> to tensor<8xf32>
  %3, %4, %5 = graph.winograd_conv %0, %1, %2 {pads = array<i64: 1, 1, 1, 1>, channels = 5 : i64, outputs = 8 : i64, output_tile = 2 : i64, tile_rows = 1 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 3, nr = 1, unroll = 4, order = columns>} : (tensor<1x1x5x6x8xf32>, tensor<1x16x5x8xf32>, tensor<8xf32>) -> (tensor<1x1x5x6x8xf32>, tensor<16x3x8xf32>, tensor<16x3x8xf32>)
  %6 = graph.relu %3 : (tensor<1x1x5x6x8xf32>) -> tensor<1x1x5x6x8xf32>
  bufferization.materialize_in_destination %6 in writable %out : (tensor<1x1x5x6x8xf32>, memref<1x1x5x6x8xf32>) -> ()
  bufferization.materialize_in_destination %4 in writable %v : (tensor<16x3x8xf32>, memref<16x3x8xf32>) -> ()
  bufferization.materialize_in_destination %5 in writable %p : (tensor<16x3x8xf32>, memref<16x3x8xf32>) -> ()
  func.return
}

// Of integers: a column of 36 products, which are multiples of the sums, 24, 12, 6 and 6 times as great along each axis.
// The odd factor, 9, goes by its inverse modulo 2^32. Where there is nothing of the image there are zero points; what
// becomes of them is subtracted from the one transformed element in which it does not vanish.
// LOOPS-LABEL: func.func private @bytes
// LOOPS:        %[[POINTS:.*]] = arith.constant dense<5> : vector<1x6x8xi16>
// LOOPS:        %[[CHANGE:.*]] = arith.constant dense<180> : vector<1x1x8xi16>
// LOOPS:        %[[INVERSE:.*]] = arith.constant dense<954437177> : vector<1x1x8xi32>
// LOOPS:        %[[SIX:.*]] = arith.constant dense<6> : vector<1x1x8xi32>
// LOOPS:        arith.subi %{{.*}}, %[[CHANGE]]
// LOOPS:        aot.tile_load %p[%{{.*}}] {strides = array<i64: 48, 0, 1>} : memref<36x1x8xi32> -> vector<6x1x8xi32>
// LOOPS:        %[[NINEFOLD:.*]] = arith.muli %{{.*}}, %[[INVERSE]]
// LOOPS:        arith.shrsi %{{.*}}, %[[SIX]]
func.func private @bytes(%x: memref<1x1x4x4x8xi8>, %w: memref<1x1x3x3x4x16xi8>, %out: memref<1x1x4x4x8xi32>, %v: memref<36x1x8xi16>, %p: memref<36x1x8xi32>, %f: memref<36x6x16xi16>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x4x4x8xi8> to tensor<1x1x4x4x8xi8>
  %1 = bufferization.to_tensor %w : memref<1x1x3x3x4x16xi8> to tensor<1x1x3x3x4x16xi8>
  %2, %3, %4, %5 = graph.winograd_conv %0, %1 {pads = array<i64: 1, 1, 1, 1>, channels = 8 : i64, outputs = 8 : i64, x_zero_point = 5 : i64, sum_bits = 26 : i64, output_tile = 4 : i64, tile_rows = 1 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 1, nr = 1, unroll = 2, order = columns>} : (tensor<1x1x4x4x8xi8>, tensor<1x1x3x3x4x16xi8>) -> (tensor<1x1x4x4x8xi32>, tensor<36x1x8xi16>, tensor<36x1x8xi32>, tensor<36x6x16xi16>)
  bufferization.materialize_in_destination %2 in writable %out : (tensor<1x1x4x4x8xi32>, memref<1x1x4x4x8xi32>) -> ()
  bufferization.materialize_in_destination %3 in writable %v : (tensor<36x1x8xi16>, memref<36x1x8xi16>) -> ()
  bufferization.materialize_in_destination %4 in writable %p : (tensor<36x1x8xi32>, memref<36x1x8xi32>) -> ()
  bufferization.materialize_in_destination %5 in writable %f : (tensor<36x6x16xi16>, memref<36x6x16xi16>) -> ()
  func.return
}
