// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=0}' --split-input-file | filecheck %s

// What stays in the code, though an argument costs nothing here: divisors, distances of shifts, steps of loops, constant
// indices. But other constants do not.
// CHECK: func.func private @divisor_0
// CHECK: func.func private @divisor_1
// CHECK: func.func private @shift_0
// CHECK: func.func private @shift_1
// CHECK: func.func private @step_0
// CHECK: func.func private @step_1
// CHECK: func.func private @index_0
// CHECK: func.func private @index_1
// CHECK: func.func private @factor_0
// CHECK-NOT: @factor_1
func.func private @divisor_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func private @divisor_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func private @shift_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.shli %x, %c : i32
  func.return %0 : i32
}
func.func private @shift_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.shli %x, %c : i32
  func.return %0 : i32
}
func.func private @step_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : index
  %a = arith.constant 0 : index
  %b = arith.constant 30 : index
  %0 = scf.for %i = %a to %b step %c iter_args(%s = %x) -> (i32) {
    %t = arith.addi %s, %x : i32
    scf.yield %t : i32
  }
  func.return %0 : i32
}
func.func private @step_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : index
  %a = arith.constant 0 : index
  %b = arith.constant 30 : index
  %0 = scf.for %i = %a to %b step %c iter_args(%s = %x) -> (i32) {
    %t = arith.addi %s, %x : i32
    scf.yield %t : i32
  }
  func.return %0 : i32
}
func.func private @index_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : index
  %b = aot.buffer %p : !aot.ptr<i32> to memref<8xi32>
  %0 = memref.load %b[%c] : memref<8xi32>
  func.return %0 : i32
}
func.func private @index_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : index
  %b = aot.buffer %p : !aot.ptr<i32> to memref<8xi32>
  %0 = memref.load %b[%c] : memref<8xi32>
  func.return %0 : i32
}
func.func private @factor_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func private @factor_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func @run(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.entry} {
  %0 = func.call @divisor_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %1 = func.call @divisor_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %2 = func.call @shift_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %3 = func.call @shift_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %4 = func.call @step_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %5 = func.call @step_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %6 = func.call @index_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %7 = func.call @index_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %8 = func.call @factor_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %9 = func.call @factor_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  func.return %x : i32
}

// -----

// An extent that is the same in both is a number.
// CHECK-LABEL: func.func private @scale_0
// CHECK-SAME:  (%x: !aot.ptr<i8>, %out: !aot.ptr<i8>, %size: index, %value: i8) -> i32
// CHECK:       scf.for %[[I:.*]] = %{{.*}} to %size step
// CHECK:       scf.for %[[J:.*]] = %{{.*}} to %n step
// CHECK:       %[[E:.*]] = arith.constant 8 : index
// CHECK:       %[[R:.*]] = arith.muli %[[I]], %[[E]] : index
// CHECK:       %[[A:.*]] = arith.addi %[[R]], %[[J]] : index
// CHECK:       memref.load %{{.*}}[%[[A]]] : memref<?xi8>
func.func private @scale_0(%x: !aot.ptr<i8>, %out: !aot.ptr<i8>) -> i32 attributes {aot.kernel, aot.io_bytes = 32 : i64, aot.parameters = [{aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 2, 8>}]} {
  %a = aot.buffer %x : !aot.ptr<i8> to memref<1x2x8xi8>
  %b = aot.buffer %out : !aot.ptr<i8> to memref<1x2x8xi8>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  %m = arith.constant 2 : index
  %five = arith.constant 5 : i8
  %three = arith.constant 3 : i8
  scf.for %i = %zero to %m step %one {
    scf.for %j = %zero to %n step %one {
      %0 = memref.load %a[%zero, %i, %j] : memref<1x2x8xi8>
      %1 = arith.addi %0, %five : i8
      %2 = arith.muli %1, %three : i8
      %3 = arith.xori %2, %1 : i8
      %4 = arith.subi %3, %0 : i8
      %5 = arith.muli %4, %4 : i8
      %6 = arith.xori %5, %0 : i8
      %7 = arith.addi %6, %5 : i8
      %8 = arith.muli %7, %4 : i8
      %9 = arith.xori %8, %0 : i8
      memref.store %9, %b[%zero, %i, %j] : memref<1x2x8xi8>
    }
  }
  %s = arith.constant 0 : i32
  func.return %s : i32
}
func.func private @scale_1(%x: !aot.ptr<i8>, %out: !aot.ptr<i8>) -> i32 attributes {aot.kernel, aot.io_bytes = 120 : i64, aot.parameters = [{aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 3, 8>}]} {
  %a = aot.buffer %x : !aot.ptr<i8> to memref<1x3x8xi8>
  %b = aot.buffer %out : !aot.ptr<i8> to memref<1x3x8xi8>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 8 : index
  %m = arith.constant 3 : index
  %seven = arith.constant 7 : i8
  %three = arith.constant 3 : i8
  scf.for %i = %zero to %m step %one {
    scf.for %j = %zero to %n step %one {
      %0 = memref.load %a[%zero, %i, %j] : memref<1x3x8xi8>
      %1 = arith.addi %0, %seven : i8
      %2 = arith.muli %1, %three : i8
      %3 = arith.xori %2, %1 : i8
      %4 = arith.subi %3, %0 : i8
      %5 = arith.muli %4, %4 : i8
      %6 = arith.xori %5, %0 : i8
      %7 = arith.addi %6, %5 : i8
      %8 = arith.muli %7, %4 : i8
      %9 = arith.xori %8, %0 : i8
      memref.store %9, %b[%zero, %i, %j] : memref<1x3x8xi8>
    }
  }
  %s = arith.constant 0 : i32
  func.return %s : i32
}
func.func @run(%x: !aot.ptr<i8>, %y: !aot.ptr<i8>) -> i32 attributes {aot.entry} {
  %0 = func.call @scale_0(%x, %y) : (!aot.ptr<i8>, !aot.ptr<i8>) -> i32
  aot.check %0
  %1 = func.call @scale_1(%x, %y) : (!aot.ptr<i8>, !aot.ptr<i8>) -> i32
  aot.check %1
  func.return %1 : i32
}
