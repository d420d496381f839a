// RUN: aotc-opt %s -p convert-graph-to-loops,canonicalize,cse | filecheck %s

// Two rows together, each three registers long and loaded once; the last register is not full.
// CHECK-LABEL: func.func private @softmax
func.func private @softmax(%x: memref<6x40xf32>, %y: memref<6x40xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x40xf32> to tensor<6x40xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>, log = false, schedule = #graph.row_schedule<lanes = 16, registers = 3, steps = 1, rows = 2, stages = 1>} : (tensor<6x40xf32>) -> tensor<6x40xf32>
  bufferization.materialize_in_destination %1 in %y : (tensor<6x40xf32>, memref<6x40xf32>) -> ()
  func.return
}
// CHECK:      scf.parallel
// CHECK:      %[[X:.*]] = aot.tile_load %x[%{{.*}}, %{{.*}}] {strides = array<i64: 40, 16, 1>, valid = 40 : i64} : memref<6x40xf32> -> vector<2x3x16xf32>
// CHECK:      %[[LAST:.*]] = aot.tile_slice %[[X]] {offsets = array<i64: 0, 2>, sizes = array<i64: 2, 1>}
// CHECK:      %[[MASKED:.*]] = aot.tile_select %{{.*}}, %[[LAST]], %{{.*}} : vector<2x1x16xi1>, vector<2x1x16xf32>
// CHECK:      %[[ROW:.*]] = aot.tile_insert %[[MASKED]], %[[X]] {offsets = array<i64: 0, 2>}
// CHECK-COUNT-2: aot.tile_reduce "ogt"
// CHECK:      %[[TOP:.*]] = vector.broadcast %{{.*}} : vector<2x1x16xf32> to vector<2x3x16xf32>
// CHECK:      %[[SHIFTED:.*]] = arith.subf %[[ROW]], %[[TOP]]
// CHECK:      %[[E:.*]] = math.exp %[[SHIFTED]] {aot.nonpositive} : vector<2x3x16xf32>
// CHECK-COUNT-2: aot.tile_reduce "add"
// CHECK-NOT:  math.exp
// CHECK-NOT:  aot.tile_load
// CHECK:      %[[R:.*]] = arith.mulf %[[E]], %{{.*}} : vector<2x3x16xf32>
// CHECK:      aot.tile_store %[[R]], %y[%{{.*}}, %{{.*}}] {strides = array<i64: 40, 16, 1>, valid = 40 : i64}

// Three rows, each a step behind the one before: what one waits for comes after work on the others.
// CHECK-LABEL: func.func private @waves
func.func private @waves(%x: memref<6x32xf32>, %y: memref<6x32xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x32xf32> to tensor<6x32xf32>
  %1 = graph.softmax %0 {axes = array<i64: 1>, log = false, schedule = #graph.row_schedule<lanes = 16, registers = 2, steps = 1, rows = 1, stages = 3>} : (tensor<6x32xf32>) -> tensor<6x32xf32>
  bufferization.materialize_in_destination %1 in %y : (tensor<6x32xf32>, memref<6x32xf32>) -> ()
  func.return
}
// CHECK:      aot.tile_load
// CHECK:      %[[TOP0:.*]] = aot.tile_reduce "ogt"
// CHECK:      aot.tile_load
// CHECK:      %[[TOP1:.*]] = aot.tile_reduce "ogt"
// CHECK:      vector.broadcast %[[TOP0]]
// CHECK:      math.exp
// CHECK:      %[[SUM0:.*]] = aot.tile_reduce "add"
// CHECK:      %[[INVERSE0:.*]] = arith.divf %{{.*}}, %[[SUM0]]
// CHECK:      aot.tile_load
// CHECK:      %[[TOP2:.*]] = aot.tile_reduce "ogt"
// CHECK:      vector.broadcast %[[TOP1]]
// CHECK:      math.exp
// CHECK:      aot.tile_reduce "add"
// CHECK:      vector.broadcast %[[INVERSE0]]
// CHECK:      aot.tile_store
// CHECK:      vector.broadcast %[[TOP2]]
// CHECK-COUNT-2: aot.tile_store
// CHECK-NOT:  aot.tile_store
// CHECK:      func.return

// Lanes along an axis that is kept: nothing is reduced across them, and the seven columns are seven sums.
// CHECK-LABEL: func.func private @mean
func.func private @mean(%x: memref<4x5x7x16xf32>, %y: memref<4x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<4x5x7x16xf32> to tensor<4x5x7x16xf32>
  %1 = graph.reduce %0 {axes = array<i64: 1, 2>, kind = "mean", schedule = #graph.row_schedule<lanes = 16, registers = 1, steps = 7, rows = 1, stages = 1>} : (tensor<4x5x7x16xf32>) -> tensor<4x16xf32>
  bufferization.materialize_in_destination %1 in %y : (tensor<4x16xf32>, memref<4x16xf32>) -> ()
  func.return
}
// CHECK:      scf.parallel
// CHECK:      %[[SUM:.*]] = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[S:.*]] = %{{.*}}) -> (vector<7x1x16xf32>)
// CHECK-NEXT:   %[[C:.*]] = aot.tile_load %x[%{{.*}}, %[[I]], %{{.*}}, %{{.*}}] {strides = array<i64: 16, 0, 1>}
// CHECK-NEXT:   %[[N:.*]] = arith.addf %[[S]], %[[C]] : vector<7x1x16xf32>
// CHECK-NEXT:   scf.yield %[[N]]
// CHECK:      aot.tile_slice %[[SUM]] {offsets = array<i64: 4, 0>, sizes = array<i64: 3, 1>}
// CHECK-NOT:  aot.tile_reduce
// CHECK:      %[[M:.*]] = arith.divf %{{.*}}, %{{.*}} : vector<1x1x16xf32>
// CHECK:      aot.tile_store %[[M]], %y[%{{.*}}, %{{.*}}] {strides = array<i64: 0, 0, 1>}

// Elimination begins with the tile that holds the first column; what is before it in that tile is not read again.
// CHECK-LABEL: func.func private @determinant
// CHECK:      %[[WIDTH:.*]] = arith.constant 16 : index
// CHECK:      %{{.*}}, %{{.*}} = scf.for
// CHECK:      %[[NUMBER:.*]] = arith.divui %{{.*}}, %[[WIDTH]] : index
// CHECK-NEXT: %[[FIRST:.*]] = arith.muli %[[NUMBER]], %[[WIDTH]] : index
// CHECK-NEXT: scf.for %[[C:.*]] = %[[FIRST]] to %[[WIDTH]] step %[[WIDTH]] {
// CHECK-NEXT:   aot.tile_load %m[%{{.*}}, %[[C]]] {strides = array<i64: 0, 1>} : memref<20x20xf32> -> vector<1x16xf32>
// CHECK:      arith.divf %{{.*}}, %{{.*}} : f32
// CHECK:      arith.subf %{{.*}}, %{{.*}} : vector<1x16xf32>
// CHECK:      aot.tile_load %m[%{{.*}}, %{{.*}}] {strides = array<i64: 0, 1>, valid = 4 : i64} : memref<20x20xf32> -> vector<1x16xf32>
func.func private @determinant(%x: memref<20x20xf32>, %y: memref<f32>, %m: memref<20x20xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<20x20xf32> to tensor<20x20xf32>
  %1, %2 = graph.determinant %0 {schedule = #graph.elementwise_schedule<lanes = 16, registers = 1>} : (tensor<20x20xf32>) -> (tensor<f32>, tensor<20x20xf32>)
  bufferization.materialize_in_destination %1 in %y : (tensor<f32>, memref<f32>) -> ()
  bufferization.materialize_in_destination %2 in %m : (tensor<20x20xf32>, memref<20x20xf32>) -> ()
  func.return
}
