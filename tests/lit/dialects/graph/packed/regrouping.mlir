// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-sse4},choose-schedule' | filecheck %s --check-prefix=SCHEDULE
// RUN: aotc-opt %s -p 'attach-target{target=test-sse4},choose-schedule,convert-graph-to-loops' | filecheck %s --check-prefix=TILES
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// Two blocks are zipped with the next two: what is read for the first two of them repeats for the second.
// CHECK-LABEL: func.func private @zipped
// CHECK: graph.regroup_channels %{{.*}} {sources = array<i64: 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15>} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
// SCHEDULE: graph.regroup_channels {{.*}}schedule = #graph.elementwise_schedule<lanes = 4, registers = 4>
// TILES-LABEL: func.func private @zipped
// TILES:      scf.parallel
// TILES-NEXT: ^{{.*}}(%[[TIME:.*]]: index):
// TILES-NEXT:   %[[SECOND:.*]] = arith.addi %[[TIME]], %{{.*}} : index
// TILES-NEXT:   %[[BLOCK:.*]] = arith.muli %[[TIME]], %{{.*}} : index
// TILES-NEXT:   %[[A:.*]] = aot.tile_load %x[%{{.*}}, %[[TIME]], %{{.*}}, %{{.*}}] {strides = array<i64: 4, 1>} : memref<1x4x6x4xf32> -> vector<4x4xf32>
// TILES-NEXT:   %[[B:.*]] = aot.tile_load %x[%{{.*}}, %[[SECOND]], %{{.*}}, %{{.*}}] {strides = array<i64: 4, 1>} : memref<1x4x6x4xf32> -> vector<4x4xf32>
// TILES-NEXT:   %[[BOTH:.*]] = aot.tile_shuffle %[[A]], %[[B]] {lanes = array<i64: 0, 4, 1, 5>} : vector<4x4xf32>
// TILES-NEXT:   aot.tile_store %[[BOTH]], %y[%{{.*}}, %[[BLOCK]], %{{.*}}, %{{.*}}] {strides = array<i64: 4, 1>}
// TILES:        aot.tile_shuffle %{{.*}}, %{{.*}} {lanes = array<i64: 2, 6, 3, 7>} : vector<4x4xf32>
// TILES:        aot.tile_store
// TILES:        vector<2x4xf32>
// TILES-NOT:    vector<4x4xf32>
// TILES:      func.return
func.func private @zipped(%x: memref<1x4x6x4xf32>, %y: memref<1x4x6x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x4x6x4xf32> to tensor<1x4x6x4xf32>
  %1 = graph.regroup_channels %0 {sources = array<i64: 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15>} : (tensor<1x4x6x4xf32>) -> tensor<1x4x6x4xf32>
  bufferization.materialize_in_destination %1 in %y : (tensor<1x4x6x4xf32>, memref<1x4x6x4xf32>) -> ()
  func.return
}

// Of two parts: a loop for each run of lanes, zeros where there is nothing.
// LOOPS-LABEL: func.func private @parts
// LOOPS:      scf.parallel
// LOOPS:        memref.load %a
// LOOPS:        memref.store %{{.*}}, %y
// LOOPS:      scf.parallel
// LOOPS:        memref.load %b
// LOOPS:        memref.store %{{.*}}, %y
// LOOPS:      scf.parallel
// LOOPS-NOT:    memref.load
// LOOPS:        memref.store %{{.*}}, %y
func.func private @parts(%a: memref<1x1x5x4xf32>, %b: memref<1x1x5x4xf32>, %y: memref<1x2x5x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %a : memref<1x1x5x4xf32> to tensor<1x1x5x4xf32>
  %1 = bufferization.to_tensor %b : memref<1x1x5x4xf32> to tensor<1x1x5x4xf32>
  %2 = graph.regroup_channels %0, %1 {sources = array<i64: 0, 1, 2, 4, 5, 6, -1, -1>} : (tensor<1x1x5x4xf32>, tensor<1x1x5x4xf32>) -> tensor<1x2x5x4xf32>
  bufferization.materialize_in_destination %2 in %y : (tensor<1x2x5x4xf32>, memref<1x2x5x4xf32>) -> ()
  func.return
}
