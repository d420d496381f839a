// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: x must have all features that are asked for, found 3
func.func @features(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 3, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: f8E5M2 cannot be compared
func.func @encoded(%x: tensor<5x3xf8E5M2>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf8E5M2>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: 2 nodes have 1 thresholds and 4 children
func.func @lengths(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: depth must be at least 0 and leaves at least 1, found 0 and 0
func.func @leaves(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 0 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: a child is a leaf, or a node after its parent
func.func @order(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 0, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: a child is a leaf, or a node after its parent
func.func @beyond(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 5>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: a root does not exist
func.func @roots(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 5>, leaves = 3 : i64, to = ui8} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: leaves are numbered by integers, not f32
func.func @numbers(%x: tensor<5x3xf32>) {
  %0 = graph.branching_trees %x {features = array<i64: 2, 0>, thresholds = array<f64: 1.0, -0.5>, children = array<i64: 1, 2, 3, 4>, roots = array<i64: 0, 2>, leaves = 3 : i64, to = f32} : (tensor<5x3xf32>) -> tensor<5x2xui8>
  func.return
}

// -----

// CHECK: table must be [picked > 0, columns], found tensor<4xf32>
func.func @ranks(%t: tensor<4xf32>, %i: tensor<5x2xui8>) {
  %0 = graph.gather_sum %t, %i : (tensor<4xf32>, tensor<5x2xui8>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: table must be [picked > 0, columns], found tensor<0x3xf32>
func.func @empty(%t: tensor<0x3xf32>, %i: tensor<5x2xui8>) {
  %0 = graph.gather_sum %t, %i : (tensor<0x3xf32>, tensor<5x2xui8>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: indices must be [rows, r] of integers, found tensor<5x2xf32>
func.func @indices(%t: tensor<4x3xf32>, %i: tensor<5x2xf32>) {
  %0 = graph.gather_sum %t, %i : (tensor<4x3xf32>, tensor<5x2xf32>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: the table
func.func @integers(%t: tensor<4x3xi32>, %i: tensor<5x2xui8>) {
  %0 = graph.gather_sum %t, %i : (tensor<4x3xi32>, tensor<5x2xui8>) -> tensor<5x3xf32>
  func.return
}

// -----

// CHECK: the table has 4 columns of ui8, not 2 or one more of ui8
func.func @votes_columns(%t: tensor<4x4xui8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 2 : i64} : (tensor<4x4xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the table has 2 columns of i8, not 2 or one more of ui8
func.func @votes_signed(%t: tensor<4x2xi8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 2 : i64} : (tensor<4x2xi8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the divisor 70000 times 4095 votes is not an exact f32
func.func @votes_divisor(%t: tensor<4x2xui8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 70000 : i64} : (tensor<4x2xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the divisor 0 times 4095 votes is not an exact f32
func.func @votes_zero(%t: tensor<4x2xui8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 0 : i64} : (tensor<4x2xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the last of 5 rows of ui8 are no even number from 2 on
func.func @wide_odd(%t: tensor<5x2xui8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 2 : i64, wide = 2 : i64} : (tensor<5x2xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the last of 4 rows of ui8 are no even number from 4 on
func.func @wide_far(%t: tensor<4x2xui8>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 2 : i64, wide = 4 : i64} : (tensor<4x2xui8>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}

// -----

// CHECK: the last of 4 rows of ui16 are no even number from 2 on
func.func @wide_words(%t: tensor<4x2xui16>, %i: tensor<5x2xui8>) {
  %0 = graph.vote_sum %t, %i {targets = 2 : i64, divisor = 2 : i64, wide = 2 : i64} : (tensor<4x2xui16>, tensor<5x2xui8>) -> tensor<5x2xf32>
  func.return
}
