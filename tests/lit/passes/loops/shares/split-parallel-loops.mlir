// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=1}' | filecheck %s --check-prefix ONE

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
