// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s --check-prefix=LOOPS

// CHECK-LABEL: func.func @forms
// CHECK-NEXT: graph.blocked_depthwise_conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8x16xf32>, tensor<2x3x3x16xf32>) -> tensor<1x2x4x4x16xf32>
// CHECK-NEXT: graph.blocked_depthwise_conv %x, %w, %b
// CHECK-NEXT: graph.blocked_lanes_conv %x, %g, %b {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8x16xf32>, tensor<4x2x3x3x16xf32>, tensor<32xf32>) -> tensor<1x2x4x4x16xf32>
func.func @forms(%x: tensor<1x2x8x8x16xf32>, %w: tensor<2x3x3x16xf32>, %g: tensor<4x2x3x3x16xf32>, %b: tensor<32xf32>) {
  %1 = graph.blocked_depthwise_conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8x16xf32>, tensor<2x3x3x16xf32>) -> tensor<1x2x4x4x16xf32>
  %2 = graph.blocked_depthwise_conv %x, %w, %b {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8x16xf32>, tensor<2x3x3x16xf32>, tensor<32xf32>) -> tensor<1x2x4x4x16xf32>
  %3 = graph.blocked_lanes_conv %x, %g, %b {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x2x8x8x16xf32>, tensor<4x2x3x3x16xf32>, tensor<32xf32>) -> tensor<1x2x4x4x16xf32>
  func.return
}

// Tiles of four positions. The first tap sees nothing at the first position, the last one nothing at the last. A row of
// the operand is loaded once for all taps; the rows that there are bound the loop over rows.
// LOOPS-LABEL: func.func private @rows
// LOOPS:      scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// LOOPS:        %[[LOW:.*]] = arith.maxsi
// LOOPS:        %[[HIGH:.*]] = arith.minsi
// LOOPS-NEXT:   %[[BIAS:.*]] = aot.tile_load %bias[%{{.*}}] {strides = array<i64: 0, 1>} : memref<16xf32> -> vector<4x16xf32>
// LOOPS-NEXT:   %[[SUM:.*]] = scf.for %[[TAP:.*]] = %[[LOW]] to %[[HIGH]] step %{{.*}} iter_args(%[[ACC:.*]] = %[[BIAS]])
// LOOPS:          %[[X:.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 16, 1>} : memref<1x1x9x12x16xf32> -> vector<5x16xf32>
// LOOPS-NEXT:     %[[X0:.*]] = aot.tile_slice %[[X]] {offsets = array<i64: 0>, sizes = array<i64: 3>}
// LOOPS-NEXT:     %[[ACC0:.*]] = aot.tile_slice %[[ACC]] {offsets = array<i64: 1>, sizes = array<i64: 3>}
// LOOPS-NEXT:     %[[W0:.*]] = aot.tile_load %w[%{{.*}}, %[[TAP]], %{{.*}}, %{{.*}}] {strides = array<i64: 0, 1>}
// LOOPS-NEXT:     %[[P0:.*]] = math.fma %[[X0]], %[[W0]], %[[ACC0]] : vector<3x16xf32>
// LOOPS-NEXT:     %[[S0:.*]] = aot.tile_insert %[[P0]], %[[ACC]] {offsets = array<i64: 1>}
// LOOPS-NEXT:     %[[X1:.*]] = aot.tile_slice %[[X]] {offsets = array<i64: 0>, sizes = array<i64: 4>}
// LOOPS-NEXT:     %[[W1:.*]] = aot.tile_load %w
// LOOPS-NEXT:     %[[S1:.*]] = math.fma %[[X1]], %[[W1]], %[[S0]] : vector<4x16xf32>
// LOOPS-NEXT:     %[[X2:.*]] = aot.tile_slice %[[X]] {offsets = array<i64: 1>, sizes = array<i64: 4>}
// LOOPS-NEXT:     %[[W2:.*]] = aot.tile_load %w
// LOOPS-NEXT:     %[[S2:.*]] = math.fma %[[X2]], %[[W2]], %[[S1]] : vector<4x16xf32>
// LOOPS-NEXT:     scf.yield %[[S2]]
// LOOPS:        aot.tile_select
// LOOPS-NEXT:   aot.tile_store %{{.*}}, %out[%{{.*}}, %{{.*}}, %[[ROW]], %{{.*}}, %{{.*}}] {strides = array<i64: 16, 1>}
// LOOPS:        scf.for
// LOOPS:          -> vector<6x16xf32>
// LOOPS-COUNT-3:  math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4x16xf32>
// LOOPS:        aot.tile_store
// LOOPS:        scf.for
// LOOPS:          -> vector<5x16xf32>
// LOOPS-COUNT-2:  math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4x16xf32>
// LOOPS:          math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<3x16xf32>
// LOOPS:        aot.tile_store
// LOOPS-NOT:  aot.tile_store
func.func private @rows(%x: memref<1x1x9x12x16xf32>, %w: memref<1x3x3x16xf32>, %bias: memref<16xf32>, %out: memref<1x1x9x12x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x9x12x16xf32> to tensor<1x1x9x12x16xf32>
  %1 = bufferization.to_tensor %w : memref<1x3x3x16xf32> to tensor<1x3x3x16xf32>
  %2 = bufferization.to_tensor %bias : memref<16xf32> to tensor<16xf32>
  %3 = graph.blocked_depthwise_conv %0, %1, %2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #graph.window_schedule<lanes = 16, positions = 4>} : (tensor<1x1x9x12x16xf32>, tensor<1x3x3x16xf32>, tensor<16xf32>) -> tensor<1x1x9x12x16xf32>
  %4 = graph.relu %3 : (tensor<1x1x9x12x16xf32>) -> tensor<1x1x9x12x16xf32>
  bufferization.materialize_in_destination %4 in %out : (tensor<1x1x9x12x16xf32>, memref<1x1x9x12x16xf32>) -> ()
  func.return
}

// Groups of two channels: a row is loaded once, and once spread for each channel of the groups before its taps.
// LOOPS-LABEL: func.func private @groups
// LOOPS:      %[[X:.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 16, 1>} : memref<1x1x6x16xf32> -> vector<6x16xf32>
// LOOPS-NEXT: %[[FIRST:.*]] = aot.tile_shuffle %[[X]], %[[X]] {lanes = array<i64: 0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14>}
// LOOPS-NEXT: aot.tile_slice %[[FIRST]]
// LOOPS-COUNT-3: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4x16xf32>
// LOOPS-NEXT: %[[SECOND:.*]] = aot.tile_shuffle %[[X]], %[[X]] {lanes = array<i64: 1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11, 13, 13, 15, 15>}
// LOOPS-NEXT: aot.tile_slice %[[SECOND]]
// LOOPS-COUNT-3: math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<4x16xf32>
// LOOPS-NEXT: aot.tile_store
func.func private @groups(%x: memref<1x1x6x16xf32>, %w: memref<2x1x3x16xf32>, %out: memref<1x1x4x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x6x16xf32> to tensor<1x1x6x16xf32>
  %1 = bufferization.to_tensor %w : memref<2x1x3x16xf32> to tensor<2x1x3x16xf32>
  %2 = graph.blocked_lanes_conv %0, %1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.window_schedule<lanes = 16, positions = 4>} : (tensor<1x1x6x16xf32>, tensor<2x1x3x16xf32>) -> tensor<1x1x4x16xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x1x4x16xf32>, memref<1x1x4x16xf32>) -> ()
  func.return
}

// Blocks that are no vectors of the schedule stay scalar loops.
// LOOPS-LABEL: func.func private @narrow
// LOOPS-SAME: aot.scalar_fallback = "blocks of 4 channels for vectors of 16"
// LOOPS-NOT:  vector
func.func private @narrow(%x: memref<1x1x8x4xf32>, %w: memref<1x3x4xf32>, %out: memref<1x1x6x4xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x8x4xf32> to tensor<1x1x8x4xf32>
  %1 = bufferization.to_tensor %w : memref<1x3x4xf32> to tensor<1x3x4xf32>
  %2 = graph.blocked_depthwise_conv %0, %1 {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, schedule = #graph.window_schedule<lanes = 16, positions = 4>} : (tensor<1x1x8x4xf32>, tensor<1x3x4xf32>) -> tensor<1x1x6x4xf32>
  bufferization.materialize_in_destination %2 in %out : (tensor<1x1x6x4xf32>, memref<1x1x6x4xf32>) -> ()
  func.return
}

// Blocked: the stride apart, elements of a row are loaded once for the first and the last tap and once for the second.
// LOOPS-LABEL: func.func private @blocked_max
// LOOPS:      %[[LEAST:.*]] = arith.constant dense<"0x000080FF"> : vector<6x16xf32>
// LOOPS:      scf.for %{{.*}} iter_args(%[[ACC:.*]] = %[[LEAST]])
// LOOPS:        %[[ODD:.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 32, 1>} : memref<1x1x9x11x16xf32> -> vector<5x16xf32>
// LOOPS-NEXT:   %[[ACC0:.*]] = aot.tile_slice %[[ACC]] {offsets = array<i64: 1>, sizes = array<i64: 5>}
// LOOPS-NEXT:   %[[P0:.*]] = arith.maximumf %[[ACC0]], %[[ODD]] fastmath<nsz> : vector<5x16xf32>
// LOOPS-NEXT:   %[[M0:.*]] = aot.tile_insert %[[P0]], %[[ACC]] {offsets = array<i64: 1>}
// LOOPS-NEXT:   %[[EVEN:.*]] = aot.tile_load %x{{.*}} {strides = array<i64: 32, 1>} : memref<1x1x9x11x16xf32> -> vector<6x16xf32>
// LOOPS-NEXT:   %[[M1:.*]] = arith.maximumf %[[M0]], %[[EVEN]] fastmath<nsz> : vector<6x16xf32>
// LOOPS-NEXT:   %[[ACC2:.*]] = aot.tile_slice %[[M1]] {offsets = array<i64: 0>, sizes = array<i64: 5>}
// LOOPS-NEXT:   arith.maximumf %[[ACC2]], %[[ODD]] fastmath<nsz> : vector<5x16xf32>
func.func private @blocked_max(%x: memref<1x1x9x11x16xf32>, %out: memref<1x1x5x6x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x9x11x16xf32> to tensor<1x1x9x11x16xf32>
  %1 = graph.max_pool %0 {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, schedule = #graph.window_schedule<lanes = 16, positions = 8>} : (tensor<1x1x9x11x16xf32>) -> tensor<1x1x5x6x16xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x1x5x6x16xf32>, memref<1x1x5x6x16xf32>) -> ()
  func.return
}

// At the ends of a row fewer elements count.
// LOOPS-LABEL: func.func private @blocked_average
// LOOPS:      %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<6x16xf32>
// LOOPS:      %[[THREE:.*]] = arith.constant dense<3.000000e+00> : vector<4x16xf32>
// LOOPS:      %[[LAST:.*]] = arith.constant dense<2.000000e+00> : vector<1x16xf32>
// LOOPS:      %[[INNER:.*]] = aot.tile_insert %[[THREE]], %[[TWO]] {offsets = array<i64: 1>}
// LOOPS:      %[[COUNT:.*]] = aot.tile_insert %[[LAST]], %[[INNER]] {offsets = array<i64: 5>}
// LOOPS:      arith.divf %{{.*}}, %[[COUNT]] : vector<6x16xf32>
func.func private @blocked_average(%x: memref<1x1x9x6x16xf32>, %out: memref<1x1x9x6x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x9x6x16xf32> to tensor<1x1x9x6x16xf32>
  %1 = graph.average_pool %0 {kernel = array<i64: 1, 3>, strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>, schedule = #graph.window_schedule<lanes = 16, positions = 6>} : (tensor<1x1x9x6x16xf32>) -> tensor<1x1x9x6x16xf32>
  bufferization.materialize_in_destination %1 in %out : (tensor<1x1x9x6x16xf32>, memref<1x1x9x6x16xf32>) -> ()
  func.return
}
