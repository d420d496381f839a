// RUN: aotc-opt %s -p 'attach-target{target=test-m4},recompute-indices{own-work=40}' | filecheck %s

// An iteration of 40 operations is worth one that is repeated, one less is not.
// CHECK-LABEL: func.func private @worth
// CHECK:       %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:  arith.addi
// CHECK-NEXT:  memref.store %{{.*}}, %out[%[[I]]]
// CHECK:       memref.store %{{.*}}, %out[%j]
func.func private @worth(%out: memref<25xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c18 = arith.constant 18 : index
  %c25 = arith.constant 25 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %sum = scf.for %k = %c0 to %c18 step %c1 iter_args(%s = %zero) -> (i32) {
      %t = arith.addi %s, %s : i32
      scf.yield %t : i32
    }
    %more = arith.addi %sum, %sum : i32
    memref.store %more, %out[%i] : memref<25xi32>
  }
  scf.for %j = %c0 to %c25 step %c1 {
    %sum = scf.for %k = %c0 to %c18 step %c1 iter_args(%s = %zero) -> (i32) {
      %t = arith.addi %s, %s : i32
      scf.yield %t : i32
    }
    memref.store %sum, %out[%j] : memref<25xi32>
  }
  func.return
}

// Bounds and steps of which nobody knows how large they are: such loops run twice.
// CHECK-LABEL: func.func private @unknown
// CHECK:       scf.for %i
// CHECK-NOT:   aot.opaque
// CHECK:       scf.for %j
// CHECK:       aot.opaque %j
func.func private @unknown(%out: memref<25xi32>, %n: memref<1xindex>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c25 = arith.constant 25 : index
  %zero = arith.constant 0 : i32
  %m = memref.load %n[%c0] : memref<1xindex>
  scf.for %i = %c0 to %c25 step %c1 {
    %a = scf.for %k = %m to %c25 step %c1 iter_args(%s = %zero) -> (i32) {
      scf.yield %s : i32
    }
    %b = scf.for %k = %c0 to %m step %c1 iter_args(%s = %a) -> (i32) {
      scf.yield %s : i32
    }
    %c = scf.for %k = %c0 to %c25 step %m iter_args(%s = %b) -> (i32) {
      scf.yield %s : i32
    }
    memref.store %c, %out[%i] : memref<25xi32>
  }
  scf.for %j = %c0 to %c25 step %c1 {
    %a = scf.for %k = %c0 to %c25 step %c1 iter_args(%s = %zero) -> (i32) {
      scf.yield %s : i32
    }
    %b = scf.for %k = %c0 to %c25 step %c1 iter_args(%s = %a) -> (i32) {
      scf.yield %s : i32
    }
    memref.store %b, %out[%j] : memref<25xi32>
  }
  func.return
}

// Of two sums, the index is hidden once.
// CHECK-LABEL: func.func private @sums
// CHECK:       scf.for %i
// CHECK-NEXT:    %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:    %a = scf.for
// CHECK-NEXT:      memref.load %x[%[[I]]]
// CHECK:         %b = scf.for
// CHECK-NEXT:      memref.load %x[%[[I]]]
// CHECK:         %[[I2:.*]] = aot.opaque %i
// CHECK-NEXT:    memref.store %b, %out[%[[I2]]]
func.func private @sums(%x: memref<25xi32>, %out: memref<25xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c25 = arith.constant 25 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %a = scf.for %k = %c0 to %c25 step %c1 iter_args(%s = %zero) -> (i32) {
      %v = memref.load %x[%i] : memref<25xi32>
      %t = arith.addi %s, %v : i32
      scf.yield %t : i32
    }
    %b = scf.for %k = %c0 to %c25 step %c1 iter_args(%s = %a) -> (i32) {
      %v = memref.load %x[%i] : memref<25xi32>
      %t = arith.addi %s, %v : i32
      scf.yield %t : i32
    }
    memref.store %b, %out[%i] : memref<25xi32>
  }
  func.return
}

// A body in which indices are hidden is not asked again, by the second loop in it.
// CHECK-LABEL: func.func private @again
// CHECK:       scf.for %i
// CHECK-NEXT:    %[[O:.*]] = aot.opaque %o
// CHECK-NEXT:    scf.for
// CHECK:         %[[O2:.*]] = aot.opaque %o
// CHECK-NEXT:    scf.for
// CHECK-NOT:   aot.opaque
func.func private @again(%x: memref<25x25xi32>, %out: memref<25x25xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c13 = arith.constant 13 : index
  scf.for %o = %c0 to %c13 step %c1 {
    scf.for %i = %c0 to %c13 step %c1 {
      scf.for %j = %c0 to %c13 step %c1 {
        %v = memref.load %x[%o, %i] : memref<25x25xi32>
        memref.store %v, %out[%o, %i] : memref<25x25xi32>
      }
      scf.for %j = %c0 to %c13 step %c1 {
        %v = memref.load %x[%o, %i] : memref<25x25xi32>
        memref.store %v, %out[%o, %i] : memref<25x25xi32>
      }
    }
  }
  func.return
}
