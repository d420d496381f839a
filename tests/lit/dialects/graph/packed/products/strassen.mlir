// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.strassen_weight %w {left = 16 : i64, width = 8 : i64, transpose = true} : (tensor<27x9xf32>) -> tensor<2x7x5x8xf32>
// CHECK-NEXT: graph.strassen_matmul %x, %0 {columns = 27 : i64, left = 16 : i64, block_rows = 4 : i64, algorithm = #graph.strassen<rows = 4>} : (tensor<2x6x9xf32>, tensor<2x7x5x8xf32>) -> (tensor<2x6x27xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
func.func @forms(%x: tensor<2x6x9xf32>, %w: tensor<27x9xf32>) {
  %0 = graph.strassen_weight %w {left = 16, width = 8, transpose = true} : (tensor<27x9xf32>) -> tensor<2x7x5x8xf32>
  %1, %2, %3 = graph.strassen_matmul %x, %0 {columns = 27, left = 16, block_rows = 4, algorithm = #graph.strassen<rows = 4>} : (tensor<2x6x9xf32>, tensor<2x7x5x8xf32>) -> (tensor<2x6x27xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  func.return
}

// Seven sums of quarters of 5 x 9 elements; the third row of the upper half has none below it. Then seven products of
// [3, 5] x [5, 8] matrices, the next of which is asked for meanwhile, and their sums: the right half has 5 columns.
// LOOPS-LABEL: func.func private @product
// LOOPS:        scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:     %[[BELOW:.*]] = arith.addi
// LOOPS-NEXT:     %[[A11:.*]] = aot.tile_load %x[%[[ROW]], %{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 5 : i64} : memref<5x9xf32> -> vector<1x1x8xf32>
// LOOPS-NEXT:     %[[A12:.*]] = aot.tile_load %x[%[[ROW]], %{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 4 : i64} : memref<5x9xf32> -> vector<1x1x8xf32>
// LOOPS-NEXT:     %[[A21:.*]] = aot.tile_load %x[%[[BELOW]], %{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 5 : i64}
// LOOPS-NEXT:     %[[A22:.*]] = aot.tile_load %x[%[[BELOW]], %{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 4 : i64}
// LOOPS-NEXT:     %[[FIRST:.*]] = arith.addf %[[A11]], %[[A22]]
// LOOPS-NEXT:     aot.tile_store %[[FIRST]], %s[%{{.*}}, %[[ROW]], %{{.*}}] {strides = array<i64: 0, 0, 1>}
// LOOPS-COUNT-6:  aot.tile_store %{{.*}}, %s
// LOOPS-NEXT:   }
// LOOPS-NEXT:   aot.tile_load %x
// LOOPS-NEXT:   aot.tile_load %x
// LOOPS-COUNT-7:  aot.tile_store %{{.*}}, %s
// LOOPS-NEXT:   scf.for %[[PRODUCT:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:     %[[NEXT:.*]] = arith.addi %[[PRODUCT]], %{{.*}}
// LOOPS-NEXT:     aot.prefetch %w[%{{.*}}, %[[NEXT]], %{{.*}}, %{{.*}}]
// LOOPS-NEXT:     aot.tile_load %s[%[[PRODUCT]], %{{.*}}] {strides = array<i64: 16, 0, 0>} : memref<7x3x16xf32> -> vector<3x1x8xf32>
// LOOPS-NEXT:     aot.tile_load %w[%{{.*}}, %[[PRODUCT]], %{{.*}}] {strides = array<i64: 0, 0, 1>}
// LOOPS-NEXT:     math.fma
// LOOPS:          aot.tile_store %{{.*}}, %p[%[[PRODUCT]], %{{.*}}] {strides = array<i64: 8, 0, 1>} : vector<3x1x8xf32>
// LOOPS-NEXT:   }
// LOOPS-COUNT-4:  aot.tile_load %p[%{{.*}}] {strides = array<i64: 8, 0, 1>} : memref<7x3x8xf32> -> vector<2x1x8xf32>
// LOOPS:        %[[C11:.*]] = arith.subf
// LOOPS-NEXT:   aot.tile_compare "olt" %[[C11]]
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 13, 0, 1>} : vector<2x1x8xf32>
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 13, 0, 1>, valid = 5 : i64} : vector<2x1x8xf32>
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 13, 0, 1>} : vector<2x1x8xf32>
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 13, 0, 1>, valid = 5 : i64} : vector<2x1x8xf32>
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 0, 0, 1>} : vector<1x1x8xf32>
// LOOPS:        aot.tile_store %{{.*}}, %out[%{{.*}}] {strides = array<i64: 0, 0, 1>, valid = 5 : i64} : vector<1x1x8xf32>
// LOOPS-NEXT:   func.return
func.func private @product(%x: memref<5x9xf32>, %w: memref<1x7x5x8xf32>, %out: memref<5x13xf32>, %s: memref<7x3x16xf32>, %p: memref<7x3x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x9xf32> to tensor<5x9xf32>
  %1 = bufferization.to_tensor %w : memref<1x7x5x8xf32> to tensor<1x7x5x8xf32>
  %2, %3, %4 = graph.strassen_matmul %0, %1 {columns = 13 : i64, left = 8 : i64, block_rows = 6 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 3, nr = 1, unroll = 2, order = columns, prefetch>} : (tensor<5x9xf32>, tensor<1x7x5x8xf32>) -> (tensor<5x13xf32>, tensor<7x3x16xf32>, tensor<7x3x8xf32>)
  %5 = graph.relu %2 : (tensor<5x13xf32>) -> tensor<5x13xf32>
  bufferization.materialize_in_destination %5 in writable %out : (tensor<5x13xf32>, memref<5x13xf32>) -> ()
  bufferization.materialize_in_destination %3 in writable %s : (tensor<7x3x16xf32>, memref<7x3x16xf32>) -> ()
  bufferization.materialize_in_destination %4 in writable %p : (tensor<7x3x8xf32>, memref<7x3x8xf32>) -> ()
  func.return
}
