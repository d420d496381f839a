// RUN: aotc-opt %s -p merge-kernels | filecheck %s

// Small and shared ones are merged, with each other, too; one that is neither stays apart, and so does one without a name.
// CHECK:      func.func private @small_0(%x: i32, %value: i32)
// CHECK-NOT:  @small_1
// CHECK-NOT:  @shared_2
// CHECK:      func.func private @fast_3(%x: i32)
// CHECK:      func.func private @fast_4(%x: i32)
// CHECK-LABEL: func.func @run
// CHECK:      func.call @small_0(%x, %{{.*}})
// CHECK:      func.call @small_0(
// CHECK:      func.call @small_0(
// CHECK:      func.call @fast_3(
// CHECK:      func.call @fast_4(
builtin.module attributes {aot.forms = {small = ["a", "b"], shared = ["c"]}} {
func.func private @small_0(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.addi %x, %c : i32
  %1 = arith.muli %0, %x : i32
  %2 = arith.xori %1, %0 : i32
  %3 = arith.subi %2, %1 : i32
  %4 = arith.muli %3, %2 : i32
  %5 = arith.xori %4, %3 : i32
  %6 = arith.subi %5, %4 : i32
  %7 = arith.muli %6, %5 : i32
  func.return %7 : i32
} loc("a")
func.func private @small_1(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 4 : i32
  %0 = arith.addi %x, %c : i32
  %1 = arith.muli %0, %x : i32
  %2 = arith.xori %1, %0 : i32
  %3 = arith.subi %2, %1 : i32
  %4 = arith.muli %3, %2 : i32
  %5 = arith.xori %4, %3 : i32
  %6 = arith.subi %5, %4 : i32
  %7 = arith.muli %6, %5 : i32
  func.return %7 : i32
} loc("b")
func.func private @shared_2(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.addi %x, %c : i32
  %1 = arith.muli %0, %x : i32
  %2 = arith.xori %1, %0 : i32
  %3 = arith.subi %2, %1 : i32
  %4 = arith.muli %3, %2 : i32
  %5 = arith.xori %4, %3 : i32
  %6 = arith.subi %5, %4 : i32
  %7 = arith.muli %6, %5 : i32
  func.return %7 : i32
} loc("c")
func.func private @fast_3(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 6 : i32
  %0 = arith.addi %x, %c : i32
  %1 = arith.muli %0, %x : i32
  %2 = arith.xori %1, %0 : i32
  %3 = arith.subi %2, %1 : i32
  %4 = arith.muli %3, %2 : i32
  %5 = arith.xori %4, %3 : i32
  %6 = arith.subi %5, %4 : i32
  %7 = arith.muli %6, %5 : i32
  func.return %7 : i32
} loc("d")
func.func private @fast_4(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 7 : i32
  %0 = arith.addi %x, %c : i32
  %1 = arith.muli %0, %x : i32
  %2 = arith.xori %1, %0 : i32
  %3 = arith.subi %2, %1 : i32
  %4 = arith.muli %3, %2 : i32
  %5 = arith.xori %4, %3 : i32
  %6 = arith.subi %5, %4 : i32
  %7 = arith.muli %6, %5 : i32
  func.return %7 : i32
} loc("e")
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @small_0(%x) : (i32) -> i32
  %1 = func.call @small_1(%0) : (i32) -> i32
  %2 = func.call @shared_2(%1) : (i32) -> i32
  %3 = func.call @fast_3(%2) : (i32) -> i32
  %4 = func.call @fast_4(%3) : (i32) -> i32
  func.return %4 : i32
}
}
