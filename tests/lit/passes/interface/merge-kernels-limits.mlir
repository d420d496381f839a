// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=0 most-parameters=2}' | filecheck %s
// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=0 most-parameters=1}' | filecheck %s --check-prefix MANY
// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=1}' | filecheck %s
// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=2}' | filecheck %s --check-prefix MANY

// A function may have as many constants as arguments as the option says, and they must not take more code than the
// other function: two constants in two functions of five operations.
// CHECK:      func.func private @many_0(%x: i32, %value: i32, %value_1: i32) -> i32
// CHECK-NOT:  @many_1
// MANY:       func.func private @many_0(%x: i32) -> i32
// MANY:       func.func private @many_1(%x: i32) -> i32
func.func private @many_0(%x: i32) -> i32 attributes {aot.kernel} {
  %a = arith.constant 1 : i32
  %b = arith.constant 2 : i32
  %0 = arith.addi %x, %a : i32
  %1 = arith.xori %0, %b : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  func.return %3 : i32
}
func.func private @many_1(%x: i32) -> i32 attributes {aot.kernel} {
  %a = arith.constant 3 : i32
  %b = arith.constant 4 : i32
  %0 = arith.addi %x, %a : i32
  %1 = arith.xori %0, %b : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  func.return %3 : i32
}
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @many_0(%x) : (i32) -> i32
  %1 = func.call @many_1(%0) : (i32) -> i32
  func.return %1 : i32
}
