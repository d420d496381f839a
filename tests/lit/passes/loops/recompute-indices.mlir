// RUN: aotc-opt %s -p 'attach-target{target=test-m4},recompute-indices' | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=test-m0},recompute-indices' | filecheck %s --check-prefix M0
// RUN: aotc-opt %s -p 'attach-target{target=test-m4},recompute-indices{own-work=1000}' | filecheck %s --check-prefix OWN

// Large tiles: the indices of all loops over tiles are hidden, once for the sum and once for what follows it.
// CHECK-LABEL: func.func private @large
// CHECK:      scf.for %i = 
// CHECK-NEXT:   %row = arith.muli %i, %{{.*}} : index
// CHECK-NEXT:   scf.for %j = 
// CHECK-NEXT:     %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:     %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NEXT:     %sum = scf.for
// CHECK-NEXT:       arith.addi %[[ROW]], %k : index
// CHECK:          %[[I2:.*]] = aot.opaque %i
// CHECK-NEXT:     %[[J2:.*]] = aot.opaque %j
// CHECK-NEXT:     memref.store %sum, %out[%[[I2]], %[[J2]]]
// Where a tile should be larger still, its own index is not hidden.
// OWN-LABEL: func.func private @large
// OWN:         aot.opaque %i
// OWN-NOT:     aot.opaque %j
// OWN-LABEL: func.func private @small
func.func private @large(%x: memref<4000xi32>, %out: memref<25x20xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c20 = arith.constant 20 : index
  %c25 = arith.constant 25 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %row = arith.muli %i, %c2 : index
    scf.for %j = %c0 to %c20 step %c1 {
      %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> (i32) {
        %at = arith.addi %row, %k : index
        %v = memref.load %x[%at] : memref<4000xi32>
        %t = arith.addi %s, %v : i32
        scf.yield %t : i32
      }
      memref.store %sum, %out[%i, %j] : memref<25x20xi32>
    }
  }
  func.return
}

// Smaller ones: not their own index, from which a few pointers come.
// CHECK-LABEL: func.func private @small
// CHECK:        scf.for %j = 
// CHECK-NEXT:     %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:     %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NOT:    aot.opaque %j
// CHECK:          %[[I2:.*]] = aot.opaque %i
// CHECK-NEXT:     memref.store %sum, %out[%[[I2]], %j]
// Where an address takes several instructions, the loop around is asked; whose work is enough.
// M0-LABEL: func.func private @small
// M0:      scf.for %i = 
// M0-NEXT:   %[[I:.*]] = aot.opaque %i
// M0-NEXT:   %[[ROW:.*]] = arith.muli %[[I]], %{{.*}} : index
// M0-NEXT:   scf.for %j = 
// M0-NEXT:     %sum = scf.for
// M0-NEXT:       arith.addi %[[ROW]], %k : index
// M0:          memref.store %sum, %out[%[[I]], %j]
// M0-NOT:    aot.opaque
// M0-LABEL: func.func private @written_in_a_loop
func.func private @small(%x: memref<4000xi32>, %out: memref<25x20xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  %c20 = arith.constant 20 : index
  %c25 = arith.constant 25 : index
  %zero = arith.constant 0 : i32
  scf.for %i = %c0 to %c25 step %c1 {
    %row = arith.muli %i, %c2 : index
    scf.for %j = %c0 to %c20 step %c1 {
      %sum = scf.for %k = %c0 to %c9 step %c1 iter_args(%s = %zero) -> (i32) {
        %at = arith.addi %row, %k : index
        %v = memref.load %x[%at] : memref<4000xi32>
        %t = arith.addi %s, %v : i32
        scf.yield %t : i32
      }
      memref.store %sum, %out[%i, %j] : memref<25x20xi32>
    }
  }
  func.return
}

// A loop that writes the sums of a tile is part of it; what is computed of the data stays as it is.
// CHECK-LABEL: func.func private @written_in_a_loop
// CHECK:       %base = memref.load
// CHECK:       scf.for %i = 
// CHECK-NEXT:    %[[V:.*]] = aot.opaque %i
// CHECK-NEXT:    scf.for %{{.*}} iter_args
// CHECK:         %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:    scf.for %n = 
// CHECK-NOT:     aot.opaque
// CHECK:         memref.store %{{.*}}, %out[%[[I]], %n, %m]
func.func private @written_in_a_loop(%x: memref<4000xi32>, %out: memref<25x4x64xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c25 = arith.constant 25 : index
  %c64 = arith.constant 64 : index
  %base = memref.load %x[%c0] : memref<4000xi32>
  scf.for %i = %c0 to %c25 step %c1 {
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %base) -> (i32) {
      %at = arith.addi %i, %k : index
      %v = memref.load %x[%at] : memref<4000xi32>
      %t = arith.addi %s, %v : i32
      scf.yield %t : i32
    }
    scf.for %n = %c0 to %c4 step %c1 {
      scf.for %m = %c0 to %c64 step %c1 {
        %w = arith.addi %sum, %base : i32
        memref.store %w, %out[%i, %n, %m] : memref<25x4x64xi32>
      }
    }
  }
  func.return
}

// What is computed of the own index is computed again behind the sum.
// CHECK-LABEL: func.func private @neighbours
// CHECK:       scf.for %i = 
// CHECK-NEXT:    %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:    %next = arith.addi %[[I]], %{{.*}} : index
// CHECK-NEXT:    memref.load %b[%next]
// CHECK-NEXT:    scf.for %{{.*}} iter_args
// CHECK:         %[[I2:.*]] = aot.opaque %i
// CHECK-NEXT:    %[[NEXT:.*]] = arith.addi %[[I2]], %{{.*}} : index
// CHECK-NEXT:    memref.store %{{.*}}, %out[%[[NEXT]]]
func.func private @neighbours(%b: memref<26xi32>, %out: memref<26xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c25 = arith.constant 25 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c25 step %c1 {
    %next = arith.addi %i, %c1 : index
    %first = memref.load %b[%next] : memref<26xi32>
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %first) -> (i32) {
      %t = arith.muli %s, %first : i32
      scf.yield %t : i32
    }
    memref.store %sum, %out[%next] : memref<26xi32>
  }
  func.return
}

// Each of several loops over tiles hides the index around them.
// CHECK-LABEL: func.func private @borders
// CHECK:       scf.for %i = 
// CHECK-NEXT:    %[[I:.*]] = aot.opaque %i
// CHECK-NEXT:    %row = arith.muli %[[I]], %{{.*}} : index
// CHECK-NEXT:    scf.for %j = 
// CHECK:           memref.load %x[%row, %j]
// CHECK:         %[[I2:.*]] = aot.opaque %i
// CHECK-NEXT:    %[[ROW:.*]] = arith.muli %[[I2]], %{{.*}} : index
// CHECK-NEXT:    scf.for %[[J:.*]] = 
// CHECK:           memref.load %x[%[[ROW]], %[[J]]]
func.func private @borders(%x: memref<50x64xi32>, %out: memref<25x64xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c25 = arith.constant 25 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c25 step %c1 {
    %row = arith.muli %i, %c2 : index
    scf.for %j = %c0 to %c64 step %c1 {
      %v = memref.load %x[%row, %j] : memref<50x64xi32>
      memref.store %v, %out[%i, %j] : memref<25x64xi32>
    }
    scf.for %j = %c0 to %c64 step %c1 {
      %v = memref.load %x[%row, %j] : memref<50x64xi32>
      memref.store %v, %out[%i, %j] : memref<25x64xi32>
    }
  }
  func.return
}

// Elementwise loops are no tiles that are worth it.
// CHECK-LABEL: func.func private @elementwise
// CHECK-NOT: aot.opaque
func.func private @elementwise(%x: memref<25xi32>, %out: memref<25xi32>) attributes {aot.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c25 = arith.constant 25 : index
  scf.for %i = %c0 to %c25 step %c1 {
    %v = memref.load %x[%i] : memref<25xi32>
    memref.store %v, %out[%i] : memref<25xi32>
  }
  func.return
}
