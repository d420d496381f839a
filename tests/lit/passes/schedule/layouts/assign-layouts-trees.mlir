// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts,fold-constants' | filecheck %s --check-prefix=FOLD

// Constant tables of f32 are packed: feature, key of the threshold, children; node 1 sends NaN to its first child, so
// that it reads the second copy of feature 1. -0.5 is below 0 as an integer, too. Leaves lead to themselves.
// CHECK-LABEL: func.func @main
// CHECK:      %[[P:.*]] = graph.pack_trees %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {features = 3 : i64, leaves = 3 : i64}
// CHECK-NEXT: graph.packed_tree_leaves %x, %[[P]], %{{.*}} {depth = 2 : i64, inner = 2 : i64, missing = true}
// FOLD-LABEL: func.func @main
// FOLD: graph.constant dense<{{\[\[}}2, 1065353216, 1, 2], [4, -1056964609, 3, 4], [0, 0, 2, 2], [0, 0, 3, 3], [0, 0, 4, 4]]> : tensor<5x4xi32>
func.func @main(%x: tensor<5x3xf32>) -> tensor<5x1xui8> attributes {aot.entry} {
  %f = graph.constant dense<[2, 1]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %c = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %r = graph.constant dense<0> : tensor<1xui8>
  %m = graph.constant dense<[false, true]> : tensor<2xi1>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>, tensor<2xi1>) -> tensor<5x1xui8>
  func.return %0 : tensor<5x1xui8>
}

// Tables that are known only at run time stay, and those that the schedule has not packed.
// CHECK-LABEL: func.func @kept
// CHECK:      graph.tree_leaves %x, %f
// CHECK-NEXT: graph.tree_leaves %x, %g
// CHECK-NEXT: func.return
func.func @kept(%x: tensor<5x3xf32>, %f: tensor<2xui8>) attributes {aot.entry} {
  %g = graph.constant dense<[2, 1]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %c = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %r = graph.constant dense<0> : tensor<1xui8>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, packed>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %1 = graph.tree_leaves %x, %g, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  func.return
}

// With masks the trees lie side by side, as many as the schedule has lanes; they need their roots.
// CHECK-LABEL: func.func @masks
// CHECK:      %[[P:.*]] = graph.pack_tree_masks %f, %t, %c, %{{[a-z0-9_]*}} {features = 3 : i64, nodes = 2 : i64, lanes = 4 : i64}
// CHECK-NEXT: graph.masked_tree_leaves %x, %[[P]] {trees = 1 : i64, to = ui8}
// CHECK-NEXT: graph.pack_trees
func.func @masks(%x: tensor<5x3xf32>, %q: tensor<1xui8>) attributes {aot.entry} {
  %f = graph.constant dense<[2, 1]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %c = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %r = graph.constant dense<0> : tensor<1xui8>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, most = 2 : i64, schedule = #graph.tree_schedule<lanes = 4, rows = 1, trees = 1, steps = 1, packed, masks>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %1 = graph.tree_leaves %x, %f, %t, %c, %q {depth = 2 : i64, leaves = 3 : i64, most = 2 : i64, schedule = #graph.tree_schedule<lanes = 4, rows = 1, trees = 1, steps = 1, packed, masks>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  func.return
}
