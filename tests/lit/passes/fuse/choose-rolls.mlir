// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},choose-rolls' | filecheck %s
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},choose-rolls{ram=8192}' | filecheck %s --check-prefix FITS
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},choose-rolls{slower=10}' | filecheck %s --check-prefix HARDLY
// RUN: aotc-opt %s --split-input-file -p 'attach-target{target=test-m4f},choose-rolls{slower=9000}' | filecheck %s --check-prefix SLOWER

// Two pictures of 320 bytes would be there at the same time, or a ring; where both fit, nothing rolls.

// CHECK-LABEL: func.func @windows
// CHECK-COUNT-2: attributes {roll = 0 : i64}
// CHECK-NOT:     roll =
// FITS-NOT:      roll =
func.func @windows(%x: tensor<1x1x10x8x4xi8>) -> tensor<1x1x8x8x4xi8> attributes {aot.entry} {
  %0 = graph.fused (%a = %x : tensor<1x1x10x8x4xi8>) -> (tensor<1x1x10x8x4xi8>) {
    %3 = graph.neg %a : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
    graph.yield %3 : tensor<1x1x10x8x4xi8>
  }
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x8x8x4xi8>
  func.return %1 : tensor<1x1x8x8x4xi8>
}

// -----

// Several pictures, channels before positions, and what reads all rows do not roll.

// CHECK-LABEL: func.func @others
// CHECK-NOT:     roll =
func.func @others(%x: tensor<2x1x10x8x4xi8>, %y: tensor<1x4x10x8xi8>, %z: tensor<1x1x10x8x4xi8>) -> (tensor<2x1x8x8x4xi8>, tensor<1x4x8x8xi8>, tensor<1x1x10x4x8xi8>) attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<2x1x10x8x4xi8>) -> tensor<2x1x10x8x4xi8>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<2x1x10x8x4xi8>) -> tensor<2x1x8x8x4xi8>
  %2 = graph.neg %y : (tensor<1x4x10x8xi8>) -> tensor<1x4x10x8xi8>
  %3 = graph.max_pool %2 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x4x10x8xi8>) -> tensor<1x4x8x8xi8>
  %4 = graph.neg %z : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x8x4xi8>
  %5 = graph.transpose %4 {permutation = array<i64: 0, 1, 2, 4, 3>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x10x4x8xi8>
  func.return %1, %3, %5 : tensor<2x1x8x8x4xi8>, tensor<1x4x8x8xi8>, tensor<1x1x10x4x8xi8>
}

// -----

// The window is written over what it reads, two rows behind: it rolls alone.

// CHECK-LABEL: func.func @alone
// CHECK-NOT:     roll =
// CHECK:         graph.transpose
// CHECK:         attributes {roll = 1 : i64} {
// CHECK-NEXT:      graph.max_pool
func.func @alone(%x: tensor<1x1x10x8x4xi8>) -> tensor<1x4xi8> attributes {aot.entry} {
  %0 = graph.transpose %x {permutation = array<i64: 0, 1, 3, 2, 4>} : (tensor<1x1x10x8x4xi8>) -> tensor<1x1x8x10x4xi8>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x8x10x4xi8>) -> tensor<1x1x8x10x4xi8>
  %2 = graph.slice %1 {starts = array<i64: 0, 0, 7, 0, 0>, steps = array<i64: 1, 1, -1, 1, 1>, shape = array<i64: 1, 1, 8, 10, 4>} : (tensor<1x1x8x10x4xi8>) -> tensor<1x1x8x10x4xi8>
  %3 = graph.reduce %2 {kind = "max", axes = array<i64: 1, 2, 3>, keepdims = false} : (tensor<1x1x8x10x4xi8>) -> tensor<1x4xi8>
  func.return %3 : tensor<1x4xi8>
}

// -----

// A number has no rows.

// CHECK-LABEL: func.func @number
// CHECK-NOT:     roll =
// CHECK:         func.return
func.func @number(%x: tensor<f32>) -> tensor<f32> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<f32>) -> tensor<f32>
  func.return %0 : tensor<f32>
}

// -----

// A picture of 2560 bytes is worth a ring of three rows where that may take ten times as long, not a
// hundredth; one of 320, as above, never is.

// HARDLY-NOT:    roll =
// SLOWER-NOT:    roll =
// SLOWER-LABEL:  func.func @worthwhile
// SLOWER-COUNT-2: attributes {roll = 0 : i64}
// SLOWER-NOT:    roll =
func.func @worthwhile(%x: tensor<1x1x10x8x32xi8>) -> tensor<1x1x8x8x32xi8> attributes {aot.entry} {
  %0 = graph.neg %x : (tensor<1x1x10x8x32xi8>) -> tensor<1x1x10x8x32xi8>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>} : (tensor<1x1x10x8x32xi8>) -> tensor<1x1x8x8x32xi8>
  func.return %1 : tensor<1x1x8x8x32xi8>
}
