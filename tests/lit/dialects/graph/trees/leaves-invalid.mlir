// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must be [rows, features > 0], found tensor<5xf32>
func.func @rows(%x: tensor<5xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: thresholds must be [3], found tensor<4xf32>
func.func @tables(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<4xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<4xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: missing must be [3] of i1, found tensor<2xi1>
func.func @missing(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>, %m: tensor<2xi1>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>, tensor<2xi1>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: integers are never missing
func.func @integers(%x: tensor<5x8xi16>, %f: tensor<3xui8>, %t: tensor<3xi16>, %c: tensor<3x2xui8>, %r: tensor<2xui8>, %m: tensor<3xi1>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r, %m {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xi16>, tensor<3xui8>, tensor<3xi16>, tensor<3x2xui8>, tensor<2xui8>, tensor<3xi1>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: roots must be [trees] of integers, found tensor<2x1xui8>
func.func @roots(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2x1xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2x1xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: features must be [nodes > 0] of integers, found tensor<3xf32>
func.func @indices(%x: tensor<5x8xf32>, %f: tensor<3xf32>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: element types differ: f32, f64
func.func @kinds(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf64>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf64>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: f8E5M2 cannot be compared
func.func @encoded(%x: tensor<5x8xf8E5M2>, %f: tensor<3xui8>, %t: tensor<3xf8E5M2>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf8E5M2>, tensor<3xui8>, tensor<3xf8E5M2>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: depth must be at least 0 and leaves at least 1, found -1 and 4
func.func @depth(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = -1 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: depth must be at least 0 and leaves at least 1, found 2 and 0
func.func @leaves(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xui8>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 0 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xui8>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: element types differ: ui8, i32
func.func @numbers(%x: tensor<5x8xf32>, %f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<2xi32>) {
  %0 = graph.tree_leaves %x, %f, %t, %c, %r {depth = 2 : i64, leaves = 4 : i64} : (tensor<5x8xf32>, tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<2xi32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: x must be [rows, features] of f32, found tensor<5x8xf64>
func.func @f64(%x: tensor<5x8xf64>, %n: tensor<7x4xi32>, %r: tensor<2xui8>) {
  %0, %1 = graph.packed_tree_leaves %x, %n, %r {depth = 2 : i64, inner = 3 : i64} : (tensor<5x8xf64>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
  func.return
}

// -----

// CHECK: nodes must be [nodes, 4] of i32, found tensor<7x3xi32>
func.func @words(%x: tensor<5x8xf32>, %n: tensor<7x3xi32>, %r: tensor<2xui8>) {
  %0, %1 = graph.packed_tree_leaves %x, %n, %r {depth = 2 : i64, inner = 3 : i64} : (tensor<5x8xf32>, tensor<7x3xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
  func.return
}

// -----

// CHECK: inner must be 1 to 6, found 7
func.func @inner(%x: tensor<5x8xf32>, %n: tensor<7x4xi32>, %r: tensor<2xui8>) {
  %0, %1 = graph.packed_tree_leaves %x, %n, %r {depth = 2 : i64, inner = 7 : i64} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xui8>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
  func.return
}

// -----

// CHECK: roots must be [trees] of integers, found tensor<2xf32>
func.func @packed_roots(%x: tensor<5x8xf32>, %n: tensor<7x4xi32>, %r: tensor<2xf32>) {
  %0, %1 = graph.packed_tree_leaves %x, %n, %r {depth = 2 : i64, inner = 3 : i64} : (tensor<5x8xf32>, tensor<7x4xi32>, tensor<2xf32>) -> (tensor<5x2xui8>, tensor<5x8xi32>)
  func.return
}

// -----

// CHECK: thresholds must be [3] of f32, found tensor<3xf64>
func.func @wide(%f: tensor<3xui8>, %t: tensor<3xf64>, %c: tensor<3x2xui8>) {
  %0 = graph.pack_trees %f, %t, %c {features = 8 : i64, leaves = 4 : i64} : (tensor<3xui8>, tensor<3xf64>, tensor<3x2xui8>) -> tensor<7x4xi32>
  func.return
}

// -----

// CHECK: children must be [3, 2], found tensor<4x2xui8>
func.func @children(%f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<4x2xui8>) {
  %0 = graph.pack_trees %f, %t, %c {features = 8 : i64, leaves = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<4x2xui8>) -> tensor<7x4xi32>
  func.return
}

// -----

// CHECK: two of 2 to 40 classes each must be [rows, K * (K - 1) / 2], found [5, 5]
func.func @pairs(%p: tensor<5x5xf32>) {
  %0 = graph.probability_coupling %p : (tensor<5x5xf32>) -> tensor<5x4xf32>
  func.return
}

// -----

// CHECK: pairwise must be [rows, comparisons] of f32, found tensor<5x6xf64>
func.func @doubles(%p: tensor<5x6xf64>) {
  %0 = graph.probability_coupling %p : (tensor<5x6xf64>) -> tensor<5x4xf32>
  func.return
}
