// RUN: aotc-opt %s -p 'attach-target{target=test-m4},recompute-indices' | filecheck %s

// Conditions of indices, and indices that they choose, are computed again.
// CHECK-LABEL: func.func private @chosen
// CHECK:       scf.for %j = 
// CHECK-NEXT:    %sum = scf.for
// CHECK:         %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:    %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0 : index
// CHECK-NEXT:    %[[AT:.*]] = arith.select %[[FIRST]], %c1, %[[I]] : index
// CHECK-NEXT:    %[[J:.*]] = aot.opaque %j
// CHECK-NEXT:    memref.store %sum, %out[%[[AT]], %[[J]]]
func.func private @chosen(%out: memref<25x20xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %c25 = arith.constant 25 : index
  %c640 = arith.constant 640 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %first = arith.cmpi eq, %i, %c0 : index
    %at = arith.select %first, %c1, %i : index
    scf.for %j = %c0 to %c20 step %c1 {
      %sum = scf.for %k = %c0 to %c640 step %c1 iter_args(%s = %zero) -> (i32) {
        %t = arith.addi %s, %s : i32
        scf.yield %t : i32
      }
      memref.store %sum, %out[%at, %j] : memref<25x20xi32>
    }
  }
  func.return
}

// Numbers of other types stay where they are; so do indices that are hidden already, that come in pairs, or from one of
// two blocks.
// CHECK-LABEL: func.func private @others
// CHECK:       scf.for %j = 
// CHECK-NEXT:    %sum = scf.for
// CHECK:         }
// CHECK-NEXT:    %[[J:.*]] = aot.opaque %j
// CHECK-NEXT:    %more = arith.addi %sum, %number : i32
// CHECK-NEXT:    memref.store %more, %out[%hidden, %high]
// CHECK-NEXT:    memref.store %more, %out[%n, %[[J]]]
func.func private @others(%out: memref<25x20xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %c25 = arith.constant 25 : index
  %c640 = arith.constant 640 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %number = arith.index_cast %i : index to i32
    %hidden = aot.opaque %i
    %low, %high = arith.mului_extended %i, %c2 : index
    %first = arith.cmpi eq, %i, %c0 : index
    %n = scf.if %first -> (index) {
      scf.yield %c1 : index
    } else {
      scf.yield %c2 : index
    }
    scf.for %j = %c0 to %c20 step %c1 {
      %sum = scf.for %k = %c0 to %c640 step %c1 iter_args(%s = %zero) -> (i32) {
        %t = arith.addi %s, %s : i32
        scf.yield %t : i32
      }
      %more = arith.addi %sum, %number : i32
      memref.store %more, %out[%hidden, %high] : memref<25x20xi32>
      memref.store %more, %out[%n, %j] : memref<25x20xi32>
    }
  }
  func.return
}

// Nor is the index of a loop hidden that carries something.
// CHECK-LABEL: func.func private @carried
// CHECK:       scf.for %j = 
// CHECK-NEXT:    %sum = scf.for
// CHECK:         }
// CHECK-NEXT:    %[[J:.*]] = aot.opaque %j
// CHECK-NEXT:    memref.store %sum, %out[%p, %[[J]]]
func.func private @carried(%out: memref<25x20xi32>, %total: memref<1xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c20 = arith.constant 20 : index
  %c25 = arith.constant 25 : index
  %c640 = arith.constant 640 : index
  %zero = arith.constant 1 : i32
  %a = scf.for %p = %c0 to %c25 step %c1 iter_args(%b = %zero) -> (i32) {
    scf.for %j = %c0 to %c20 step %c1 {
      %sum = scf.for %k = %c0 to %c640 step %c1 iter_args(%s = %zero) -> (i32) {
        %t = arith.addi %s, %s : i32
        scf.yield %t : i32
      }
      memref.store %sum, %out[%p, %j] : memref<25x20xi32>
    }
    %c = arith.addi %b, %b : i32
    scf.yield %c : i32
  }
  memref.store %a, %total[%c0] : memref<1xi32>
  func.return
}
