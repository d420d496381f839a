// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops,serialize-parallel-loops,simplify-functions | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
// CHECK-NEXT: graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 4 : i64}
// CHECK-NEXT: %[[P:.*]] = graph.pack_trees %f, %t, %c, %m {features = 8 : i64, leaves = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<3xi1>) -> tensor<7x4xi32>
// CHECK-NEXT: graph.packed_tree_leaves %x, %[[P]], %r {depth = 2 : i64, inner = 3 : i64, missing = true} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x16xi32>)
// CHECK-NEXT: graph.packed_tree_leaves %x, %[[P]], %r {depth = 2 : i64, inner = 3 : i64} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
// CHECK-NEXT: graph.probability_coupling %p : (tensor<5x6xf32>) -> tensor<5x4xf32>
func.func @forms(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>, %m: tensor<3xi1>, %p: tensor<5x6xf32>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  %1 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>, tensor<3xi1>) -> tensor<5x2xui8>
  %2 = graph.pack_trees %f, %t, %c, %m {features = 8 : i64, leaves = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<3xi1>) -> tensor<7x4xi32>
  %3, %4 = graph.packed_tree_leaves %x, %2, %r {depth = 2 : i64, inner = 3 : i64, missing = true} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x16xi32>)
  %5, %6 = graph.packed_tree_leaves %x, %2, %r {depth = 2 : i64, inner = 3 : i64} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
  %7 = graph.probability_coupling %p : (tensor<5x6xf32>) -> tensor<5x4xf32>
  func.return
}

// A walk ends at a leaf. Leaves are counted from the first one.
// LOOPS-LABEL: func.func private @walk
// LOOPS:      scf.for
// LOOPS:        scf.for
// LOOPS:          memref.load %r[
// LOOPS:          %[[LEAF:.*]] = scf.while (%[[NODE:.*]] =
// LOOPS-NEXT:       %[[INSIDE:.*]] = arith.cmpi slt, %[[NODE]]
// LOOPS-NEXT:       scf.condition(%[[INSIDE]]) %[[NODE]]
// LOOPS:          ^{{.*}}(%[[AT:.*]]: index)
// LOOPS-NEXT:       memref.load %f[%[[AT]]]
// LOOPS:            arith.cmpf ole
// LOOPS:            memref.load %c[%[[AT]],
// LOOPS:            scf.yield
// LOOPS:          arith.subi %[[LEAF]]
// LOOPS:          memref.store %{{.*}}, %out[
func.func private @walk(%x: memref<5x8xf32>, %f: memref<3xui8>, %t: memref<3xf32>, %c: memref<3x2xui8>, %r: memref<2xui8>, %out: memref<5x2xui8>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x8xf32> to tensor<5x8xf32>
  %1 = bufferization.to_tensor %f : memref<3xui8> to tensor<3xui8>
  %2 = bufferization.to_tensor %t : memref<3xf32> to tensor<3xf32>
  %3 = bufferization.to_tensor %c : memref<3x2xui8> to tensor<3x2xui8>
  %4 = bufferization.to_tensor %r : memref<2xui8> to tensor<2xui8>
  %5 = graph.tree_leaves %0, %1, %2, %3, %4 {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  bufferization.materialize_in_destination %5 in %out : (tensor<5x2xui8>, memref<5x2xui8>) -> ()
  func.return
}

// Packed: the keys of a block of rows, then pairs of trees walk down together, then the tree that remains.
// LOOPS-LABEL: func.func private @packed
// LOOPS:      memref.store %{{.*}}, %keys[
// LOOPS:      memref.load %r[
// LOOPS:      memref.load %r[
// LOOPS:      scf.for {{.*}} iter_args(%[[A:.*]] = {{.*}}, %[[B:.*]] =
// LOOPS-NEXT:   arith.minsi %[[A]], %[[B]] : index
// LOOPS-NEXT:   arith.cmpi slt
// LOOPS-NEXT:   scf.if
// LOOPS-NEXT:     memref.load %n[%[[A]],
// LOOPS:          memref.load %keys[
// LOOPS:          arith.cmpi sle
// LOOPS:          memref.load %n[%[[B]],
// LOOPS:      memref.load %r[
// LOOPS:      func.return
func.func private @packed(%x: memref<5x8xf32>, %n: memref<7x4xi32>, %r: memref<3xui8>, %out: memref<5x3xui8>, %keys: memref<5x8xi32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<5x8xf32> to tensor<5x8xf32>
  %1 = bufferization.to_tensor %n : memref<7x4xi32> to tensor<7x4xi32>
  %2 = bufferization.to_tensor %r : memref<3xui8> to tensor<3xui8>
  %3, %4 = graph.packed_tree_leaves %0, %1, %2 {depth = 4 : i64, inner = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 4, trees = 2, steps = 2>} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<3xui8>) -> (tensor<5x3xui8>, tensor<5x8xi32>)
  bufferization.materialize_in_destination %3 in %out : (tensor<5x3xui8>, memref<5x3xui8>) -> ()
  bufferization.materialize_in_destination %4 in %keys : (tensor<5x8xi32>, memref<5x8xi32>) -> ()
  func.return
}
