// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p convert-graph-to-loops | filecheck %s --check-prefix=LOOPS

// CHECK: graph.lookup %{{.*}}, %{{.*}} {width = 64 : i64, row = 64 : i64} : (tensor<8x64xui8>, tensor<256xi8>) -> tensor<8x64xi8>

// In registers of the schedule's lanes; a table is there once, whatever is looked up in it. A second table has its own.
// LOOPS-LABEL: func.func private @in_registers
// LOOPS:         [[X:%.*]] = aot.tile_load %x[{{.*}}] {strides = array<i64: {{.*}}, 16, 1>} : memref<8x64xi8> -> vector<1x4x16xi8>
// LOOPS-NEXT:    [[T:%.*]] = aot.tile_load %t[%{{.*}}] {strides = array<i64: 64, 1>} : memref<256xi8> -> vector<4x64xi8>
// LOOPS-NEXT:    [[A:%.*]] = aot.tile_lookup [[X]], [[T]] {width = 64 : i64} : vector<1x4x16xi8>, vector<4x64xi8>
// LOOPS-NEXT:    [[S:%.*]] = aot.tile_load %s[%{{.*}}] {strides = array<i64: 64, 1>} : memref<256xi8> -> vector<4x64xi8>
// LOOPS-NEXT:    [[B:%.*]] = aot.tile_lookup [[A]], [[S]]
// LOOPS-NEXT:    [[C:%.*]] = aot.tile_lookup [[B]], [[T]]
// LOOPS-NEXT:    aot.tile_store [[C]], %out
func.func private @in_registers(%x: memref<8x64xui8>, %t: memref<256xi8>, %s: memref<256xi8>, %out: memref<8x64xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %0 = bufferization.to_tensor %x : memref<8x64xui8> to tensor<8x64xui8>
  %1 = bufferization.to_tensor %t : memref<256xi8> to tensor<256xi8>
  %2 = bufferization.to_tensor %s : memref<256xi8> to tensor<256xi8>
  %3 = graph.lookup %0, %1 {width = 64, row = 64} : (tensor<8x64xui8>, tensor<256xi8>) -> tensor<8x64xi8>
  %4 = graph.lookup %3, %2 {width = 64, row = 64} : (tensor<8x64xi8>, tensor<256xi8>) -> tensor<8x64xi8>
  %5 = graph.lookup %4, %1 {width = 64, row = 64} : (tensor<8x64xi8>, tensor<256xi8>) -> tensor<8x64xi8>
  bufferization.materialize_in_destination %5 in %out : (tensor<8x64xi8>, memref<8x64xi8>) -> ()
  func.return
}

// Without registers for the table, and of a table of numbers that are no bytes, one by one.
// LOOPS-LABEL: func.func private @one_by_one
// LOOPS-SAME:    aot.scalar_fallback = "no axis is contiguous along the lanes"
// LOOPS-NOT:     aot.tile
func.func private @one_by_one(%x: memref<8x64xi8>, %t: memref<256xi8>, %out: memref<8x64xi8>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %0 = bufferization.to_tensor %x : memref<8x64xi8> to tensor<8x64xi8>
  %1 = bufferization.to_tensor %t : memref<256xi8> to tensor<256xi8>
  %2 = graph.lookup %0, %1 : (tensor<8x64xi8>, tensor<256xi8>) -> tensor<8x64xi8>
  bufferization.materialize_in_destination %2 in %out : (tensor<8x64xi8>, memref<8x64xi8>) -> ()
  func.return
}
// LOOPS-LABEL: func.func private @of_words
// LOOPS-SAME:    aot.scalar_fallback = "tiles are looked up in a table of i32"
// LOOPS-NOT:     aot.tile
func.func private @of_words(%x: memref<8x64xi8>, %t: memref<256xi32>, %out: memref<8x64xi32>) attributes {aot.kernel, aot.schedule = #graph.elementwise_schedule<lanes = 16, registers = 4>} {
  %0 = bufferization.to_tensor %x : memref<8x64xi8> to tensor<8x64xi8>
  %1 = bufferization.to_tensor %t : memref<256xi32> to tensor<256xi32>
  %2 = graph.lookup %0, %1 {width = 64, row = 64} : (tensor<8x64xi8>, tensor<256xi32>) -> tensor<8x64xi32>
  bufferization.materialize_in_destination %2 in %out : (tensor<8x64xi32>, memref<8x64xi32>) -> ()
  func.return
}
