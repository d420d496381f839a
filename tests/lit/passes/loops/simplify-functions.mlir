// RUN: aotc-opt %s -p simplify-functions | filecheck %s

// A fold makes another one possible; what is left of it has no use.
// CHECK-LABEL: func.func @folded
// CHECK-NEXT:    [[SIX:%.*]] = arith.constant 6 : index
// CHECK-NEXT:    func.return [[SIX]]
func.func @folded() -> index {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.addi %c1, %c2 : index
  %c6 = arith.muli %c3, %c2 : index
  func.return %c6 : index
}

// What is known before a loop is known in it; what a loop computes is not known after it.
// CHECK-LABEL: func.func @scopes
// CHECK:         [[A:%.*]] = math.exp %x : f32
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      [[B:%.*]] = math.log %x : f32
// CHECK-NEXT:      memref.store [[A]], %m
// CHECK-NEXT:      memref.store [[B]], %m
// CHECK:         [[C:%.*]] = math.log %x : f32
// CHECK-NEXT:    func.return [[C]]
func.func @scopes(%x: f32, %m: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = math.exp %x : f32
  scf.for %i = %c0 to %c8 step %c1 {
    %a1 = math.exp %x : f32
    %b = math.log %x : f32
    memref.store %a1, %m[%i] : memref<8xf32>
    memref.store %b, %m[%i] : memref<8xf32>
  }
  %b1 = math.log %x : f32
  func.return %b1 : f32
}

// Two reads are one where nothing is written between them, in this block or one in it.
// CHECK-LABEL: func.func @reads
// CHECK-NEXT:    [[A:%.*]] = memref.load %m[%i]
// CHECK-NEXT:    [[B:%.*]] = arith.addf [[A]], [[A]]
// CHECK-NEXT:    memref.store [[B]], %m[%i]
// CHECK-NEXT:    [[C:%.*]] = memref.load %m[%i]
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      [[D:%.*]] = memref.load %m[%i]
// CHECK-NEXT:      [[E:%.*]] = arith.mulf [[C]], [[D]]
// CHECK-NEXT:      memref.store [[E]], %m[%i]
// CHECK-NEXT:    }
// CHECK-NEXT:    [[F:%.*]] = memref.load %m[%i]
// CHECK-NEXT:    func.return [[F]]
func.func @reads(%m: memref<8xf32>, %i: index, %p: i1) -> f32 {
  %0 = memref.load %m[%i] : memref<8xf32>
  %1 = memref.load %m[%i] : memref<8xf32>
  %2 = arith.addf %0, %1 : f32
  memref.store %2, %m[%i] : memref<8xf32>
  %3 = memref.load %m[%i] : memref<8xf32>
  scf.if %p {
    %4 = memref.load %m[%i] : memref<8xf32>
    %5 = arith.mulf %3, %4 : f32
    memref.store %5, %m[%i] : memref<8xf32>
  }
  %6 = memref.load %m[%i] : memref<8xf32>
  func.return %6 : f32
}

// Conditionals with equal sides are one; those with other types, attributes or constants are not.
// CHECK-LABEL: func.func @regions
// CHECK:         [[A:%.*]] = scf.if %p -> (f32) {
// CHECK:         [[B:%.*]] = scf.if %p -> (f32) {
// CHECK-NOT:     scf.if
// CHECK:         [[C:%.*]] = arith.addf [[A]], [[A]] : f32
// CHECK-NEXT:    [[D:%.*]] = arith.addf [[A]], [[A]] fastmath<fast> : f32
// CHECK-NEXT:    func.return [[B]], [[C]], [[D]]
func.func @regions(%x: f32, %p: i1) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %0 = scf.if %p -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %one : f32
  }
  %1 = scf.if %p -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %one : f32
  }
  %2 = scf.if %p -> (f32) {
    scf.yield %x : f32
  } else {
    scf.yield %two : f32
  }
  %3 = arith.addf %0, %1 : f32
  %4 = arith.addf %0, %1 fastmath<fast> : f32
  func.return %2, %3, %4 : f32, f32, f32
}

// A loop without effects and all that only it uses go; what writes stays, used or not.
// CHECK-LABEL: func.func @unused
// CHECK-NEXT:    [[S:%.*]] = func.call @effect
// CHECK-NEXT:    func.return
func.func @unused(%m: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %c8 step %c1 iter_args(%s = %zero) -> (f32) {
    %v = memref.load %m[%i] : memref<8xf32>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  %status = func.call @effect() : () -> i32
  func.return
}
func.func private @effect() -> i32

// Two buffers of one type are two.
// CHECK-LABEL: func.func @buffers
// CHECK-NEXT:    [[A:%.*]] = memref.alloc()
// CHECK-NEXT:    [[B:%.*]] = memref.alloc()
// CHECK-NEXT:    func.call @fill([[A]], [[B]])
func.func @buffers() {
  %a = memref.alloc() : memref<8xf32>
  %b = memref.alloc() : memref<8xf32>
  func.call @fill(%a, %b) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
func.func private @fill(memref<8xf32>, memref<8xf32>) -> ()

// A loop carries what is read, not what it only hands on.
// CHECK-LABEL: func.func @unread
// CHECK:         [[A:%.*]] = scf.for %i = %{{.*}} to %n step %{{.*}} iter_args([[B:%.*]] = %x) -> (f32) {
// CHECK-NEXT:      [[C:%.*]] = arith.addf [[B]], [[B]] : f32
// CHECK-NEXT:      scf.yield [[C]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    [[D:%.*]] = scf.while ([[E:%.*]] = [[A]]) : (f32) -> f32 {
// CHECK-NEXT:      [[F:%.*]] = arith.cmpf olt, [[E]], %y : f32
// CHECK-NEXT:      scf.condition([[F]]) [[E]] : f32
// CHECK-NEXT:    } do {
// CHECK-NEXT:    ^{{.*}}([[G:%.*]]: f32):
// CHECK-NEXT:      [[H:%.*]] = arith.addf [[G]], %x : f32
// CHECK-NEXT:      scf.yield [[H]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return [[D]] : f32
func.func @unread(%n: index, %x: f32, %y: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %y, %q = %x) -> (f32, f32) {
    %r = arith.mulf %q, %y : f32
    %s = arith.addf %q, %q : f32
    scf.yield %r, %s : f32, f32
  }
  %b:3 = scf.while (%p = %a#1, %q = %x, %t = %y) : (f32, f32, f32) -> (f32, f32, f32) {
    %c = arith.cmpf olt, %p, %y : f32
    scf.condition(%c) %p, %q, %t : f32, f32, f32
  } do {
  ^bb0(%p : f32, %q : f32, %t : f32):
    %r = arith.addf %p, %x : f32
    %s = arith.mulf %p, %y : f32
    scf.yield %r, %s, %t : f32, f32, f32
  }
  func.return %b#0 : f32
}

// What the condition, the body or another value of a loop reads is carried on.
// CHECK-LABEL: func.func @read
// CHECK:         scf.while ({{%.*}} = %x, {{%.*}} = %y) : (f32, f32) -> (f32, f32) {
// CHECK:         scf.for {{.*}} iter_args({{%.*}} = %x, {{%.*}} = %y) -> (f32, f32) {
func.func @read(%n: index, %x: f32, %y: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b:2 = scf.while (%p = %x, %q = %y) : (f32, f32) -> (f32, f32) {
    %c = arith.cmpf olt, %q, %y : f32
    scf.condition(%c) %p, %q : f32, f32
  } do {
  ^bb0(%p : f32, %q : f32):
    %r = arith.addf %p, %x : f32
    scf.yield %r, %r : f32, f32
  }
  %a:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (f32, f32) {
    scf.yield %q, %p : f32, f32
  }
  %s = arith.addf %b#0, %a#0 : f32
  func.return %s : f32
}

// Each of the patterns of an operation is tried, also where it has no folder.
// CHECK-LABEL: func.func @patterns
// CHECK-NEXT:    func.return %x : f32
func.func @patterns(%x: f32, %y: f32, %p: i1) -> f32 {
  %true = arith.constant true
  %a = arith.select %true, %x, %y : f32
  %b = arith.select %p, %a, %a : f32
  func.return %b : f32
}
