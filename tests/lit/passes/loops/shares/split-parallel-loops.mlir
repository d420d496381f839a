// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s
// RUN: aotc-opt %s -p 'split-parallel-loops{threads=1}' | filecheck %s --check-prefix ONE

// Two threads take halves of the outer dimension; the inner one stays whole.
func.func private @halves(%x: memref<56x128xf32>, %y: memref<56x128xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c56 = arith.constant 56 : index
  %c128 = arith.constant 128 : index
  "scf.parallel"(%c0, %c0, %c56, %c128, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<56x128xf32>
    memref.store %v, %y[%i, %j] : memref<56x128xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
// CHECK:       aot.threads = 2 : i64
// CHECK-LABEL: @halves
// CHECK-DAG:     %[[C28:.*]] = arith.constant 28 : index
// CHECK-DAG:     %[[C128:.*]] = arith.constant 128 : index
// CHECK-DAG:     %thread = aot.thread
// CHECK:         %[[LOW:.*]] = arith.muli %thread, %[[C28]] : index
// CHECK-NEXT:    %[[HIGH:.*]] = arith.addi %[[LOW]], %[[C28]] : index
// CHECK-NEXT:    scf.for %i = %[[LOW]] to %[[HIGH]] step
// CHECK-NEXT:      scf.for %j = %{{.*}} to %[[C128]] step

// Three is not even: two dimensions are counted through together, and the loop of the second one covers what of the
// share lies in an iteration of the first. Steps stay steps.
func.func private @together(%x: memref<3x80x64xf32>, %y: memref<3x80x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c80 = arith.constant 80 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c0, %c3, %c80, %c64, %c1, %c4, %c1) <{operandSegmentSizes = array<i32: 3, 3, 3, 0>}> ({
  ^bb0(%i: index, %j: index, %k: index):
    %v = memref.load %x[%i, %j, %k] : memref<3x80x64xf32>
    memref.store %v, %y[%i, %j, %k] : memref<3x80x64xf32>
    scf.reduce
  }) : (index, index, index, index, index, index, index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @together
// CHECK:         %[[LOW:.*]] = arith.muli %thread, %{{.*}}
// CHECK:         %[[HIGH:.*]] = arith.addi %[[LOW]],
// CHECK:         %[[FIRST:.*]] = arith.divui %[[LOW]],
// CHECK:         scf.for %i = %[[FIRST]] to
// CHECK:           %[[BASE:.*]] = arith.muli %i,
// CHECK:           %[[L:.*]] = arith.subi %[[LOW]], %[[BASE]]
// CHECK:           %[[H:.*]] = arith.subi %[[HIGH]], %[[BASE]]
// CHECK:           arith.maxsi %[[L]],
// CHECK:           arith.minsi %[[H]],
// CHECK:           scf.for %j =
// CHECK:             scf.for %k = %{{.*}} to %{{.*}} step

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

// A store beside loops is done by one thread, with what is computed for it; the one that has had less.
func.func private @alone(%x: memref<4097xf32>, %y: memref<4097xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4095 = arith.constant 4095 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c4095, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %v = memref.load %x[%j] : memref<4097xf32>
    memref.store %v, %y[%j] : memref<4097xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  %w = memref.load %x[%c4095] : memref<4097xf32>
  %sum = arith.addf %w, %w : f32
  memref.store %sum, %y[%c4095] : memref<4097xf32>
  func.return
}
// CHECK-LABEL: @alone
// CHECK-NOT:     aot.phase
// CHECK:         %[[MINE:.*]] = arith.cmpi eq, %thread, %{{.*}} : index
// CHECK-NEXT:    scf.if %[[MINE]] {
// CHECK-NEXT:      %w = memref.load
// CHECK-NEXT:      %sum = arith.addf
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }

// Where the outer loop cannot be divided, the inner one is.
func.func private @inner(%x: memref<3x4096xf32>, %b: memref<3xf32>, %y: memref<3x4096xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %bias = memref.load %b[%i] : memref<3xf32>
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<3x4096xf32>
      %w = arith.addf %v, %bias : f32
      memref.store %w, %y[%i, %j] : memref<3x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @inner
// CHECK:         scf.for %i = %c0 to %c3 step
// CHECK:           scf.for %j = %[[LOW:.*]] to %[[HIGH:.*]] step

// In place: one nest reads what another one overwrites, so these wait; a nest that reads where it writes does not.
func.func private @in_place(%x: memref<4096xf32> {aot.may_alias}, %y: memref<4096xf32> {aot.may_alias}, %z: memref<64x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c2048 = arith.constant 2048 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c0, %c64, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %k = arith.muli %j, %c64 : index
    %l = arith.addi %k, %i : index
    %v = memref.load %x[%l] : memref<4096xf32>
    memref.store %v, %z[%i, %j] : memref<64x64xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  "scf.parallel"(%c0, %c2048, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<4096xf32>
    memref.store %v, %y[%i] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  "scf.parallel"(%c2048, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<4096xf32>
    memref.store %v, %y[%i] : memref<4096xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @in_place
// CHECK:         %[[UNIT:.*]] = arith.constant 1 : index
// CHECK:         %phase = aot.phase 2
// CHECK:         arith.cmpi eq, %phase, %{{.*}} : index
// CHECK:         memref.store {{.*}}, %z
// CHECK:         %[[LATER:.*]] = arith.cmpi eq, %phase, %[[UNIT]] : index
// CHECK-NEXT:    scf.if %[[LATER]]
// CHECK:         memref.store {{.*}}, %y
// CHECK:         scf.if %[[LATER]]
// CHECK:         memref.store {{.*}}, %y

// Little work is left to one thread.
func.func private @small(%x: memref<64xf32>, %y: memref<64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %y[%i] : memref<64xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @small
// CHECK-NOT:     aot.thread
// CHECK:         scf.for %i = %c0 to %c64 step %c1

// Remainders are arithmetic, too.
func.func private @remainders(%x: memref<56x128xf32>, %y: memref<56x128xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c56 = arith.constant 56 : index
  %c128 = arith.constant 128 : index
  "scf.parallel"(%c0, %c0, %c56, %c128, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %k = arith.remui %j, %c56 : index
    %v = memref.load %x[%i, %k] : memref<56x128xf32>
    memref.store %v, %y[%i, %j] : memref<56x128xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @remainders
// CHECK:         aot.thread

// One iteration more than two halves: the first thread does it.
func.func private @uneven(%x: memref<4097xf32>, %y: memref<4097xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4097 = arith.constant 4097 : index
  "scf.parallel"(%c0, %c4097, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%j: index):
    %v = memref.load %x[%j] : memref<4097xf32>
    memref.store %v, %y[%j] : memref<4097xf32>
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @uneven
// CHECK:         %[[LOW:.*]] = arith.muli %thread, %{{.*}} : index
// CHECK:         %[[BEFORE:.*]] = arith.minsi %thread, %{{.*}} : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.addi %[[LOW]], %[[BEFORE]] : index
// CHECK:         %[[WITH:.*]] = arith.minsi
// CHECK:         scf.for %j = %[[FIRST]] to

// Bounds that are only known inside the outer loop keep the inner one there.
func.func private @bounds(%x: memref<64x128xf32>, %y: memref<64x128xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c64, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %c128 = arith.constant 128 : index
    "scf.parallel"(%c0, %c128, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<64x128xf32>
      memref.store %v, %y[%i, %j] : memref<64x128xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// ONE-LABEL: @bounds
// ONE:         scf.for %i =
// ONE-NEXT:      %c128 = arith.constant 128
// ONE-NEXT:      scf.for %j = %c0 to %c128

// What one thread does in every iteration it need not wait for.
func.func private @in_turn(%x: memref<4x4096xf32>, %y: memref<4x4096xf32>, %s: memref<1xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c4096 = arith.constant 4096 : index
  scf.for %i = %c0 to %c4 step %c1 {
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<4x4096xf32>
      memref.store %v, %y[%i, %j] : memref<4x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    %count = memref.load %s[%c0] : memref<1xf32>
    %more = arith.addf %count, %count : f32
    memref.store %more, %s[%c0] : memref<1xf32>
  }
  func.return
}
// CHECK-LABEL: @in_turn
// CHECK-NOT:     aot.phase
// CHECK:         func.return

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
