// RUN: aotc-opt %s -p canonicalize | filecheck %s

// Along an axis of one element any step is one.
// CHECK-LABEL: func.func @steps
func.func @steps(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  // CHECK-NEXT: func.return %x
  %0 = graph.slice %x {starts = array<i64: 0, 0>, steps = array<i64: 2, 1>, shape = array<i64: 1, 4>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %0 : tensor<1x4xf32>
}

// An axis with as many elements before it has another extent in the source of a view: a smaller one, or there is a second.
// CHECK-LABEL: func.func @extents
// CHECK-NEXT: [[S:%.*]] = graph.slice %x {starts = array<i64: 0, 2, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 3, 4>}
// CHECK-NEXT: graph.reshape [[S]]
// CHECK-NEXT: [[R:%.*]] = graph.reshape %y
// CHECK-NEXT: graph.slice [[R]]
func.func @extents(%x: tensor<1x6x4xf32>, %y: tensor<4x6x4xf32>) -> (tensor<3x4xf32>, tensor<1x6x4xf32>) {
  %0 = graph.reshape %x {shape = array<i64: 6, 4>} : (tensor<1x6x4xf32>) -> tensor<6x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 2, 0>, steps = array<i64: 1, 1>, shape = array<i64: 3, 4>} : (tensor<6x4xf32>) -> tensor<3x4xf32>
  %2 = graph.reshape %y {shape = array<i64: 2, 12, 4>} : (tensor<4x6x4xf32>) -> tensor<2x12x4xf32>
  %3 = graph.slice %2 {starts = array<i64: 1, 3, 0>, steps = array<i64: 1, 1, 1>, shape = array<i64: 1, 6, 4>} : (tensor<2x12x4xf32>) -> tensor<1x6x4xf32>
  func.return %1, %3 : tensor<3x4xf32>, tensor<1x6x4xf32>
}

// Blocks in another order stay a slice, and so does one whose other axes are cut.
// CHECK-LABEL: func.func @blocks
// CHECK-NEXT: [[R:%.*]] = graph.regroup_channels
// CHECK-NEXT: graph.slice [[R]] {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, -1, 1, 1>
// CHECK-NEXT: graph.slice [[R]] {starts = array<i64: 0, 0, 2, 0>
func.func @blocks(%x: tensor<1x1x6x4xf32>) -> (tensor<1x2x6x4xf32>, tensor<1x1x3x4xf32>) {
  %0 = graph.regroup_channels %x {sources = array<i64: 3, 2, 1, 0, 0, 1, 2, 3>} : (tensor<1x1x6x4xf32>) -> tensor<1x2x6x4xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 1, 0, 0>, steps = array<i64: 1, -1, 1, 1>, shape = array<i64: 1, 2, 6, 4>} : (tensor<1x2x6x4xf32>) -> tensor<1x2x6x4xf32>
  %2 = graph.slice %0 {starts = array<i64: 0, 0, 2, 0>, steps = array<i64: 1, 1, 1, 1>, shape = array<i64: 1, 1, 3, 4>} : (tensor<1x2x6x4xf32>) -> tensor<1x1x3x4xf32>
  func.return %1, %2 : tensor<1x2x6x4xf32>, tensor<1x1x3x4xf32>
}

// Of three parts two have elements; of two none has any.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT: graph.concat %x, %x {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK-NEXT: graph.concat %none, %none {axis = 0 : i64} : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
func.func @parts(%x: tensor<2x3xf32>, %none: tensor<0x3xf32>) -> (tensor<4x3xf32>, tensor<0x3xf32>) {
  %0 = graph.concat %x, %none, %x {axis = 0 : i64} : (tensor<2x3xf32>, tensor<0x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  %1 = graph.concat %none, %none {axis = 0 : i64} : (tensor<0x3xf32>, tensor<0x3xf32>) -> tensor<0x3xf32>
  func.return %0, %1 : tensor<4x3xf32>, tensor<0x3xf32>
}

// Joined along another axis, with other parts behind the first, later, or with as many parts: nothing is shared.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT: graph.concat %x, %y {axis = 0 : i64}
// CHECK-NEXT: graph.concat %x, %z {axis = 1 : i64}
// CHECK-NEXT: graph.concat %x, %y, %z {axis = 1 : i64}
// CHECK-NEXT: graph.concat %x, %y {axis = 1 : i64}
// CHECK-NEXT: graph.concat %x, %y {axis = 1 : i64}
func.func @joined(%x: tensor<1x2xf32>, %y: tensor<1x2xf32>, %z: tensor<1x2xf32>) -> (tensor<2x2xf32>, tensor<1x4xf32>, tensor<1x6xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
  %1 = graph.concat %x, %z {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %2 = graph.concat %x, %y, %z {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x6xf32>
  %3 = graph.concat %x, %y {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  %4 = graph.concat %x, %y {axis = 1 : i64} : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x4xf32>
  func.return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<1x4xf32>, tensor<1x6xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// A view goes to a constant whether or not what reads it widens.
// CHECK-LABEL: func.func @constants
// CHECK:      [[V:%.*]] = graph.reshape {{%.*}} {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
// CHECK-NEXT: [[R:%.*]] = graph.relu [[V]]
// CHECK-NEXT: func.return [[R]]
func.func @constants() -> tensor<4xf32> {
  %w = graph.constant dense<[[1.0, -2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = graph.relu %w : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 4>} : (tensor<2x2xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// Nothing widens; steps leave gaps; scales are along an axis that a view has elsewhere; somebody reads all; a constant is broadcast.
// CHECK-LABEL: func.func @wide_views
// CHECK:      [[A:%.*]] = graph.relu %x
// CHECK-NEXT: graph.reshape [[A]]
// CHECK-NEXT: [[B:%.*]] = graph.dequantize %q, %s
// CHECK-NEXT: graph.slice [[B]]
// CHECK-NEXT: [[C:%.*]] = graph.dequantize %q, %columns
// CHECK-NEXT: graph.reshape [[C]]
// CHECK-NEXT: [[D:%.*]] = graph.dequantize %q, %s
// CHECK-NEXT: graph.neg [[D]]
// CHECK-NEXT: graph.reshape [[D]]
// CHECK-NEXT: [[E:%.*]] = graph.add {{%.*}}, %u
// CHECK-NEXT: graph.slice [[E]]
func.func @wide_views(%x: tensor<4x2xf32>, %q: tensor<4x2xi8>, %s: tensor<f32>, %columns: tensor<2xf32>, %u: tensor<1x1xf32>)
    -> (tensor<8xf32>, tensor<2x2xf32>, tensor<2x2x2xf32>, tensor<4x2xf32>, tensor<8xf32>, tensor<1x2xf32>) {
  %w = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = graph.relu %x : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 8>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %2 = graph.dequantize %q, %s {to = f32} : (tensor<4x2xi8>, tensor<f32>) -> tensor<4x2xf32>
  %3 = graph.slice %2 {starts = array<i64: 0, 0>, steps = array<i64: 2, 1>, shape = array<i64: 2, 2>} : (tensor<4x2xf32>) -> tensor<2x2xf32>
  %4 = graph.dequantize %q, %columns {to = f32, axis = 1 : i64} : (tensor<4x2xi8>, tensor<2xf32>) -> tensor<4x2xf32>
  %5 = graph.reshape %4 {shape = array<i64: 2, 2, 2>} : (tensor<4x2xf32>) -> tensor<2x2x2xf32>
  %6 = graph.dequantize %q, %s {to = f32} : (tensor<4x2xi8>, tensor<f32>) -> tensor<4x2xf32>
  %7 = graph.neg %6 : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %8 = graph.reshape %6 {shape = array<i64: 8>} : (tensor<4x2xf32>) -> tensor<8xf32>
  %9 = graph.add %w, %u : (tensor<3xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %10 = graph.slice %9 {starts = array<i64: 0, 1>, steps = array<i64: 1, 1>, shape = array<i64: 1, 2>} : (tensor<1x3xf32>) -> tensor<1x2xf32>
  func.return %1, %3, %5, %7, %8, %10 : tensor<8xf32>, tensor<2x2xf32>, tensor<2x2x2xf32>, tensor<4x2xf32>, tensor<8xf32>, tensor<1x2xf32>
}

// A transpose of blocks of channels back to where they lie is a view; two blocks stay, an incomplete one, and an order
// that is another one.
// CHECK-LABEL: func.func @unpacked
// CHECK-NEXT: [[X:%.*]] = graph.unpack %x
// CHECK-NEXT: graph.reshape %x {shape = array<i64: 1, 2, 3, 8>}
// CHECK-NEXT: graph.unpack %y
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.unpack %z
// CHECK-NEXT: graph.transpose
// CHECK-NEXT: graph.transpose [[X]]
func.func @unpacked(%x: tensor<1x1x2x3x8xi8>, %y: tensor<1x2x2x3x8xi8>, %z: tensor<1x1x2x3x8xi8>) -> (tensor<1x2x3x8xi8>, tensor<1x2x3x16xi8>, tensor<1x2x3x6xi8>, tensor<1x3x2x8xi8>) {
  %0 = graph.unpack %x {layout = #graph.layout<channels (d0, d1 floordiv 8, d2, d3, d1 mod 8)>, shape = array<i64: 1, 8, 2, 3>} : (tensor<1x1x2x3x8xi8>) -> tensor<1x8x2x3xi8>
  %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x2x3xi8>) -> tensor<1x2x3x8xi8>
  %2 = graph.unpack %y {layout = #graph.layout<channels (d0, d1 floordiv 8, d2, d3, d1 mod 8)>, shape = array<i64: 1, 16, 2, 3>} : (tensor<1x2x2x3x8xi8>) -> tensor<1x16x2x3xi8>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x16x2x3xi8>) -> tensor<1x2x3x16xi8>
  %4 = graph.unpack %z {layout = #graph.layout<channels (d0, d1 floordiv 8, d2, d3, d1 mod 8)>, shape = array<i64: 1, 6, 2, 3>} : (tensor<1x1x2x3x8xi8>) -> tensor<1x6x2x3xi8>
  %5 = graph.transpose %4 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x6x2x3xi8>) -> tensor<1x2x3x6xi8>
  %6 = graph.transpose %0 {permutation = array<i64: 0, 3, 2, 1>} : (tensor<1x8x2x3xi8>) -> tensor<1x3x2x8xi8>
  func.return %1, %3, %5, %6 : tensor<1x2x3x8xi8>, tensor<1x2x3x16xi8>, tensor<1x2x3x6xi8>, tensor<1x3x2x8xi8>
}
