// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule' | filecheck %s --check-prefix=SCHEDULE
// RUN: aotc-opt %s -p 'attach-target{target=test-vnni},choose-schedule,convert-graph-to-loops' | filecheck %s --check-prefix=TILES
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// At a border, two positions before and one behind, each tap is looked at; 7 taps between are 4, 2 and 1.
// SCHEDULE-LABEL: func.func private @padded
// SCHEDULE: graph.unfold_taps {{.*}}schedule = #graph.elementwise_schedule<lanes = 4, registers = 1>
// TILES-LABEL: func.func private @padded
// TILES-DAG:  %[[NONE:.*]] = arith.constant 0 : index
// TILES-DAG:  %[[BEGIN:.*]] = arith.constant 2 : index
// TILES-DAG:  %[[END:.*]] = arith.constant 7 : index
// TILES-DAG:  %[[STEP:.*]] = arith.constant 1 : index
// TILES-DAG:  %[[FILL:.*]] = arith.constant 9 : i8
// TILES:      "scf.parallel"(%[[NONE]], %{{.*}}, %[[STEP]])
// TILES-NEXT: ^{{.*}}(%[[ROW:.*]]: index):
// TILES-NEXT:   "scf.parallel"(%[[NONE]], %[[BEGIN]], %[[STEP]])
// TILES-NOT:      aot.tile_load
// TILES:          scf.if
// TILES:          scf.reduce
// TILES:        "scf.parallel"(%[[BEGIN]], %[[END]], %[[STEP]])
// TILES-NEXT:   ^{{.*}}(%[[AT:.*]]: index):
// TILES-NOT:      scf.if
// TILES:          %[[FOUR:.*]] = aot.tile_load %x[%[[NONE]], %[[NONE]], %[[ROW]], %{{.*}}] {strides = array<i64: 1>} : memref<1x2x5x16xi8> -> vector<4xi8>
// TILES-NEXT:     aot.tile_store %[[FOUR]], %y[%[[NONE]], %[[NONE]], %[[ROW]], %[[AT]], %[[NONE]]]
// TILES:          aot.tile_load {{.*}} -> vector<2xi8>
// TILES-NEXT:     aot.tile_store
// TILES:          memref.load
// TILES-NEXT:     memref.store
// TILES:          aot.tile_load %x[%[[NONE]], %[[STEP]], %[[ROW]], %{{.*}}] {{.*}} -> vector<4xi8>
// TILES:          memref.store %[[FILL]], %y[%[[NONE]], %[[NONE]], %[[ROW]], %[[AT]], %{{.*}}]
// TILES-NEXT:     memref.store %[[FILL]], %y[%[[NONE]], %[[NONE]], %[[ROW]], %[[AT]], %{{.*}}]
// TILES-NEXT:     scf.reduce
// TILES-NOT:    aot.tile_load
// TILES:        scf.if
// TILES:      func.return
// LOOPS-LABEL: func.func private @padded
// LOOPS-NOT:  aot.tile_load
// LOOPS:      func.return
func.func private @padded(%x: memref<1x2x5x16xui8>, %y: memref<1x1x5x8x16xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x2x5x16xui8> to tensor<1x2x5x16xui8>
  %1 = graph.unfold_taps %0 {size = 7 : i64, stride = 2 : i64, before = 3 : i64, after = 2 : i64, fill = 9 : i64} : (tensor<1x2x5x16xui8>) -> tensor<1x1x5x8x16xui8>
  bufferization.materialize_in_destination %1 in %y : (tensor<1x1x5x8x16xui8>, memref<1x1x5x8x16xui8>) -> ()
  func.return
}

// No register has more lanes than a vector, no position is at a border, and of one row positions are divided.
// SCHEDULE: graph.unfold_taps {{.*}}schedule = #graph.elementwise_schedule<lanes = 64, registers = 1>
// TILES-LABEL: func.func private @wide
// TILES:      scf.parallel
// TILES-NOT:  scf.if
// TILES:      -> vector<64xi8>
// TILES:      -> vector<64xi8>
// TILES:      -> vector<4xi8>
// TILES:      func.return
func.func private @wide(%x: memref<1x1x200xui8>, %y: memref<1x1x69x132xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x200xui8> to tensor<1x1x200xui8>
  %1 = graph.unfold_taps %0 {size = 132 : i64, stride = 1 : i64, before = 0 : i64, after = 0 : i64, fill = 9 : i64} : (tensor<1x1x200xui8>) -> tensor<1x1x69x132xui8>
  bufferization.materialize_in_destination %1 in %y : (tensor<1x1x69x132xui8>, memref<1x1x69x132xui8>) -> ()
  func.return
}

// No position sees all taps.
// TILES-LABEL: func.func private @never_whole
// TILES-NOT:  aot.tile_load
// TILES:      func.return
func.func private @never_whole(%x: memref<1x1x3xui8>, %y: memref<1x1x3x8xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x3xui8> to tensor<1x1x3xui8>
  %1 = graph.unfold_taps %0 {size = 5 : i64, stride = 1 : i64, before = 2 : i64, after = 2 : i64, fill = 9 : i64} : (tensor<1x1x3xui8>) -> tensor<1x1x3x8xui8>
  bufferization.materialize_in_destination %1 in %y : (tensor<1x1x3x8xui8>, memref<1x1x3x8xui8>) -> ()
  func.return
}
