// RUN: aotc-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: nodes must be 1 to 31, found 32
func.func @nodes(%f: tensor<3xui8>, %t: tensor<3xf32>, %c: tensor<3x2xui8>, %r: tensor<5xui8>) {
  %0 = graph.pack_tree_masks %f, %t, %c, %r {features = 8 : i64, nodes = 32 : i64, lanes = 4 : i64} : (tensor<3xui8>, tensor<3xf32>, tensor<3x2xui8>, tensor<5xui8>) -> tensor<2x129x4xi32>
  func.return
}

// -----

// CHECK: thresholds must be [3] of f32, found tensor<3xf64>
func.func @thresholds(%f: tensor<3xui8>, %t: tensor<3xf64>, %c: tensor<3x2xui8>, %r: tensor<5xui8>) {
  %0 = graph.pack_tree_masks %f, %t, %c, %r {features = 8 : i64, nodes = 3 : i64, lanes = 4 : i64} : (tensor<3xui8>, tensor<3xf64>, tensor<3x2xui8>, tensor<5xui8>) -> tensor<2x13x4xi32>
  func.return
}

// -----

// CHECK: thresholds must be [3] of f32, found tensor<4xf32>
func.func @tables(%f: tensor<3xui8>, %t: tensor<4xf32>, %c: tensor<3x2xui8>, %r: tensor<5xui8>) {
  %0 = graph.pack_tree_masks %f, %t, %c, %r {features = 8 : i64, nodes = 3 : i64, lanes = 4 : i64} : (tensor<3xui8>, tensor<4xf32>, tensor<3x2xui8>, tensor<5xui8>) -> tensor<2x13x4xi32>
  func.return
}

// -----

// CHECK: x must be [rows, features] of f32, found tensor<6x8xf64>
func.func @x(%x: tensor<6x8xf64>, %w: tensor<2x13x4xi32>) {
  %1, %2, %3 = graph.masked_tree_leaves %x, %w {trees = 5 : i64, to = ui8} : (tensor<6x8xf64>, tensor<2x13x4xi32>) -> (tensor<6x5xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
  func.return
}

// -----

// CHECK: 5 trees of 3 nodes do not have tables [2, 14, 4]
func.func @rows(%x: tensor<6x8xf32>, %w: tensor<2x14x4xi32>) {
  %1, %2, %3 = graph.masked_tree_leaves %x, %w {trees = 5 : i64, to = ui8} : (tensor<6x8xf32>, tensor<2x14x4xi32>) -> (tensor<6x5xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
  func.return
}

// -----

// CHECK: 9 trees of 3 nodes do not have tables [2, 13, 4]
func.func @groups(%x: tensor<6x8xf32>, %w: tensor<2x13x4xi32>) {
  %1, %2, %3 = graph.masked_tree_leaves %x, %w {trees = 9 : i64, to = ui8} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x9xui8>, tensor<6x8xi32>, tensor<6x4xi32>)
  func.return
}

// -----

// CHECK: leaves are numbered by integers, not f32
func.func @to(%x: tensor<6x8xf32>, %w: tensor<2x13x4xi32>) {
  %1, %2, %3 = graph.masked_tree_leaves %x, %w {trees = 5 : i64, to = f32} : (tensor<6x8xf32>, tensor<2x13x4xi32>) -> (tensor<6x5xf32>, tensor<6x8xi32>, tensor<6x4xi32>)
  func.return
}
