// RUN: aotc-opt %s -p branch-trees | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.000000e+00, -5.000000e-01>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0>, missing = array<i64: 1>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x1xui8>
// CHECK-NEXT: func.return
func.func @main(%x: tensor<5x3xf32>) -> tensor<5x1xui8> attributes {aot.entry} {
  %f = graph.constant dense<[2, 0]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %c = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %r = graph.constant dense<0> : tensor<1xui8>
  %m = graph.constant dense<[false, true]> : tensor<2xi1>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>, tensor<2xi1>) -> tensor<5x1xui8>
  func.return %0 : tensor<5x1xui8>
}

// Not: without the schedule, where a table is known at run time, where a threshold is no finite number, where a node is
// shared, comes before its parent, or is its own child.
// CHECK-LABEL: func.func @kept
// CHECK-NOT: graph.branching_trees
// CHECK: func.return
func.func @kept(%x: tensor<5x3xf32>, %g: tensor<2xui8>) attributes {aot.entry} {
  %f = graph.constant dense<[2, 0]> : tensor<2xui8>
  %t = graph.constant dense<[1.0, -0.5]> : tensor<2xf32>
  %i = graph.constant dense<"0x0000803F0000807F"> : tensor<2xf32>
  %c = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
  %s = graph.constant dense<[[1, 1], [3, 4]]> : tensor<2x2xui8>
  %u = graph.constant dense<[[3, 4], [0, 2]]> : tensor<2x2xui8>
  %r = graph.constant dense<0> : tensor<1xui8>
  %q = graph.constant dense<1> : tensor<1xui8>
  %v = graph.constant dense<[[0, 2], [3, 4]]> : tensor<2x2xui8>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %1 = graph.tree_leaves %x, %g, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %2 = graph.tree_leaves %x, %f, %i, %c, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %3 = graph.tree_leaves %x, %f, %t, %s, %r {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %4 = graph.tree_leaves %x, %f, %t, %u, %q {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %5 = graph.tree_leaves %x, %f, %t, %v, %q {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  %6 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 3 : i64} : (tensor<5x3xf32>, tensor<2xui8>, tensor<2xf32>, tensor<2x2xui8>, tensor<1xui8>) -> tensor<5x1xui8>
  func.return
}

// All trees, also one that is but a leaf, stand in one operation.
// CHECK-LABEL: func.func @leaf
// CHECK: graph.branching_trees %x {features = array<i64: 2, 0, 1>,
// CHECK-NEXT: func.return
func.func @leaf(%x: tensor<1x3xf32>) -> tensor<1x3xui8> attributes {aot.entry} {
  %f = graph.constant dense<[2, 0, 1]> : tensor<3xui8>
  %t = graph.constant dense<[1.0, -0.5, 2.0]> : tensor<3xf32>
  %c = graph.constant dense<[[2, 3], [4, 5], [5, 3]]> : tensor<3x2xui8>
  %r = graph.constant dense<[0, 1, 3]> : tensor<3xui8>
  %m = graph.constant dense<[false, false, true]> : tensor<3xi1>
  %0 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 3 : i64, schedule = #graph.tree_schedule<lanes = 1, rows = 1, trees = 1, steps = 1, branches>} : (tensor<1x3xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<3xui8>, tensor<3xi1>) -> tensor<1x3xui8>
  func.return %0 : tensor<1x3xui8>
}
