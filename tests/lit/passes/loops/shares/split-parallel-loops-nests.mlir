// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s

// Nested loops with index arithmetic between them are one: each thread has half of 3 * 4096 iterations.
// CHECK-LABEL: @merged
// CHECK:         %[[HALF:.*]] = arith.constant 6144 : index
// CHECK:         arith.muli %thread, %[[HALF]] : index
// CHECK:         scf.for %i =
// CHECK:           scf.for %j =
func.func private @merged(%x: memref<3x4096xf32>, %y: memref<3x4096xf32>, %z: memref<3xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %n = arith.addi %i, %c0 : index
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<3x4096xf32>
      %e = math.exp %v : f32
      memref.store %e, %y[%n, %j] : memref<3x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// Not where something is stored between them: that one thread does, and of the inner loop each has half.
// CHECK-LABEL: @stored
// CHECK:         %[[HALF:.*]] = arith.constant 2048 : index
// CHECK:         scf.for %i = %c0 to %c3 step %c1
// CHECK:           memref.store
// CHECK:           arith.muli %{{.*}}, %[[HALF]] : index
// CHECK:           scf.for %j =
func.func private @stored(%x: memref<3x4096xf32>, %y: memref<3x4096xf32>, %z: memref<3xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %n = arith.addi %i, %c0 : index
    %f = arith.constant 0.0 : f32
    memref.store %f, %z[%i] : memref<3xf32>
    "scf.parallel"(%c0, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<3x4096xf32>
      %e = math.exp %v : f32
      memref.store %e, %y[%n, %j] : memref<3x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
// Nor where the inner one begins at what the outer one computes: threads share the outer one.
// CHECK-LABEL: @bounded
// CHECK:         scf.for %i = %{{.*}} to %{{.*}} step %c1 {
// CHECK-NEXT:      %[[N:.*]] = arith.addi %i, %c1 : index
// CHECK-NEXT:      scf.for %j = %[[N]] to %c4096 step %c1
func.func private @bounded(%x: memref<3x4096xf32>, %y: memref<3x4096xf32>, %z: memref<3xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4096 = arith.constant 4096 : index
  "scf.parallel"(%c0, %c3, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
  ^bb0(%i: index):
    %n = arith.addi %i, %c1 : index
    "scf.parallel"(%n, %c4096, %c1) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> ({
    ^bb0(%j: index):
      %v = memref.load %x[%i, %j] : memref<3x4096xf32>
      %e = math.exp %v : f32
      memref.store %e, %y[%n, %j] : memref<3x4096xf32>
      scf.reduce
    }) : (index, index, index) -> ()
    scf.reduce
  }) : (index, index, index) -> ()
  func.return
}
