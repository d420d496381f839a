// RUN: aotc-opt %s -p 'attach-target{target=test-avx512},split-parallel-loops{threads=2},canonicalize,cse' | filecheck %s

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
