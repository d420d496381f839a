// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s --check-prefix=LOOPS
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},assign-layouts' | filecheck %s --check-prefix=LAYOUT

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.packed_matmul %l, %r {columns = 13 : i64, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> (tensor<7x13xf32>, tensor<7x8xf32>)
// CHECK-NEXT: graph.blocked_conv %x, %w, %b {{.*}}kc = 36>} : (tensor<1x3x5x9x4xf32>, tensor<2x3x3x3x4x8xf32>, tensor<12xf32>) -> (tensor<1x3x5x9x4xf32>, tensor<5x9x8xf32>)
func.func @forms(%l: tensor<7x11xf32>, %r: tensor<2x11x8xf32>, %x: tensor<1x3x5x9x4xf32>, %w: tensor<2x3x3x3x4x8xf32>, %b: tensor<12xf32>) {
  %0, %1 = graph.packed_matmul %l, %r {columns = 13, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> (tensor<7x13xf32>, tensor<7x8xf32>)
  %2, %3 = graph.blocked_conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1, channels = 10, outputs = 12, block = 4, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 36>} : (tensor<1x3x5x9x4xf32>, tensor<2x3x3x3x4x8xf32>, tensor<12xf32>) -> (tensor<1x3x5x9x4xf32>, tensor<5x9x8xf32>)
  func.return
}

// Of 11 steps, two blocks of 4 in a loop, of which the first starts with nothing, then 3 steps and the result.
// LOOPS-LABEL: func.func private @product
// LOOPS:       scf.for %[[BLOCK:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:    %[[START:.*]] = arith.muli %[[BLOCK]]
// LOOPS-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]]
// LOOPS-NEXT:    scf.for %[[TILE:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:      %[[ROW:.*]] = arith.muli %[[TILE]]
// LOOPS-NEXT:      scf.for %[[STEP:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:        %[[K:.*]] = arith.addi %[[START]], %[[STEP]]
// LOOPS-NEXT:        aot.tile_load %x[%[[ROW]], %[[K]]]
// LOOPS:           scf.if %[[FIRST]] -> (vector<3x2x4xf32>)
// LOOPS-NEXT:        scf.yield
// LOOPS-NEXT:      } else {
// LOOPS-NEXT:        aot.tile_load %s[%[[ROW]], %{{.*}}] {strides = array<i64: 8, 4, 1>}
// LOOPS-NEXT:        arith.addf
// LOOPS-NEXT:        scf.yield
// LOOPS-NEXT:      }
// LOOPS-NEXT:      aot.tile_store %{{.*}}, %s[%[[ROW]], %{{.*}}] {strides = array<i64: 8, 4, 1>}
// LOOPS-NEXT:    }
// LOOPS-NEXT:  }
// LOOPS-NEXT:  scf.for %[[TILE:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NOT:     scf.for
// LOOPS:         aot.tile_load %s
// LOOPS-NEXT:    %[[SUM:.*]] = arith.addf
// LOOPS-NEXT:    aot.tile_compare "olt" %[[SUM]]
// LOOPS-NEXT:    %[[RELU:.*]] = aot.tile_select
// LOOPS-NEXT:    aot.tile_store %[[RELU]], %out
// LOOPS-NEXT:  }
func.func private @product(%x: memref<6x11xf32>, %w: memref<1x11x8xf32>, %out: memref<6x8xf32>, %s: memref<6x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<6x11xf32> to tensor<6x11xf32>
  %1 = bufferization.to_tensor %w : memref<1x11x8xf32> to tensor<1x11x8xf32>
  %2, %3 = graph.packed_matmul %0, %1 {columns = 8, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<6x11xf32>, tensor<1x11x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>)
  %4 = graph.relu %2 : (tensor<6x8xf32>) -> tensor<6x8xf32>
  bufferization.materialize_in_destination %4 in writable %out : (tensor<6x8xf32>, memref<6x8xf32>) -> ()
  bufferization.materialize_in_destination %3 in writable %s : (tensor<6x8xf32>, memref<6x8xf32>) -> ()
  func.return
}

// Three blocks of 4, 4 and 2 channels with 9 taps, one at a time: sums start with the bias, or with those before.
// LOOPS-LABEL: func.func private @convolution
// LOOPS:       scf.for %[[BLOCK:.*]] = %{{.*}} to %{{.*}} step
// LOOPS-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]]
// LOOPS-NEXT:    scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// LOOPS:           scf.if %[[FIRST]] -> (vector<3x2x4xf32>)
// LOOPS:             aot.tile_load %b
// LOOPS:           } else {
// LOOPS-NEXT:        aot.tile_load %s[%[[ROW]], %{{.*}}] {strides = array<i64: 8, 4, 1>}
// LOOPS:           aot.tile_load %x[%{{.*}}, %[[BLOCK]], %{{.*}}]
// LOOPS:           aot.tile_store %{{.*}}, %s[%[[ROW]], %{{.*}}] {strides = array<i64: 8, 4, 1>}
// LOOPS:       aot.tile_load %s
// LOOPS-NOT:   aot.tile_store %{{.*}}, %s
// LOOPS:       aot.tile_store %{{.*}}, %out
func.func private @convolution(%x: memref<1x3x5x3x4xf32>, %w: memref<1x3x3x3x4x8xf32>, %b: memref<8xf32>, %out: memref<1x2x5x3x4xf32>, %s: memref<5x3x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x3x5x3x4xf32> to tensor<1x3x5x3x4xf32>
  %1 = bufferization.to_tensor %w : memref<1x3x3x3x4x8xf32> to tensor<1x3x3x3x4x8xf32>
  %2 = bufferization.to_tensor %b : memref<8xf32> to tensor<8xf32>
  %3, %4 = graph.blocked_conv %0, %1, %2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1, channels = 10, outputs = 8, block = 4, schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 40>} : (tensor<1x3x5x3x4xf32>, tensor<1x3x3x3x4x8xf32>, tensor<8xf32>) -> (tensor<1x2x5x3x4xf32>, tensor<5x3x8xf32>)
  bufferization.materialize_in_destination %3 in writable %out : (tensor<1x2x5x3x4xf32>, memref<1x2x5x3x4xf32>) -> ()
  bufferization.materialize_in_destination %4 in writable %s : (tensor<5x3x8xf32>, memref<5x3x8xf32>) -> ()
  func.return
}

// What is packed gets a buffer where there are several blocks; what is not packed is computed in one.
// LAYOUT-LABEL: func.func @main
// LAYOUT:       graph.packed_matmul {{.*}}kc = 4>} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> (tensor<7x13xf32>, tensor<7x8xf32>)
// LAYOUT:       graph.packed_matmul {{.*}}order = columns>} : (tensor<7x11xf32>, tensor<2x11x8xf32>) -> tensor<7x13xf32>
// LAYOUT-NEXT:  graph.matmul %x, %w {schedule = {{.*}}order = columns>}
func.func @main(%x: tensor<7x11xf32>, %w: tensor<11x13xf32>) -> (tensor<7x13xf32>, tensor<7x13xf32>, tensor<7x13xf32>) attributes {aot.entry} {
  %0 = graph.constant dense<1.0> : tensor<11x13xf32>
  %1 = graph.matmul %x, %0 {schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<7x11xf32>, tensor<11x13xf32>) -> tensor<7x13xf32>
  %2 = graph.matmul %x, %0 {schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 11>} : (tensor<7x11xf32>, tensor<11x13xf32>) -> tensor<7x13xf32>
  %3 = graph.matmul %x, %w {schedule = #graph.matmul_schedule<lanes = 4, mr = 3, nr = 2, unroll = 2, order = columns, kc = 4>} : (tensor<7x11xf32>, tensor<11x13xf32>) -> tensor<7x13xf32>
  func.return %1, %2, %3 : tensor<7x13xf32>, tensor<7x13xf32>, tensor<7x13xf32>
}
