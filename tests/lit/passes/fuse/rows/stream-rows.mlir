// RUN: aotc-opt %s --split-input-file -p 'stream-rows' | filecheck %s
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},stream-rows,choose-rolls{ram=65536}' | filecheck %s
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},stream-rows,choose-rolls{ram=65536}' | filecheck %s --check-prefix CHOSEN
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},stream-rows,choose-rolls' | filecheck %s --check-prefix LEAST

// Rows that a window reads again are copied. The copies and what reads them roll, as the budget allows or not; what is
// behind an anchor need not, and what depends on neither comes first.

// With as little RAM as there can be all of them roll.

// LEAST-COUNT-3: roll = 1 : i64

// CHECK-LABEL: func.func @copied
// CHECK:         [[F:%.*]] = graph.reshape %x {shape = array<i64: 10, 32>} : (tensor<1x1x10x8x4xi8>) -> tensor<10x32xi8>
// CHECK:         [[O:%.*]] = graph.fused ({{%.*}} = %y : tensor<4xi8>) -> (tensor<4xi8>) {
// CHECK:         [[C:%.*]] = graph.fused ({{%.*}} = [[F]] : tensor<10x32xi8>) -> (tensor<10x32xi8>) attributes {streamed
// CHECK:           graph.copy
// CHECK:         [[W:%.*]] = graph.reshape [[C]] {shape = array<i64: 1, 1, 10, 8, 4>}
// CHECK:         [[P:%.*]] = graph.fused ({{%.*}} = [[W]] : tensor<1x1x10x8x4xi8>) -> (tensor<1x1x8x8x4xi8>) attributes {streamed
// CHECK:         graph.fused ({{%.*}} = [[P]] : tensor<1x1x8x8x4xi8>, {{%.*}} = [[O]] : tensor<4xi8>) -> (tensor<1x1x8x8x4xi8>) {
func.func @copied(%x: tensor<1x1x10x8x4xi8> {aot.name = "x", aot.rows = 2 : i64}, %y: tensor<4xi8>) -> tensor<1x1x8x8x4xi8> attributes {aot.entry} {
  %1 = graph.neg %y : (tensor<4xi8>) -> tensor<4xi8>
  %0 = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x8x8x4xi8>
  %2 = graph.add %0, %1 : (tensor<1x1x8x8x4xi8>, tensor<4xi8>) -> tensor<1x1x8x8x4xi8>
  func.return %2 : tensor<1x1x8x8x4xi8>
}

// -----

// What one group reads row by row is read where it is. Without an anchor its result is as large as the input: its
// readers, and what is between, go on with the rows, too.

// CHOSEN-LABEL: func.func @read_in_place
// CHOSEN-COUNT-6: streamed, roll = 0 : i64
// CHOSEN:        func.return
// CHECK-LABEL: func.func @read_in_place
// CHECK-NOT:     graph.copy
// CHECK-COUNT-6: streamed
// CHECK-NOT:     streamed
func.func @read_in_place(%x: tensor<1x1x10x8x4xi8> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<1x1x10x8x4xi8> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %2 = graph.max_pool %1 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %3 = graph.add %0, %2 : (tensor<1x1x10x8x4xi8>, tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %4 = graph.abs %3 : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %5 = graph.max_pool %4 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  func.return %5 : tensor<1x1x10x8x4xi8>
}

// -----

// A view of some rows, and a join, go on with the rows, too; what a join reads elsewhere is whole. The input is read
// through two views: its rows are copied.

// CHECK-LABEL: func.func @some_joined
// CHECK:         graph.fused {{.*}} attributes {streamed
// CHECK:           graph.copy
// CHECK:         graph.slice
// CHECK:         graph.concat {{.*}} {axis = 1 : i64, in_place = true, streamed
// CHECK:         graph.fused {{.*}} attributes {streamed
// CHECK:           graph.max_pool
func.func @some_joined(%x: tensor<1x10x8x4xi8> {aot.name = "x", aot.rows = 2 : i64}, %y: tensor<1x2x8x4xi8>) -> tensor<1x1x9x8x4xi8> attributes {aot.entry} {
  %0 = graph.slice %x {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 9, 8, 4>} : (tensor<1x10x8x4xi8>) -> tensor<1x9x8x4xi8>
  %1 = graph.concat %y, %0 {axis = 1 : i64, in_place = true} : (tensor<1x2x8x4xi8>, tensor<1x9x8x4xi8>) -> tensor<1x11x8x4xi8>
  %2 = graph.reshape %1 {shape = array<i64: 1, 1, 11, 8, 4>} : (tensor<1x11x8x4xi8>) -> tensor<1x1x11x8x4xi8>
  %3 = graph.max_pool %2 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x11x8x4xi8>) -> tensor<1x1x9x8x4xi8>
  func.return %3 : tensor<1x1x9x8x4xi8>
}

// CHECK-LABEL: func.func @two_views
// CHECK:         graph.copy
// CHECK:         graph.add
func.func @two_views(%x: tensor<1x10x4xi8> {aot.name = "x", aot.rows = 2 : i64}) -> tensor<10x4xi8> attributes {aot.entry} {
  %0 = graph.reshape %x {shape = array<i64: 10, 4>} : (tensor<1x10x4xi8>) -> tensor<10x4xi8>
  %1 = graph.reshape %x {shape = array<i64: 5, 2, 4>} : (tensor<1x10x4xi8>) -> tensor<5x2x4xi8>
  %2 = graph.reshape %1 {shape = array<i64: 10, 4>} : (tensor<5x2x4xi8>) -> tensor<10x4xi8>
  %3 = graph.add %0, %2 : (tensor<10x4xi8>, tensor<10x4xi8>) -> tensor<10x4xi8>
  func.return %3 : tensor<10x4xi8>
}
