// RUN: aotc-opt %s -p fuse-prologues,outline-kernels --split-input-file | filecheck %s

// Each tree is asked where its leaf is counted: no leaves are stored. The kernel is one of branches.
// CHECK-LABEL: func.func private @branching_trees_gather_sum_0(
// CHECK-SAME:    attributes {aot.kernel, aot.in_place = {{\[\[\]\]}}, aot.branches}
// CHECK-NEXT:    [[L:%.*]] = graph.branching_trees %x
// CHECK-NEXT:    graph.gather_sum %{{.*}}, [[L]]
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x3xf32>, %t: tensor<4x8xf32>) -> tensor<1x8xf32> attributes {aot.entry} {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<1x3xf32>) -> tensor<1x2xui8>
  %1 = graph.gather_sum %t, %0 : (tensor<4x8xf32>, tensor<1x2xui8>) -> tensor<1x8xf32>
  func.return %1 : tensor<1x8xf32>
}

// -----

// Where a leaf is read twice, for eight of its columns at a time, it is stored.
// CHECK-LABEL: func.func private @branching_trees_0(
// CHECK-SAME:    aot.branches}
// CHECK-LABEL: func.func private @gather_sum_0(
// CHECK-NOT:     aot.branches
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<1x3xf32>, %t: tensor<4x9xf32>) -> tensor<1x9xf32> attributes {aot.entry} {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<1x3xf32>) -> tensor<1x2xui8>
  %1 = graph.gather_sum %t, %0 : (tensor<4x9xf32>, tensor<1x2xui8>) -> tensor<1x9xf32>
  func.return %1 : tensor<1x9xf32>
}

// -----

// Each tree reads any feature: leaves are not written over them.
// CHECK-LABEL: func.func private @branching_trees_0(
// CHECK-SAME:    aot.in_place = {{\[\[\]\]}}
func.func @main(%x: tensor<1x2xi8>) -> tensor<1x2xui8> attributes {aot.entry} {
  %0 = graph.branching_trees %x {features = array<i64: 1, 0>, thresholds = array<f64: 1.0, -5.0>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<1x2xi8>) -> tensor<1x2xui8>
  func.return %0 : tensor<1x2xui8>
}
