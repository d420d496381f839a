// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},choose-schedule' | filecheck %s --check-prefix=CHOICE
// RUN: aotc-opt %s -p 'convert-graph-to-loops,serialize-parallel-loops,canonicalize,cse,licm' | filecheck %s

// A weight that does not stay in cache is prefetched, panel by panel: not in L1 where all rows stay in L2, else not in
// L2. A computed matrix, a small one, and one for few rows are not.
// CHOICE-LABEL: func.func @choice
// CHOICE:       graph.matmul %x, %{{.*}} {schedule = {{.*}} order = columns, prefetch>}
// CHOICE-NEXT:  graph.matmul %x, %v {schedule = {{.*}} order = columns>}
// CHOICE-NEXT:  graph.matmul %x, %{{.*}} {schedule = {{.*}} order = rows>}
// CHOICE-NEXT:  graph.matmul %few, %{{.*}} {schedule = {{.*}} order = columns>}
// CHOICE-NEXT:  graph.conv %image, %{{.*}} {{.*}}order = columns, prefetch>}
// CHOICE-NEXT:  graph.conv %large, %{{.*}} {{.*}}order = columns, prefetch, mc = 4>}
// CHOICE:       graph.matmul %near, %{{.*}} {schedule = {{.*}} order = columns, prefetch>}
// CHOICE-NEXT:  graph.matmul %many, %{{.*}} {schedule = {{.*}} order = rows>}
func.func @choice(%x: tensor<64x1024xf32>, %v: tensor<1024x512xf32>, %few: tensor<8x1024xf32>, %image: tensor<1x1024x7x7xf32>, %large: tensor<1x1024x40x40xf32>, %near: tensor<512x128xf32>, %many: tensor<4096x128xf32>) {
  %0 = graph.constant dense<1.0> : tensor<1024x512xf32>
  %1 = graph.constant dense<1.0> : tensor<1024x32xf32>
  %2 = graph.constant dense<1.0> : tensor<256x1024x1x1xf32>
  %3 = graph.matmul %x, %0 : (tensor<64x1024xf32>, tensor<1024x512xf32>) -> tensor<64x512xf32>
  %4 = graph.matmul %x, %v : (tensor<64x1024xf32>, tensor<1024x512xf32>) -> tensor<64x512xf32>
  %5 = graph.matmul %x, %1 : (tensor<64x1024xf32>, tensor<1024x32xf32>) -> tensor<64x32xf32>
  %6 = graph.matmul %few, %0 : (tensor<8x1024xf32>, tensor<1024x512xf32>) -> tensor<8x512xf32>
  %7 = graph.conv %image, %2 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1024x7x7xf32>, tensor<256x1024x1x1xf32>) -> tensor<1x256x7x7xf32>
  %8 = graph.conv %large, %2 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64} : (tensor<1x1024x40x40xf32>, tensor<256x1024x1x1xf32>) -> tensor<1x256x40x40xf32>
  %9 = graph.constant dense<1.0> : tensor<128x256xf32>
  %10 = graph.matmul %near, %9 : (tensor<512x128xf32>, tensor<128x256xf32>) -> tensor<512x256xf32>
  %11 = graph.matmul %many, %9 : (tensor<4096x128xf32>, tensor<128x256xf32>) -> tensor<4096x256xf32>
  func.return
}

// Four rows of tiles, each of which asks for a quarter of 6 x 8 elements: two in each of 6 steps, from 3 * 4 * row on;
// both steps of an iteration ask for one line.
// CHECK-LABEL: func.func private @product
// CHECK:       %[[THREE:.*]] = arith.constant 3 : index
// CHECK:       %[[FOUR:.*]] = arith.constant 4 : index
// CHECK:       scf.for %[[PANEL:.*]] = %{{.*}} to %{{.*}} step
// CHECK:         %[[NEXT:.*]] = arith.addi %[[PANEL]]
// CHECK-NEXT:    scf.for %[[PLACE:.*]] = %{{.*}} to %[[FOUR]] step
// CHECK-NEXT:      %[[ROW:.*]] = arith.muli %[[PLACE]], %[[THREE]]
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[ROW]], %[[FOUR]]
// CHECK:             %[[ASKED:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK-NEXT:        aot.prefetch %w[%[[NEXT]], %{{.*}}, %[[ASKED]]] : memref<2x6x8xf32>
// CHECK-NEXT:        aot.tile_load %x
// CHECK-NEXT:        aot.tile_load %w[%[[PANEL]], %{{.*}}, %{{.*}}]
// CHECK-NOT:         aot.prefetch
// CHECK:             scf.yield
func.func private @product(%x: memref<12x6xf32>, %w: memref<2x6x8xf32>, %out: memref<12x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<12x6xf32> to tensor<12x6xf32>
  %1 = bufferization.to_tensor %w : memref<2x6x8xf32> to tensor<2x6x8xf32>
  %2 = graph.packed_matmul %0, %1 {columns = 16 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 3, nr = 1, unroll = 2, order = columns, prefetch>} : (tensor<12x6xf32>, tensor<2x6x8xf32>) -> tensor<12x16xf32>
  bufferization.materialize_in_destination %2 in writable %out : (tensor<12x16xf32>, memref<12x16xf32>) -> ()
  func.return
}

// Positions of a convolution are its rows.
// CHECK-LABEL: func.func private @convolution
// CHECK:       scf.for %[[PANEL:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[PANEL]]
// CHECK-NEXT:    scf.for %[[LINE:.*]] = %{{.*}} to %[[WIDTH:.*]] step
// CHECK-NEXT:      %[[POSITION:.*]] = arith.muli %[[LINE]], %[[WIDTH]]
// CHECK-NEXT:      %[[FIRST:.*]] = arith.muli %[[POSITION]]
// CHECK:             %[[ASKED:.*]] = arith.addi %[[FIRST]], %{{.*}} : index
// CHECK-NEXT:        aot.prefetch %w[%[[NEXT]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[ASKED]]] : memref<2x1x1x1x8x8xf32>
// CHECK-NOT:         aot.prefetch
// CHECK:             scf.yield
func.func private @convolution(%x: memref<1x1x4x4x8xf32>, %w: memref<2x1x1x1x8x8xf32>, %out: memref<1x2x4x4x8xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<1x1x4x4x8xf32> to tensor<1x1x4x4x8xf32>
  %1 = bufferization.to_tensor %w : memref<2x1x1x1x8x8xf32> to tensor<2x1x1x1x8x8xf32>
  %2 = graph.blocked_conv %0, %1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, group = 1 : i64, channels = 8 : i64, outputs = 16 : i64, block = 8 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 4, nr = 1, unroll = 2, order = columns, prefetch>} : (tensor<1x1x4x4x8xf32>, tensor<2x1x1x1x8x8xf32>) -> tensor<1x2x4x4x8xf32>
  bufferization.materialize_in_destination %2 in writable %out : (tensor<1x2x4x4x8xf32>, memref<1x2x4x4x8xf32>) -> ()
  func.return
}

// One tile of rows asks for what it reads 16 KiB later, 512 steps of 8 elements, a line in each step.
// CHECK-LABEL: func.func private @ahead
// CHECK:       %[[LATER:.*]] = arith.constant 4096 : index
// CHECK:       scf.for %[[PANEL:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           %[[ASKED:.*]] = arith.addi %{{.*}}, %[[LATER]] : index
// CHECK-NEXT:      aot.prefetch %w[%[[PANEL]], %{{.*}}, %[[ASKED]]] : memref<2x6x8xf32>
// CHECK-NEXT:      aot.tile_load %x
func.func private @ahead(%x: memref<3x6xf32>, %w: memref<2x6x8xf32>, %out: memref<3x16xf32>) attributes {aot.kernel} {
  %0 = bufferization.to_tensor %x : memref<3x6xf32> to tensor<3x6xf32>
  %1 = bufferization.to_tensor %w : memref<2x6x8xf32> to tensor<2x6x8xf32>
  %2 = graph.packed_matmul %0, %1 {columns = 16 : i64, schedule = #graph.matmul_schedule<lanes = 8, mr = 3, nr = 1, unroll = 2, order = columns, ahead>} : (tensor<3x6xf32>, tensor<2x6x8xf32>) -> tensor<3x16xf32>
  bufferization.materialize_in_destination %2 in writable %out : (tensor<3x16xf32>, memref<3x16xf32>) -> ()
  func.return
}
