// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s

// All of %x is read for each column: threads divide the rows, and take turns with the last row, column by column.
func.func private @turns(%x: memref<4097xf32>, %y: memref<4097x24xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c24 = arith.constant 24 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c24, %c2) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      %v = memref.load %x[%j] : memref<4097xf32>
      memref.store %v, %y[%j, %i] : memref<4097x24xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    %w = memref.load %x[%c4096] : memref<4097xf32>
    memref.store %w, %y[%c4096, %i] : memref<4097x24xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @turns
// CHECK:         %thread = aot.thread
// CHECK:         scf.for %i = %c0 to %c24 step %[[TWO:[^ ]*]] {
// CHECK-NEXT:      %[[LOW:.*]] = arith.muli %thread, %{{.*}}
// CHECK-NEXT:      %[[HIGH:.*]] = arith.addi %[[LOW]],
// CHECK-NEXT:      scf.for %j = %[[LOW]] to %[[HIGH]] step
// CHECK:           %[[TURN:.*]] = arith.divui %i, %[[TWO]]
// CHECK-NEXT:      %[[WHO:.*]] = arith.remui %[[TURN]], %[[TWO]]
// CHECK-NEXT:      %[[MINE:.*]] = arith.cmpi eq, %thread, %[[WHO]]
// CHECK-NEXT:      scf.if %[[MINE]] {
// CHECK-NEXT:        memref.load %x
// CHECK-NEXT:        memref.store
// CHECK-NEXT:      }
// CHECK:         func.return

// The same where results may take over the memory of %z, of which each is read where it is written.
func.func private @in_place(%x: memref<4097xf32>, %z: memref<4097x24xf32> {aot.may_alias}, %y: memref<4097x24xf32> {aot.may_alias}) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c24, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      %v = memref.load %x[%j] : memref<4097xf32>
      %u = memref.load %z[%j, %i] : memref<4097x24xf32>
      %s = arith.addf %v, %u : f32
      memref.store %s, %y[%j, %i] : memref<4097x24xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    %w = memref.load %x[%c4096] : memref<4097xf32>
    %r = memref.load %z[%c4096, %i] : memref<4097x24xf32>
    %t = arith.addf %w, %r : f32
    memref.store %t, %y[%c4096, %i] : memref<4097x24xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @in_place
// CHECK-NOT:     aot.phase
// CHECK:         scf.for %i = %c0 to %c24 step
// CHECK:           scf.for %j = %{{.*}} to %{{.*}} step
// CHECK:           arith.remui %i,
// CHECK:         func.return

// What one loop reads another one may overwrite: threads would wait for each other in each of 24 columns, so the columns
// are divided.
func.func private @overwritten(%x: memref<4097xf32>, %z: memref<4097x24xf32> {aot.may_alias}, %y: memref<4097x24xf32> {aot.may_alias}, %u: memref<4097x24xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c24, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      %v = memref.load %z[%j, %i] : memref<4097x24xf32>
      memref.store %v, %u[%j, %i] : memref<4097x24xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      %v = memref.load %x[%j] : memref<4097xf32>
      memref.store %v, %y[%j, %i] : memref<4097x24xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @overwritten
// CHECK-NOT:     aot.phase
// CHECK:         %[[LOW:.*]] = arith.muli %thread, %{{.*}}
// CHECK-NEXT:    %[[HIGH:.*]] = arith.addi %[[LOW]],
// CHECK-NEXT:    scf.for %i = %[[LOW]] to %[[HIGH]] step
// CHECK-NEXT:      scf.for %j = %c0 to
// CHECK:         func.return
