// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s

// Who reads what all wrote waits for all, in every iteration, also for those who still read when it is overwritten.
func.func private @scratch(%x: memref<4x4096xf32>, %y: memref<4x4096xf32>, %s: memref<4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c4 step %c1 {
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<4x4096xf32>
      memref.store %v, %s[%j] : memref<4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %k = arith.subi %c4095, %j : index
      %v = memref.load %s[%k] : memref<4096xf32>
      memref.store %v, %y[%i, %j] : memref<4x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: @scratch
// CHECK:         %phase = aot.phase 8
// CHECK:         %[[WITHIN:.*]] = arith.cmpi slt, %phase,
// CHECK-NEXT:    scf.if %[[WITHIN]] {
// CHECK-NEXT:      %[[ITERATION:.*]] = arith.divui %phase, %[[TWO:.*]] : index
// CHECK-NEXT:      %[[PART:.*]] = arith.remui %phase, %[[TWO]] : index
// CHECK-NEXT:      %[[NEXT:.*]] = arith.addi %[[ITERATION]], %c1
// CHECK-NEXT:      scf.for %i = %[[ITERATION]] to %[[NEXT]] step %c1 {
// CHECK-NEXT:        %[[FIRST:.*]] = arith.cmpi eq, %[[PART]],
// CHECK-NEXT:        scf.if %[[FIRST]] {
// CHECK:               memref.store {{.*}}, %s
// CHECK:             %[[SECOND:.*]] = arith.cmpi eq, %[[PART]], %c1
// CHECK-NEXT:        scf.if %[[SECOND]] {
// CHECK:               memref.load %s
// CHECK:               memref.store {{.*}}, %y

// Phases before and after those of a loop.
func.func private @around(%x: memref<4096xf32>, %y: memref<4096xf32>, %s: memref<4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %v = memref.load %x[%j] : memref<4096xf32>
    memref.store %v, %s[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  scf.for %i = %c0 to %c6 step %c2 {
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %k = arith.subi %c4095, %j : index
      %v = memref.load %s[%k] : memref<4096xf32>
      memref.store %v, %y[%j] : memref<4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %k = arith.subi %c4095, %j : index
      %v = memref.load %y[%k] : memref<4096xf32>
      memref.store %v, %s[%j] : memref<4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %k = arith.subi %c4095, %j : index
    %v = memref.load %s[%k] : memref<4096xf32>
    memref.store %v, %y[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @around
// CHECK:         %phase = aot.phase 8
// CHECK:         arith.cmpi eq, %phase, %[[ZERO:.*]] : index
// CHECK:         arith.cmpi slt, %phase, %{{.*}} : index
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      arith.cmpi sge, %phase, %[[UNIT:.*]] : index
// CHECK-NEXT:      scf.if
// CHECK-NEXT:        %[[SINCE:.*]] = arith.subi %phase, %[[UNIT]] : index
// CHECK-NEXT:        %[[TURN:.*]] = arith.divui %[[SINCE]], %c2 : index
// CHECK-NEXT:        %[[LOW:.*]] = arith.muli %[[TURN]], %c2 : index
// CHECK:             scf.for %i = %[[LOW]] to
// CHECK:         arith.cmpi eq, %phase, %{{.*}} : index

// What is still read is not overwritten.
func.func private @overwritten(%x: memref<4096xf32>, %y: memref<4096xf32>, %s: memref<4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %k = arith.subi %c4095, %j : index
    %v = memref.load %s[%k] : memref<4096xf32>
    memref.store %v, %y[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %v = memref.load %x[%j] : memref<4096xf32>
    memref.store %v, %s[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @overwritten
// CHECK:         aot.phase 2

// What all threads read must not change from phase to phase, for whoever comes late.
func.func private @read_by_all(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %v = memref.load %x[%j] : memref<4096xf32>
    memref.store %v, %y[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  %first = memref.load %y[%c0] : memref<4096xf32>
  "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    memref.store %first, %y[%j] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @read_by_all
// CHECK-NOT:     aot.thread
// CHECK:         func.return

// Phases must be known in number, and nothing but memory goes from one to the next.
func.func private @unknown(%x: memref<4096xf32>, %y: memref<4096xf32>, %n: memref<1xindex>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  %end = memref.load %n[%c0] : memref<1xindex>
  scf.for %i = %c0 to %end step %c1 {
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %k = arith.subi %c4095, %j : index
      %v = memref.load %y[%k] : memref<4096xf32>
      memref.store %v, %y[%j] : memref<4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
  }
  func.return
}
// CHECK-LABEL: @unknown
// CHECK-NOT:     aot.thread
// CHECK:         func.return

func.func private @carried(%x: memref<4096xf32>, %y: memref<4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  %one = arith.constant 1.0 : f32
  %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%before = %one) -> (f32) {
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %k = arith.subi %c4095, %j : index
      %v = memref.load %y[%k] : memref<4096xf32>
      %w = arith.mulf %v, %before : f32
      memref.store %w, %y[%j] : memref<4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    %after = arith.addf %before, %before : f32
    scf.yield %after : f32
  }
  func.return
}
// CHECK-LABEL: @carried
// CHECK-NOT:     aot.thread
// CHECK:         func.return
