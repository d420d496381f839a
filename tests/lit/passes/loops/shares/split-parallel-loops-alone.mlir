// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2}' | filecheck %s

// So little work pays for a phase where a single thread would read what others wrote, and not where that is a weight.
// What is computed outside says nothing of its reads.
builtin.module {
// CHECK-LABEL: @copy_result
// CHECK:         %thread = aot.thread
func.func private @copy_result(%x: memref<32x64xf32>, %y: memref<32x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c32, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<32x64xf32>
    memref.store %v, %y[%i, %j] : memref<32x64xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
// CHECK-LABEL: @copy_weight
// CHECK-NOT:     aot.thread
// CHECK-LABEL: @main
func.func private @copy_weight(%x: memref<32x64xf32>, %y: memref<32x64xf32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  "scf.parallel"(%c0, %c0, %c32, %c64, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
  ^bb0(%i: index, %j: index):
    %v = memref.load %x[%i, %j] : memref<32x64xf32>
    memref.store %v, %y[%i, %j] : memref<32x64xf32>
    scf.reduce
  }) : (index, index, index, index, index, index) -> ()
  func.return
}
func.func private @outside(memref<32x64xf32>, memref<32x64xf32>) attributes {aot.kernel, aot.in_place = [[]]}
func.func @main(%x: memref<32x64xf32>, %y: memref<32x64xf32>, %z: memref<32x64xf32>) {
  %w = aot.weight "w" : memref<32x64xf32>
  func.call @outside(%w, %y) : (memref<32x64xf32>, memref<32x64xf32>) -> ()
  func.call @copy_result(%x, %y) : (memref<32x64xf32>, memref<32x64xf32>) -> ()
  func.call @copy_weight(%w, %z) : (memref<32x64xf32>, memref<32x64xf32>) -> ()
  func.return
}
}
