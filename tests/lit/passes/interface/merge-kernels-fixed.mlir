// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=0}' | filecheck %s

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
