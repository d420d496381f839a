// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s

// Windows of 3 x 3 two elements apart over rows of 40, in tiles of one register: the first meets the padding before the
// row. Rows are reduced first. What is read is put into two phases, the even and the odd elements; the third tap reads
// the first phase, one lane further on.
// CHECK-LABEL: func.func private @greatest
// CHECK-DAG:  %[[LEAST:.*]] = arith.constant dense<"0x000080FF"> : vector<1x16xf32>
// CHECK:      scf.for
// CHECK:        %[[ROWS:.*]] = scf.for %{{.*}} iter_args(%[[BEST:.*]] = %{{.*}}) -> (vector<2x16xf32>)
// CHECK:          %[[X:.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 16, 1>} : memref<1x2x9x40xf32> -> vector<2x16xf32>
// CHECK-NEXT:     %[[B:.*]] = arith.maximumf %[[BEST]], %[[X]]
// CHECK-NEXT:     scf.yield %[[B]]
// CHECK:        %[[X0:.*]] = aot.tile_slice %[[ROWS]] {offsets = array<i64: 0>, sizes = array<i64: 1>}
// CHECK-NEXT:   %[[X1:.*]] = aot.tile_slice %[[ROWS]] {offsets = array<i64: 1>, sizes = array<i64: 1>}
// CHECK-NEXT:   %[[N:.*]] = aot.tile_shuffle %[[LEAST]], %[[X0]] {lanes = array<i64: 0, 17, 19, 21, 23, 25, 27, 29, 31, 9, 10, 11, 12, 13, 14, 15>}
// CHECK-NEXT:   %[[E:.*]] = aot.tile_shuffle %[[N]], %[[X1]] {lanes = array<i64: 0, 1, 2, 3, 4, 5, 6, 7, 8, 17, 19, 21, 23, 25, 27, 29>}
// CHECK:        aot.tile_shuffle %[[X0]], %[[X1]] {lanes = array<i64: 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30>}
// CHECK:        %[[T:.*]] = aot.tile_shuffle %{{.*}}, %{{.*}} {lanes = array<i64: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>} : vector<1x16xf32>
// CHECK-NEXT:   %[[M:.*]] = arith.maximumf %{{.*}}, %{{.*}} : vector<1x16xf32>
// CHECK-NEXT:   arith.maximumf %[[M]], %[[T]]
// CHECK-NEXT:   aot.tile_store %{{.*}} {strides = array<i64: 0, 1>} : vector<1x16xf32>
// The last four positions.
// CHECK:        aot.tile_load %x{{.*}} {strides = array<i64: 0, 1>, valid = 9 : i64}
// CHECK:        aot.tile_store %{{.*}} {strides = array<i64: 0, 1>, valid = 4 : i64} : vector<1x16xf32>
// CHECK-NOT:    aot.tile_store
func.func private @greatest(%x: memref<1x2x9x40xf32>, %out: memref<1x2x5x20xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x9x40xf32> to tensor<1x2x9x40xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #graph.positions_schedule<lanes = 16, mr = 1, nr = 1>} : (tensor<1x2x9x40xf32>) -> tensor<1x2x5x20xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x5x20xf32>, memref<1x2x5x20xf32>) -> ()
  func.return
}

// Sums are in the order of the taps: those along a row within the loop over rows. How many count differs at the ends.
// CHECK-LABEL: func.func private @mean
// CHECK:        %[[SUM:.*]] = scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<2x4xf32>)
// CHECK-COUNT-3:  arith.addf %{{.*}}, %{{.*}} : vector<2x4xf32>
// CHECK:          scf.yield
// CHECK:        %[[TWO:.*]] = vector.broadcast
// CHECK:        %[[THREE:.*]] = vector.broadcast
// CHECK:        %[[FIRST:.*]] = aot.tile_shuffle %[[TWO]], %[[THREE]] {lanes = array<i64: 0, 5, 6, 7>}
// CHECK:        %[[LAST:.*]] = aot.tile_shuffle %[[THREE]], %[[TWO]] {lanes = array<i64: 0, 1, 2, 7>}
// CHECK:        arith.divf %[[SUM]], %{{.*}} : vector<2x4xf32>
func.func private @mean(%x: memref<1x2x5x8xf32>, %out: memref<1x2x5x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x5x8xf32> to tensor<1x2x5x8xf32>
  %1 = graph.average_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 2>} : (tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x5x8xf32>, memref<1x2x5x8xf32>) -> ()
  func.return
}

// What depends on where an element is, and tensors in blocks, are loops over single elements.
// CHECK-LABEL: func.func private @where
// CHECK-NOT:     aot.tile
// CHECK-LABEL: func.func private @blocks
// CHECK-NOT:     aot.tile
func.func private @where(%x: memref<1x2x32xf32>, %out: memref<1x2x16xi64>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x32xf32> to tensor<1x2x32xf32>
  %1 = graph.max_pool_indices %0 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>} : (tensor<1x2x32xf32>) -> tensor<1x2x16xi64>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x16xi64>, memref<1x2x16xi64>) -> ()
  func.return
}
func.func private @blocks(%x: memref<1x2x32x4xf32>, %out: memref<1x2x16x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x32x4xf32> to tensor<1x2x32x4xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>} : (tensor<1x2x32x4xf32>) -> tensor<1x2x16x4xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x16x4xf32>, memref<1x2x16x4xf32>) -> ()
  func.return
}

// Sums of columns, of which each tap has its own: every second position has two taps, those between one. Taps are added
// in order; the first of two is read one column further on, the last of which is not there.
// CHECK-LABEL: func.func private @fold
// CHECK:        [[A:%.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 0, 1>, valid = 3 : i64} : memref<1x6x4xf32> -> vector<1x4xf32>
// CHECK-NEXT:   [[B:%.*]] = aot.tile_shuffle [[A]], [[ZERO:%.*]] {lanes = array<i64: 0, 1, 2, 7>}
// CHECK-NEXT:   [[C:%.*]] = arith.addf [[ZERO]], [[B]]
// CHECK:        [[D:%.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 0, 1>} : memref<1x6x4xf32> -> vector<1x4xf32>
// CHECK-NEXT:   [[E:%.*]] = arith.addf [[C]], [[D]]
// CHECK-NEXT:   aot.tile_store [[E]], %out{{.*}} {strides = array<i64: 0, 2>} : vector<1x4xf32>
// CHECK:        aot.tile_load %x{{.*}} {strides = array<i64: 0, 1>} : memref<1x6x4xf32> -> vector<1x4xf32>
// CHECK-NEXT:   arith.addf
// CHECK-NEXT:   aot.tile_store {{.*}} {strides = array<i64: 0, 2>} : vector<1x4xf32>
// CHECK-NOT:    aot.tile
func.func private @fold(%x: memref<1x6x4xf32>, %out: memref<1x2x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x6x4xf32> to tensor<1x6x4xf32>
  %1 = graph.fold %0 {image = array<i64: 8>, kernel = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 0>, dilations = array<i64: 1>, schedule = #graph.positions_schedule<lanes = 4, mr = 1, nr = 1>} : (tensor<1x6x4xf32>) -> tensor<1x2x8xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x2x8xf32>, memref<1x2x8xf32>) -> ()
  func.return
}
