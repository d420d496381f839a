// RUN: aotc-opt %s -p 'serialize-parallel-loops' | filecheck %s

// CHECK-LABEL: func.func @nest
func.func @nest(%x: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK:      scf.for %i = %c0 to %c4 step %c1 {
  // CHECK-NEXT:   scf.for %j = %c0 to %c8 step %c1 {
  // CHECK-NEXT:     %v = memref.load %x[%i, %j] : memref<4x8xf32>
  // CHECK-NEXT:     memref.store %v, %x[%i, %j] : memref<4x8xf32>
  // CHECK-NEXT:   }
  // CHECK-NEXT: }
  "scf.parallel"(%c0, %c0, %c4, %c8, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<4x8xf32>
    memref.store %v, %x[%i, %j] : memref<4x8xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}

// CHECK-LABEL: func.func @reduction
func.func @reduction(%x: memref<4x8xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  // CHECK:      [[R:%.*]] = scf.for %i = %c0 to %c4 step %c1 iter_args([[A:%.*]] = %init) -> (f32) {
  // CHECK-NEXT:   [[S:%.*]] = scf.for %j = %c0 to %c8 step %c1 iter_args([[B:%.*]] = [[A]]) -> (f32) {
  // CHECK-NEXT:     %v = memref.load %x[%i, %j] : memref<4x8xf32>
  // CHECK-NEXT:     [[T:%.*]] = arith.addf [[B]], %v : f32
  // CHECK-NEXT:     scf.yield [[T]] : f32
  // CHECK-NEXT:   }
  // CHECK-NEXT:   scf.yield [[S]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return [[R]] : f32
  %r = "scf.parallel"(%c0, %c0, %c4, %c8, %c1, %c1, %init) <{operandSegmentSizes = array<i32: 2, 2, 2, 1>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<4x8xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %sum = arith.addf %a, %b : f32
      scf.reduce.return %sum : f32
    }
  }) : (index, index, index, index, index, index, f32) -> f32
  func.return %r : f32
}

// A parallel loop within a parallel loop.
// CHECK-LABEL: func.func @nested
func.func @nested(%x: memref<4x4xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK:     scf.for %i
  // CHECK:       scf.for %j
  // CHECK-NOT: scf.parallel
  "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    "scf.parallel"(%c0, %c4, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb1(%j: index):
      memref.store %v, %x[%i, %j] : memref<4x4xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
