// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s

// Of a product of images and weights threads divide what is the larger one: they read the other as a whole. The loops
// around are loops as they were.
func.func private @images(%x: memref<64x4096xf32>, %w: memref<64x16xf32>, %y: memref<64x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c64, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%panel: index, %row: index):
    scf.for %k = %c0 to %c64 step %c1 {
      %v = memref.load %x[%row, %k] : memref<64x4096xf32>
      %u = memref.load %w[%panel, %c1] : memref<64x16xf32>
      %p = arith.mulf %u, %v : f32
      memref.store %p, %y[%panel, %row] : memref<64x64xf32>
    }
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @images
// CHECK-DAG:     %[[SHARE:.*]] = arith.constant 32 : index
// CHECK:         %[[LOW:.*]] = arith.muli %thread, %[[SHARE]] : index
// CHECK-NEXT:    %[[HIGH:.*]] = arith.addi %[[LOW]], %[[SHARE]] : index
// CHECK-NEXT:    scf.for %panel = %c0 to %c64 step %{{.*}} {
// CHECK-NEXT:      scf.for %row = %[[LOW]] to %[[HIGH]] step %{{.*}} {

// What begins with the row of an image depends on it, too; a buffer that every thread reads whole decides nothing.
func.func private @begins(%x: memref<4096x64xf32>, %w: memref<64x16xf32>, %y: memref<64x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c64, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%panel: index, %row: index):
    %last = arith.addi %row, %c64 : index
    scf.for %k = %row to %last step %c1 {
      %v = memref.load %x[%k, %c1] : memref<4096x64xf32>
      %u = memref.load %w[%panel, %c1] : memref<64x16xf32>
      %p = arith.mulf %u, %v : f32
      memref.store %p, %y[%panel, %row] : memref<64x64xf32>
    }
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @begins
// CHECK:         %[[LOW:.*]] = arith.muli %thread,
// CHECK-NEXT:    %[[HIGH:.*]] = arith.addi %[[LOW]],
// CHECK-NEXT:    scf.for %panel = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      scf.for %row = %[[LOW]] to %[[HIGH]] step %{{.*}} {

// A weight comes from the caches, which is faster than what the other thread wrote: 256 KB of it decide less than 64 KB
// of an activation.
func.func private @weights(%w: memref<64x1024xf32>, %x: memref<64x256xf32>, %y: memref<64x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c64, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%panel: index, %row: index):
    scf.for %k = %c0 to %c1 step %c1 {
      %v = memref.load %x[%row, %k] : memref<64x256xf32>
      %u = memref.load %w[%panel, %k] : memref<64x1024xf32>
      %p = arith.mulf %u, %v : f32
      memref.store %p, %y[%panel, %row] : memref<64x64xf32>
    }
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
func.func @main(%x: memref<64x256xf32>, %y: memref<64x64xf32>) {
  %w = aot.weight "w" : memref<64x1024xf32>
  func.call @weights(%w, %x, %y) : (memref<64x1024xf32>, memref<64x256xf32>, memref<64x64xf32>) -> ()
  func.return
}
// CHECK-LABEL: @weights
// CHECK:         %[[LOW:.*]] = arith.muli %thread,
// CHECK-NEXT:    %[[HIGH:.*]] = arith.addi %[[LOW]],
// CHECK-NEXT:    scf.for %panel = %{{.*}} to %{{.*}} step %{{.*}} {
// CHECK-NEXT:      scf.for %row = %[[LOW]] to %[[HIGH]] step %{{.*}} {
