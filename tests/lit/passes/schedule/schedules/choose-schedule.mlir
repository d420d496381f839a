// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule,attach-target{target=test-avx2},choose-schedule' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-neon},choose-schedule' | filecheck %s --check-prefix NEON
// RUN: aotc-opt %s -p 'attach-target{target=test-m4f},choose-schedule' | filecheck %s --check-prefix PLAIN

// What has a schedule keeps it: a second pass, for whatever target, changes nothing. Without vectors there is none.
// PLAIN-NOT: lanes = {{4|16}}

// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 16, mr = 
// CHECK-NEXT:    graph.cast
// CHECK-NEXT:    graph.matmul {{.*}}<lanes = 16, mr = {{.*}} : (tensor<8x64xi32>
// CHECK-NEXT:    graph.matmul {{.*}} {schedule = #graph.matmul_schedule<lanes = 8, mr = 1, nr = 1, unroll = 1, order = rows>}
// NEON-LABEL:  func.func @main
// NEON-NEXT:     graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 4
func.func @main(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>, %i: tensor<64x8xi32>, %d: tensor<8x8xf64>) -> tensor<8x32xf32> attributes {aot.entry} {
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  %1 = graph.cast %x {to = i32} : (tensor<8x64xf32>) -> tensor<8x64xi32>
  %2 = graph.matmul %1, %i : (tensor<8x64xi32>, tensor<64x8xi32>) -> tensor<8x8xi32>
  %3 = graph.matmul %d, %d {schedule = #graph.matmul_schedule<lanes = 8, mr = 1, nr = 1, unroll = 1, order = rows>} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  func.return %0 : tensor<8x32xf32>
}

// A kernel without an anchor has a schedule of its own; one with an anchor has that of the anchor, one that is computed
// outside has none.
// CHECK: func.func private @outside(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {aot.kernel}
func.func private @outside(tensor<8x64xf32>) -> tensor<8x64xf32> attributes {aot.kernel}
// CHECK: func.func private @relu_0({{.*}} attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>
func.func private @relu_0(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {aot.kernel} {
  %0 = graph.relu %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %0 : tensor<8x64xf32>
}
// CHECK: func.func private @matmul_0({{.*}} attributes {aot.kernel} {
func.func private @matmul_0(%x: tensor<8x64xf32>, %w: tensor<64x32xf32>) -> tensor<8x32xf32> attributes {aot.kernel} {
  %0 = graph.matmul %x, %w : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
  func.return %0 : tensor<8x32xf32>
}
// The entry is no kernel, even without an anchor in it.
// CHECK: func.func @entry({{.*}} attributes {aot.entry} {
func.func @entry(%x: tensor<8x64xf32>) -> tensor<8x64xf32> attributes {aot.entry} {
  %0 = graph.relu %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %0 : tensor<8x64xf32>
}

// Sums of i32 are rows in the registers that f32 has; means of integers, which are divided, are not, nor are i64.
// CHECK: func.func private @integers
// CHECK-NEXT: graph.reduce %x {kind = "sum", {{.*}}, schedule = #graph.row_schedule<lanes = 16
// CHECK-NEXT: graph.reduce %x {kind = "mean", axes = array<i64: 2>, keepdims = true} :
// CHECK-NEXT: graph.reduce %y {kind = "sum", axes = array<i64: 2>, keepdims = true} :
func.func private @integers(%x: tensor<1x8x64xi32>, %y: tensor<1x8x64xi64>) -> (tensor<1x8x1xi32>, tensor<1x8x1xi32>, tensor<1x8x1xi64>) attributes {aot.kernel} {
  %0 = graph.reduce %x {kind = "sum", axes = array<i64: 2>, keepdims = true} : (tensor<1x8x64xi32>) -> tensor<1x8x1xi32>
  %1 = graph.reduce %x {kind = "mean", axes = array<i64: 2>, keepdims = true} : (tensor<1x8x64xi32>) -> tensor<1x8x1xi32>
  %2 = graph.reduce %y {kind = "sum", axes = array<i64: 2>, keepdims = true} : (tensor<1x8x64xi64>) -> tensor<1x8x1xi64>
  func.return %0, %1, %2 : tensor<1x8x1xi32>, tensor<1x8x1xi32>, tensor<1x8x1xi64>
}

// Rows of a matrix that fill a register; not shorter ones, nor integers that no register holds.
// CHECK-LABEL: func.func @matrices
// CHECK:      graph.inverse %x {schedule = #graph.elementwise_schedule<lanes = {{16|8}}, registers = {{2|3}}>}
// CHECK-NEXT: graph.inverse %small :
// PLAIN-LABEL: func.func @matrices
// PLAIN-NOT:  schedule
func.func @matrices(%x: tensor<2x20x20xf32>, %small: tensor<2x7x7xf32>) attributes {aot.entry} {
  %0, %1 = graph.inverse %x : (tensor<2x20x20xf32>) -> (tensor<2x20x20xf32>, tensor<2x20x40xf32>)
  %2, %3 = graph.inverse %small : (tensor<2x7x7xf32>) -> (tensor<2x7x7xf32>, tensor<2x7x14xf32>)
  func.return
}

// Where there are groups, a block has channels of several in its lanes: no positions of a plain tensor.
// CHECK-LABEL: func.func @groups
// CHECK:       graph.conv %x, %w {{.*}} schedule = #graph.window_schedule<
func.func @groups(%x: tensor<1x8x32x64xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x8x32x64xf32> attributes {aot.entry} {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 2 : i64} : (tensor<1x8x32x64xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x32x64xf32>
  func.return %0 : tensor<1x8x32x64xf32>
}
