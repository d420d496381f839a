// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.000000e+00, -5.000000e-01>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, missing = array<i64: 1>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
// CHECK-NEXT: graph.gather_sum %t, %i : (tensor<4x3xf32>, tensor<5x2xui8>) -> tensor<5x3xf32>
func.func @forms(%x: tensor<5x3xf32>, %t: tensor<4x3xf32>, %i: tensor<5x2xui8>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, missing = array<i64: 1>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  %1 = graph.gather_sum %t, %i : (tensor<4x3xf32>, tensor<5x2xui8>) -> tensor<5x3xf32>
  func.return
}

// A tree is found by its number, of which compilers know nothing. Node 1 sends NaN to its first child; the second tree
// is a leaf.
// LOOPS-LABEL: func.func private @walk
// LOOPS:      scf.for %[[ROW:.*]] =
// LOOPS-NEXT:   scf.for %[[TREE:.*]] =
// LOOPS-NEXT:     %[[NUMBER:.*]] = aot.opaque %[[TREE]]
// LOOPS-NEXT:     %[[LOWER:.*]] = arith.cmpi slt, %[[NUMBER]],
// LOOPS-NEXT:     scf.if %[[LOWER]]
// LOOPS-NEXT:       %[[A:.*]] = memref.load %x[%[[ROW]],
// LOOPS-NEXT:       %[[FIRST:.*]] = arith.cmpf ole, %[[A]]
// LOOPS-NEXT:       scf.if %[[FIRST]]
// LOOPS-NEXT:         %[[B:.*]] = memref.load %x[%[[ROW]],
// LOOPS-NEXT:         %[[C:.*]] = arith.cmpf ole, %[[B]]
// LOOPS-NEXT:         %[[D:.*]] = arith.cmpf une, %[[B]], %[[B]]
// LOOPS-NEXT:         arith.ori %[[C]], %[[D]]
// LOOPS:            aot.opaque
// LOOPS:          } else {
// LOOPS:            aot.opaque
// LOOPS:          memref.store %{{.*}}, %out[%[[ROW]], %[[TREE]]]
func.func private @walk(%x: memref<5x3xf32>, %out: memref<5x2xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x3xf32> to tensor<5x3xf32>
  %1 = graph.branching_trees %0 {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, missing = array<i64: 1>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  bufferization.materialize_in_destination %1 in %out : (tensor<5x2xui8>, memref<5x2xui8>) -> ()
  func.return
}

// A row of the table is found once for its three elements. An unsigned index needs no more than an upper limit.
// LOOPS-LABEL: func.func private @sum
// LOOPS:      scf.for
// LOOPS:        scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// LOOPS:          memref.load %i[
// LOOPS:          %[[AT:.*]] = arith.minsi
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS-NOT:      memref.load
// LOOPS:          scf.yield
func.func private @sum(%t: memref<4x3xf32>, %i: memref<5x2xui8>, %out: memref<5x3xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %t : memref<4x3xf32> to tensor<4x3xf32>
  %1 = bufferization.to_tensor %i : memref<5x2xui8> to tensor<5x2xui8>
  %2 = graph.gather_sum %0, %1 : (tensor<4x3xf32>, tensor<5x2xui8>) -> tensor<5x3xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<5x3xf32>, memref<5x3xf32>) -> ()
  func.return
}

// A table of more rows than the index can count needs no limit.
// LOOPS-LABEL: func.func private @unlimited
// LOOPS:      memref.load %i[
// LOOPS-NOT:  arith.minsi
// LOOPS:      memref.load %t[
func.func private @unlimited(%t: memref<256x1xf32>, %i: memref<5x2xui8>, %out: memref<5x1xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %t : memref<256x1xf32> to tensor<256x1xf32>
  %1 = bufferization.to_tensor %i : memref<5x2xui8> to tensor<5x2xui8>
  %2 = graph.gather_sum %0, %1 : (tensor<256x1xf32>, tensor<5x2xui8>) -> tensor<5x1xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<5x1xf32>, memref<5x1xf32>) -> ()
  func.return
}

// Votes: each of a leaf's, over all of them times the divisor.
// LOOPS-LABEL: func.func private @votes
// LOOPS:          %[[AT:.*]] = arith.minsi
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          arith.addi
// LOOPS:          arith.addi
// LOOPS:          arith.muli
// LOOPS:          %[[ALL:.*]] = arith.sitofp
// LOOPS:          arith.divf %{{.*}}, %[[ALL]]
// LOOPS:          arith.divf %{{.*}}, %[[ALL]]
// LOOPS-NOT:      arith.divf
// LOOPS:          scf.yield
func.func private @votes(%t: memref<4x3xui8>, %i: memref<5x2xui8>, %out: memref<5x2xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %t : memref<4x3xui8> to tensor<4x3xui8>
  %1 = bufferization.to_tensor %i : memref<5x2xui8> to tensor<5x2xui8>
  %2 = graph.vote_sum %0, %1 {targets = 2 : i64, divisor = 2 : i64} : (tensor<4x3xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<5x2xf32>, memref<5x2xf32>) -> ()
  func.return
}

// Rows from `wide` on have bytes above theirs in the next one.
// LOOPS-LABEL: func.func private @wide_votes
// LOOPS:          %[[AT:.*]] = arith.minsi
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          %[[LOW:.*]] = arith.extui {{.*}} : i8 to i32
// LOOPS:          memref.load %t[%[[AT]],
// LOOPS:          %[[WIDE:.*]] = arith.cmpi sge, %[[AT]]
// LOOPS:          scf.if %[[WIDE]]
// LOOPS:            %[[NEXT:.*]] = arith.addi %[[AT]]
// LOOPS:            memref.load %t[%[[NEXT]],
// LOOPS:            %[[HIGH:.*]] = arith.muli
// LOOPS-NEXT:       arith.addi %[[LOW]], %[[HIGH]]
func.func private @wide_votes(%t: memref<4x2xui8>, %i: memref<5x2xui8>, %out: memref<5x2xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %t : memref<4x2xui8> to tensor<4x2xui8>
  %1 = bufferization.to_tensor %i : memref<5x2xui8> to tensor<5x2xui8>
  %2 = graph.vote_sum %0, %1 {targets = 2 : i64, divisor = 2 : i64, wide = 2 : i64} : (tensor<4x2xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<5x2xf32>, memref<5x2xf32>) -> ()
  func.return
}

// Leaves of trees exist, if the table has as many rows: their numbers are indices.
// LOOPS-LABEL: func.func private @leaves
// LOOPS:      scf.while
// LOOPS:      %[[LEAF:.*]] = arith.subi
// LOOPS-NEXT: memref.load %t[%[[LEAF]],
func.func private @leaves(%x: memref<1x8xf32>, %f: memref<3xui8>, %h: memref<3xf32>, %c: memref<3x2xui8>, %r: memref<2xui8>, %t: memref<4x2xf32>, %out: memref<1x2xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8xf32> to tensor<1x8xf32>
  %1 = bufferization.to_tensor %f : memref<3xui8> to tensor<3xui8>
  %2 = bufferization.to_tensor %h : memref<3xf32> to tensor<3xf32>
  %3 = bufferization.to_tensor %c : memref<3x2xui8> to tensor<3x2xui8>
  %4 = bufferization.to_tensor %r : memref<2xui8> to tensor<2xui8>
  %5 = bufferization.to_tensor %t : memref<4x2xf32> to tensor<4x2xf32>
  %6 = graph.tree_leaves %0, %1, %2, %3, %4 {depth = 2 : i64, leaves = 4 : i64} : (tensor<1x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<1x2xui8>
  %7 = graph.gather_sum %5, %6 : (tensor<4x2xf32>, tensor<1x2xui8>) -> tensor<1x2xf32>
  bufferization.materialize_in_destination %7 in %out : (tensor<1x2xf32>, memref<1x2xf32>) -> ()
  func.return
}

// LOOPS-LABEL: func.func private @more_leaves
// LOOPS:      scf.while
// LOOPS:      %[[LEAF:.*]] = arith.minsi
// LOOPS:      memref.load %t[%[[LEAF]],
func.func private @more_leaves(%x: memref<1x8xf32>, %f: memref<3xui8>, %h: memref<3xf32>, %c: memref<3x2xui8>, %r: memref<2xui8>, %t: memref<3x2xf32>, %out: memref<1x2xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x8xf32> to tensor<1x8xf32>
  %1 = bufferization.to_tensor %f : memref<3xui8> to tensor<3xui8>
  %2 = bufferization.to_tensor %h : memref<3xf32> to tensor<3xf32>
  %3 = bufferization.to_tensor %c : memref<3x2xui8> to tensor<3x2xui8>
  %4 = bufferization.to_tensor %r : memref<2xui8> to tensor<2xui8>
  %5 = bufferization.to_tensor %t : memref<3x2xf32> to tensor<3x2xf32>
  %6 = graph.tree_leaves %0, %1, %2, %3, %4 {depth = 2 : i64, leaves = 4 : i64} : (tensor<1x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<1x2xui8>
  %7 = graph.gather_sum %5, %6 : (tensor<3x2xf32>, tensor<1x2xui8>) -> tensor<1x2xf32>
  bufferization.materialize_in_destination %7 in %out : (tensor<1x2xf32>, memref<1x2xf32>) -> ()
  func.return
}
