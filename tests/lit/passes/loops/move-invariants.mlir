// RUN: aotc-opt %s -p move-invariants | filecheck %s

// What depends on no index leaves all loops, and what depends on the outer one the inner loop.
// CHECK-LABEL: func.func @nested
// CHECK:         arith.muli %a, %a : index
// CHECK-NEXT:    scf.for [[I:%.*]] =
// CHECK-NEXT:      arith.addi {{%.*}}, [[I]] : index
// CHECK-NEXT:      scf.for [[J:%.*]] =
// CHECK-NEXT:        arith.addi {{%.*}}, [[J]] : index
// CHECK-NEXT:        memref.store
func.func @nested(%a: index, %v: f32, %m: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c8 step %c1 {
      %base = arith.muli %a, %a : index
      %row = arith.addi %base, %i : index
      %at = arith.addi %row, %j : index
      memref.store %v, %m[%at] : memref<64xf32>
    }
  }
  func.return
}

// What is read may have been written; what is divided by may be zero where the loop does not run at all.
// CHECK-LABEL: func.func @effects
// CHECK:         scf.for
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      arith.divsi
// CHECK-NEXT:      arith.index_cast
func.func @effects(%a: i32, %b: i32, %n: index, %m: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %m[%c0] : memref<64xf32>
    %q = arith.divsi %a, %b : i32
    %at = arith.index_cast %q : i32 to index
    memref.store %v, %m[%at] : memref<64xf32>
  }
  func.return
}

// An operation with regions moves as a whole, unless something in it varies or has an effect.
// CHECK-LABEL: func.func @regions
// CHECK:         scf.if %c -> (f32)
// CHECK:         scf.for [[I:%.*]] = {{.*}} iter_args([[S:%.*]] =
// CHECK-NEXT:      scf.if %c -> (f32)
// CHECK:             arith.addf [[S]], %x
// CHECK:           scf.if %c -> (f32)
// CHECK-NEXT:        memref.load
// CHECK:           scf.yield
func.func @regions(%c: i1, %x: f32, %y: f32, %m: memref<64xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %r = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %x) -> (f32) {
    %free = scf.if %c -> (f32) {
      %t = arith.addf %x, %y : f32
      scf.yield %t : f32
    } else {
      scf.yield %y : f32
    }
    %varies = scf.if %c -> (f32) {
      %t = arith.addf %s, %x : f32
      scf.yield %t : f32
    } else {
      scf.yield %free : f32
    }
    %reads = scf.if %c -> (f32) {
      %t = memref.load %m[%c0] : memref<64xf32>
      scf.yield %t : f32
    } else {
      scf.yield %y : f32
    }
    %1 = arith.addf %varies, %reads : f32
    scf.yield %1 : f32
  }
  func.return %r : f32
}

// What is no function stays.
// CHECK: aot.global @sizes
aot.global @sizes : i64 = [1 : i64] {sym_visibility = "private"}
