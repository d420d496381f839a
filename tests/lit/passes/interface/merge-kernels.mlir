// RUN: aotc-opt %s -p merge-kernels --split-input-file | filecheck %s

// Extents and constants that differ are arguments, equal ones of them one; the buffer has one axis.
// CHECK-LABEL: func.func private @scale_0
// CHECK-SAME:  (%x: !aot.ptr<i8>, %out: !aot.ptr<i8>, %size: index, %size_1: index, %value: i8) -> i32
// CHECK-SAME:  aot.io_bytes = 120
// CHECK-NOT:   aot.parameters
// CHECK:       aot.buffer %x : !aot.ptr<i8> to memref<?xi8>
// CHECK:       scf.for %[[I:.*]] = %{{.*}} to %size step
// CHECK:       scf.for %[[J:.*]] = %{{.*}} to %size_1 step
// CHECK:       %[[R:.*]] = arith.muli %[[I]], %size_1 : index
// CHECK:       %[[A:.*]] = arith.addi %[[R]], %[[J]] : index
// CHECK:       memref.load %{{.*}}[%[[A]]] : memref<?xi8>
// CHECK:       arith.addi %{{.*}}, %value : i8
// CHECK-NOT:   @scale_1
// CHECK-LABEL: func.func @run
// CHECK-DAG:   %[[M:.*]] = arith.constant 2 : index
// CHECK-DAG:   %[[N:.*]] = arith.constant 8 : index
// CHECK-DAG:   %[[C:.*]] = arith.constant 5 : i8
// CHECK:       func.call @scale_0(%x, %y, %[[M]], %[[N]], %[[C]]) : (!aot.ptr<i8>, !aot.ptr<i8>, index, index, i8) -> i32
// CHECK:       %[[C:.*]] = arith.constant 7 : i8
// CHECK:       func.call @scale_0(%x, %y, %{{.*}}, %{{.*}}, %[[C]])
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
func.func private @scale_1(%x: !aot.ptr<i8>, %out: !aot.ptr<i8>) -> i32 attributes {aot.kernel, aot.io_bytes = 120 : i64, aot.parameters = [{aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 3, 20>}]} {
  %a = aot.buffer %x : !aot.ptr<i8> to memref<1x3x20xi8>
  %b = aot.buffer %out : !aot.ptr<i8> to memref<1x3x20xi8>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = arith.constant 20 : index
  %m = arith.constant 3 : index
  %seven = arith.constant 7 : i8
  %three = arith.constant 3 : i8
  scf.for %i = %zero to %m step %one {
    scf.for %j = %zero to %n step %one {
      %0 = memref.load %a[%zero, %i, %j] : memref<1x3x20xi8>
      %1 = arith.addi %0, %seven : i8
      %2 = arith.muli %1, %three : i8
      %3 = arith.xori %2, %1 : i8
      %4 = arith.subi %3, %0 : i8
      %5 = arith.muli %4, %4 : i8
      %6 = arith.xori %5, %0 : i8
      %7 = arith.addi %6, %5 : i8
      %8 = arith.muli %7, %4 : i8
      %9 = arith.xori %8, %0 : i8
      memref.store %9, %b[%zero, %i, %j] : memref<1x3x20xi8>
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

// -----

// Functions that are equal, and of which none has an extent to forget.
// CHECK-LABEL: func.func private @same_0(%x: i32) -> i32
// CHECK-NOT:   @same_1
func.func private @same_0(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func private @same_1(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @same_0(%x) : (i32) -> i32
  %1 = func.call @same_1(%0) : (i32) -> i32
  func.return %1 : i32
}

// -----

// Too little code: an argument takes more.
// CHECK: @short_0
// CHECK: @short_1
func.func private @short_0(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func private @short_1(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 4 : i32
  %0 = arith.muli %x, %c : i32
  func.return %0 : i32
}
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @short_0(%x) : (i32) -> i32
  %1 = func.call @short_1(%0) : (i32) -> i32
  func.return %1 : i32
}

// -----

// Another operation, another divisor, two public functions, one whose address is taken, one that is no kernel.
// CHECK-LABEL: @plain
// CHECK: @operation
// CHECK: @divisor
// CHECK: func.func @public
// CHECK: func.func @open
// CHECK: @address
// CHECK: @helper
// CHECK-LABEL: @run
// CHECK-COUNT-7: func.call @{{[a-z]+}}(%{{[x0-9]+}}) : (i32) -> i32
func.func private @plain(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func private @operation(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.remui %x, %c : i32
  func.return %0 : i32
}
func.func private @divisor(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func @public(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func @open(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func private @address(%x: i32) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func private @helper(%x: i32) -> i32 {
  %c = arith.constant 3 : i32
  %0 = arith.divui %x, %c : i32
  func.return %0 : i32
}
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @plain(%x) : (i32) -> i32
  %1 = func.call @operation(%0) : (i32) -> i32
  %2 = func.call @divisor(%1) : (i32) -> i32
  %3 = func.call @public(%2) : (i32) -> i32
  %7 = func.call @open(%3) : (i32) -> i32
  %4 = func.call @address(%7) : (i32) -> i32
  %5 = func.call @helper(%4) : (i32) -> i32
  %6 = aot.symbol @address : !aot.ptr<i8>
  func.return %5 : i32
}

// -----

// What stays in the code, long as it is: divisors, distances of shifts, steps of loops, constant indices. But other
// constants do not.
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
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @divisor_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.divui %x, %c : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @shift_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.shrsi %x, %c : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @shift_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.shrsi %x, %c : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @step_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : index
  %a = arith.constant 0 : index
  %b = arith.constant 30 : index
  %0 = scf.for %i = %a to %b step %c iter_args(%s = %x) -> (i32) {
    %t = arith.addi %s, %x : i32
    scf.yield %t : i32
  }
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @step_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : index
  %a = arith.constant 0 : index
  %b = arith.constant 30 : index
  %0 = scf.for %i = %a to %b step %c iter_args(%s = %x) -> (i32) {
    %t = arith.addi %s, %x : i32
    scf.yield %t : i32
  }
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @index_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : index
  %b = aot.buffer %p : !aot.ptr<i32> to memref<8xi32>
  %0 = memref.load %b[%c] : memref<8xi32>
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @index_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : index
  %b = aot.buffer %p : !aot.ptr<i32> to memref<8xi32>
  %0 = memref.load %b[%c] : memref<8xi32>
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @factor_0(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 3 : i32
  %0 = arith.muli %x, %c : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func private @factor_1(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.kernel} {
  %c = arith.constant 5 : i32
  %0 = arith.muli %x, %c : i32
  %1 = arith.muli %0, %0 : i32
  %2 = arith.muli %1, %1 : i32
  %3 = arith.muli %2, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.muli %4, %4 : i32
  %6 = arith.muli %5, %5 : i32
  %7 = arith.muli %6, %6 : i32
  %8 = arith.muli %7, %7 : i32
  %9 = arith.muli %8, %8 : i32
  %10 = arith.muli %9, %9 : i32
  %11 = arith.muli %10, %10 : i32
  %12 = arith.muli %11, %11 : i32
  func.return %12 : i32
}
func.func @run(%x: i32, %p: !aot.ptr<i32>) -> i32 attributes {aot.entry} {
  %divisor_0 = func.call @divisor_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %divisor_1 = func.call @divisor_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %shift_0 = func.call @shift_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %shift_1 = func.call @shift_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %step_0 = func.call @step_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %step_1 = func.call @step_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %index_0 = func.call @index_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %index_1 = func.call @index_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %factor_0 = func.call @factor_0(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  %factor_1 = func.call @factor_1(%x, %p) : (i32, !aot.ptr<i32>) -> i32
  func.return %x : i32
}

// -----

// More constants than a function should have arguments.
// CHECK: @many_0
// CHECK: @many_1
func.func private @many_0(%x: i32) -> i32 attributes {aot.kernel} {
  %c0 = arith.constant 1 : i32
  %c1 = arith.constant 2 : i32
  %c2 = arith.constant 3 : i32
  %c3 = arith.constant 4 : i32
  %c4 = arith.constant 5 : i32
  %c5 = arith.constant 6 : i32
  %c6 = arith.constant 7 : i32
  %c7 = arith.constant 8 : i32
  %c8 = arith.constant 9 : i32
  %c9 = arith.constant 10 : i32
  %c10 = arith.constant 11 : i32
  %c11 = arith.constant 12 : i32
  %c12 = arith.constant 13 : i32
  %c13 = arith.constant 14 : i32
  %c14 = arith.constant 15 : i32
  %c15 = arith.constant 16 : i32
  %c16 = arith.constant 17 : i32
  %c17 = arith.constant 18 : i32
  %c18 = arith.constant 19 : i32
  %c19 = arith.constant 20 : i32
  %c20 = arith.constant 21 : i32
  %c21 = arith.constant 22 : i32
  %c22 = arith.constant 23 : i32
  %c23 = arith.constant 24 : i32
  %c24 = arith.constant 25 : i32
  %0 = arith.muli %x, %c0 : i32
  %1 = arith.xori %0, %x : i32
  %2 = arith.xori %1, %x : i32
  %3 = arith.xori %2, %x : i32
  %4 = arith.xori %3, %x : i32
  %5 = arith.xori %4, %x : i32
  %6 = arith.xori %5, %x : i32
  %7 = arith.muli %6, %c1 : i32
  %8 = arith.xori %7, %x : i32
  %9 = arith.xori %8, %x : i32
  %10 = arith.xori %9, %x : i32
  %11 = arith.xori %10, %x : i32
  %12 = arith.xori %11, %x : i32
  %13 = arith.xori %12, %x : i32
  %14 = arith.muli %13, %c2 : i32
  %15 = arith.xori %14, %x : i32
  %16 = arith.xori %15, %x : i32
  %17 = arith.xori %16, %x : i32
  %18 = arith.xori %17, %x : i32
  %19 = arith.xori %18, %x : i32
  %20 = arith.xori %19, %x : i32
  %21 = arith.muli %20, %c3 : i32
  %22 = arith.xori %21, %x : i32
  %23 = arith.xori %22, %x : i32
  %24 = arith.xori %23, %x : i32
  %25 = arith.xori %24, %x : i32
  %26 = arith.xori %25, %x : i32
  %27 = arith.xori %26, %x : i32
  %28 = arith.muli %27, %c4 : i32
  %29 = arith.xori %28, %x : i32
  %30 = arith.xori %29, %x : i32
  %31 = arith.xori %30, %x : i32
  %32 = arith.xori %31, %x : i32
  %33 = arith.xori %32, %x : i32
  %34 = arith.xori %33, %x : i32
  %35 = arith.muli %34, %c5 : i32
  %36 = arith.xori %35, %x : i32
  %37 = arith.xori %36, %x : i32
  %38 = arith.xori %37, %x : i32
  %39 = arith.xori %38, %x : i32
  %40 = arith.xori %39, %x : i32
  %41 = arith.xori %40, %x : i32
  %42 = arith.muli %41, %c6 : i32
  %43 = arith.xori %42, %x : i32
  %44 = arith.xori %43, %x : i32
  %45 = arith.xori %44, %x : i32
  %46 = arith.xori %45, %x : i32
  %47 = arith.xori %46, %x : i32
  %48 = arith.xori %47, %x : i32
  %49 = arith.muli %48, %c7 : i32
  %50 = arith.xori %49, %x : i32
  %51 = arith.xori %50, %x : i32
  %52 = arith.xori %51, %x : i32
  %53 = arith.xori %52, %x : i32
  %54 = arith.xori %53, %x : i32
  %55 = arith.xori %54, %x : i32
  %56 = arith.muli %55, %c8 : i32
  %57 = arith.xori %56, %x : i32
  %58 = arith.xori %57, %x : i32
  %59 = arith.xori %58, %x : i32
  %60 = arith.xori %59, %x : i32
  %61 = arith.xori %60, %x : i32
  %62 = arith.xori %61, %x : i32
  %63 = arith.muli %62, %c9 : i32
  %64 = arith.xori %63, %x : i32
  %65 = arith.xori %64, %x : i32
  %66 = arith.xori %65, %x : i32
  %67 = arith.xori %66, %x : i32
  %68 = arith.xori %67, %x : i32
  %69 = arith.xori %68, %x : i32
  %70 = arith.muli %69, %c10 : i32
  %71 = arith.xori %70, %x : i32
  %72 = arith.xori %71, %x : i32
  %73 = arith.xori %72, %x : i32
  %74 = arith.xori %73, %x : i32
  %75 = arith.xori %74, %x : i32
  %76 = arith.xori %75, %x : i32
  %77 = arith.muli %76, %c11 : i32
  %78 = arith.xori %77, %x : i32
  %79 = arith.xori %78, %x : i32
  %80 = arith.xori %79, %x : i32
  %81 = arith.xori %80, %x : i32
  %82 = arith.xori %81, %x : i32
  %83 = arith.xori %82, %x : i32
  %84 = arith.muli %83, %c12 : i32
  %85 = arith.xori %84, %x : i32
  %86 = arith.xori %85, %x : i32
  %87 = arith.xori %86, %x : i32
  %88 = arith.xori %87, %x : i32
  %89 = arith.xori %88, %x : i32
  %90 = arith.xori %89, %x : i32
  %91 = arith.muli %90, %c13 : i32
  %92 = arith.xori %91, %x : i32
  %93 = arith.xori %92, %x : i32
  %94 = arith.xori %93, %x : i32
  %95 = arith.xori %94, %x : i32
  %96 = arith.xori %95, %x : i32
  %97 = arith.xori %96, %x : i32
  %98 = arith.muli %97, %c14 : i32
  %99 = arith.xori %98, %x : i32
  %100 = arith.xori %99, %x : i32
  %101 = arith.xori %100, %x : i32
  %102 = arith.xori %101, %x : i32
  %103 = arith.xori %102, %x : i32
  %104 = arith.xori %103, %x : i32
  %105 = arith.muli %104, %c15 : i32
  %106 = arith.xori %105, %x : i32
  %107 = arith.xori %106, %x : i32
  %108 = arith.xori %107, %x : i32
  %109 = arith.xori %108, %x : i32
  %110 = arith.xori %109, %x : i32
  %111 = arith.xori %110, %x : i32
  %112 = arith.muli %111, %c16 : i32
  %113 = arith.xori %112, %x : i32
  %114 = arith.xori %113, %x : i32
  %115 = arith.xori %114, %x : i32
  %116 = arith.xori %115, %x : i32
  %117 = arith.xori %116, %x : i32
  %118 = arith.xori %117, %x : i32
  %119 = arith.muli %118, %c17 : i32
  %120 = arith.xori %119, %x : i32
  %121 = arith.xori %120, %x : i32
  %122 = arith.xori %121, %x : i32
  %123 = arith.xori %122, %x : i32
  %124 = arith.xori %123, %x : i32
  %125 = arith.xori %124, %x : i32
  %126 = arith.muli %125, %c18 : i32
  %127 = arith.xori %126, %x : i32
  %128 = arith.xori %127, %x : i32
  %129 = arith.xori %128, %x : i32
  %130 = arith.xori %129, %x : i32
  %131 = arith.xori %130, %x : i32
  %132 = arith.xori %131, %x : i32
  %133 = arith.muli %132, %c19 : i32
  %134 = arith.xori %133, %x : i32
  %135 = arith.xori %134, %x : i32
  %136 = arith.xori %135, %x : i32
  %137 = arith.xori %136, %x : i32
  %138 = arith.xori %137, %x : i32
  %139 = arith.xori %138, %x : i32
  %140 = arith.muli %139, %c20 : i32
  %141 = arith.xori %140, %x : i32
  %142 = arith.xori %141, %x : i32
  %143 = arith.xori %142, %x : i32
  %144 = arith.xori %143, %x : i32
  %145 = arith.xori %144, %x : i32
  %146 = arith.xori %145, %x : i32
  %147 = arith.muli %146, %c21 : i32
  %148 = arith.xori %147, %x : i32
  %149 = arith.xori %148, %x : i32
  %150 = arith.xori %149, %x : i32
  %151 = arith.xori %150, %x : i32
  %152 = arith.xori %151, %x : i32
  %153 = arith.xori %152, %x : i32
  %154 = arith.muli %153, %c22 : i32
  %155 = arith.xori %154, %x : i32
  %156 = arith.xori %155, %x : i32
  %157 = arith.xori %156, %x : i32
  %158 = arith.xori %157, %x : i32
  %159 = arith.xori %158, %x : i32
  %160 = arith.xori %159, %x : i32
  %161 = arith.muli %160, %c23 : i32
  %162 = arith.xori %161, %x : i32
  %163 = arith.xori %162, %x : i32
  %164 = arith.xori %163, %x : i32
  %165 = arith.xori %164, %x : i32
  %166 = arith.xori %165, %x : i32
  %167 = arith.xori %166, %x : i32
  %168 = arith.muli %167, %c24 : i32
  %169 = arith.xori %168, %x : i32
  %170 = arith.xori %169, %x : i32
  %171 = arith.xori %170, %x : i32
  %172 = arith.xori %171, %x : i32
  %173 = arith.xori %172, %x : i32
  %174 = arith.xori %173, %x : i32
  func.return %174 : i32
}
func.func private @many_1(%x: i32) -> i32 attributes {aot.kernel} {
  %c0 = arith.constant 101 : i32
  %c1 = arith.constant 102 : i32
  %c2 = arith.constant 103 : i32
  %c3 = arith.constant 104 : i32
  %c4 = arith.constant 105 : i32
  %c5 = arith.constant 106 : i32
  %c6 = arith.constant 107 : i32
  %c7 = arith.constant 108 : i32
  %c8 = arith.constant 109 : i32
  %c9 = arith.constant 110 : i32
  %c10 = arith.constant 111 : i32
  %c11 = arith.constant 112 : i32
  %c12 = arith.constant 113 : i32
  %c13 = arith.constant 114 : i32
  %c14 = arith.constant 115 : i32
  %c15 = arith.constant 116 : i32
  %c16 = arith.constant 117 : i32
  %c17 = arith.constant 118 : i32
  %c18 = arith.constant 119 : i32
  %c19 = arith.constant 120 : i32
  %c20 = arith.constant 121 : i32
  %c21 = arith.constant 122 : i32
  %c22 = arith.constant 123 : i32
  %c23 = arith.constant 124 : i32
  %c24 = arith.constant 125 : i32
  %0 = arith.muli %x, %c0 : i32
  %1 = arith.xori %0, %x : i32
  %2 = arith.xori %1, %x : i32
  %3 = arith.xori %2, %x : i32
  %4 = arith.xori %3, %x : i32
  %5 = arith.xori %4, %x : i32
  %6 = arith.xori %5, %x : i32
  %7 = arith.muli %6, %c1 : i32
  %8 = arith.xori %7, %x : i32
  %9 = arith.xori %8, %x : i32
  %10 = arith.xori %9, %x : i32
  %11 = arith.xori %10, %x : i32
  %12 = arith.xori %11, %x : i32
  %13 = arith.xori %12, %x : i32
  %14 = arith.muli %13, %c2 : i32
  %15 = arith.xori %14, %x : i32
  %16 = arith.xori %15, %x : i32
  %17 = arith.xori %16, %x : i32
  %18 = arith.xori %17, %x : i32
  %19 = arith.xori %18, %x : i32
  %20 = arith.xori %19, %x : i32
  %21 = arith.muli %20, %c3 : i32
  %22 = arith.xori %21, %x : i32
  %23 = arith.xori %22, %x : i32
  %24 = arith.xori %23, %x : i32
  %25 = arith.xori %24, %x : i32
  %26 = arith.xori %25, %x : i32
  %27 = arith.xori %26, %x : i32
  %28 = arith.muli %27, %c4 : i32
  %29 = arith.xori %28, %x : i32
  %30 = arith.xori %29, %x : i32
  %31 = arith.xori %30, %x : i32
  %32 = arith.xori %31, %x : i32
  %33 = arith.xori %32, %x : i32
  %34 = arith.xori %33, %x : i32
  %35 = arith.muli %34, %c5 : i32
  %36 = arith.xori %35, %x : i32
  %37 = arith.xori %36, %x : i32
  %38 = arith.xori %37, %x : i32
  %39 = arith.xori %38, %x : i32
  %40 = arith.xori %39, %x : i32
  %41 = arith.xori %40, %x : i32
  %42 = arith.muli %41, %c6 : i32
  %43 = arith.xori %42, %x : i32
  %44 = arith.xori %43, %x : i32
  %45 = arith.xori %44, %x : i32
  %46 = arith.xori %45, %x : i32
  %47 = arith.xori %46, %x : i32
  %48 = arith.xori %47, %x : i32
  %49 = arith.muli %48, %c7 : i32
  %50 = arith.xori %49, %x : i32
  %51 = arith.xori %50, %x : i32
  %52 = arith.xori %51, %x : i32
  %53 = arith.xori %52, %x : i32
  %54 = arith.xori %53, %x : i32
  %55 = arith.xori %54, %x : i32
  %56 = arith.muli %55, %c8 : i32
  %57 = arith.xori %56, %x : i32
  %58 = arith.xori %57, %x : i32
  %59 = arith.xori %58, %x : i32
  %60 = arith.xori %59, %x : i32
  %61 = arith.xori %60, %x : i32
  %62 = arith.xori %61, %x : i32
  %63 = arith.muli %62, %c9 : i32
  %64 = arith.xori %63, %x : i32
  %65 = arith.xori %64, %x : i32
  %66 = arith.xori %65, %x : i32
  %67 = arith.xori %66, %x : i32
  %68 = arith.xori %67, %x : i32
  %69 = arith.xori %68, %x : i32
  %70 = arith.muli %69, %c10 : i32
  %71 = arith.xori %70, %x : i32
  %72 = arith.xori %71, %x : i32
  %73 = arith.xori %72, %x : i32
  %74 = arith.xori %73, %x : i32
  %75 = arith.xori %74, %x : i32
  %76 = arith.xori %75, %x : i32
  %77 = arith.muli %76, %c11 : i32
  %78 = arith.xori %77, %x : i32
  %79 = arith.xori %78, %x : i32
  %80 = arith.xori %79, %x : i32
  %81 = arith.xori %80, %x : i32
  %82 = arith.xori %81, %x : i32
  %83 = arith.xori %82, %x : i32
  %84 = arith.muli %83, %c12 : i32
  %85 = arith.xori %84, %x : i32
  %86 = arith.xori %85, %x : i32
  %87 = arith.xori %86, %x : i32
  %88 = arith.xori %87, %x : i32
  %89 = arith.xori %88, %x : i32
  %90 = arith.xori %89, %x : i32
  %91 = arith.muli %90, %c13 : i32
  %92 = arith.xori %91, %x : i32
  %93 = arith.xori %92, %x : i32
  %94 = arith.xori %93, %x : i32
  %95 = arith.xori %94, %x : i32
  %96 = arith.xori %95, %x : i32
  %97 = arith.xori %96, %x : i32
  %98 = arith.muli %97, %c14 : i32
  %99 = arith.xori %98, %x : i32
  %100 = arith.xori %99, %x : i32
  %101 = arith.xori %100, %x : i32
  %102 = arith.xori %101, %x : i32
  %103 = arith.xori %102, %x : i32
  %104 = arith.xori %103, %x : i32
  %105 = arith.muli %104, %c15 : i32
  %106 = arith.xori %105, %x : i32
  %107 = arith.xori %106, %x : i32
  %108 = arith.xori %107, %x : i32
  %109 = arith.xori %108, %x : i32
  %110 = arith.xori %109, %x : i32
  %111 = arith.xori %110, %x : i32
  %112 = arith.muli %111, %c16 : i32
  %113 = arith.xori %112, %x : i32
  %114 = arith.xori %113, %x : i32
  %115 = arith.xori %114, %x : i32
  %116 = arith.xori %115, %x : i32
  %117 = arith.xori %116, %x : i32
  %118 = arith.xori %117, %x : i32
  %119 = arith.muli %118, %c17 : i32
  %120 = arith.xori %119, %x : i32
  %121 = arith.xori %120, %x : i32
  %122 = arith.xori %121, %x : i32
  %123 = arith.xori %122, %x : i32
  %124 = arith.xori %123, %x : i32
  %125 = arith.xori %124, %x : i32
  %126 = arith.muli %125, %c18 : i32
  %127 = arith.xori %126, %x : i32
  %128 = arith.xori %127, %x : i32
  %129 = arith.xori %128, %x : i32
  %130 = arith.xori %129, %x : i32
  %131 = arith.xori %130, %x : i32
  %132 = arith.xori %131, %x : i32
  %133 = arith.muli %132, %c19 : i32
  %134 = arith.xori %133, %x : i32
  %135 = arith.xori %134, %x : i32
  %136 = arith.xori %135, %x : i32
  %137 = arith.xori %136, %x : i32
  %138 = arith.xori %137, %x : i32
  %139 = arith.xori %138, %x : i32
  %140 = arith.muli %139, %c20 : i32
  %141 = arith.xori %140, %x : i32
  %142 = arith.xori %141, %x : i32
  %143 = arith.xori %142, %x : i32
  %144 = arith.xori %143, %x : i32
  %145 = arith.xori %144, %x : i32
  %146 = arith.xori %145, %x : i32
  %147 = arith.muli %146, %c21 : i32
  %148 = arith.xori %147, %x : i32
  %149 = arith.xori %148, %x : i32
  %150 = arith.xori %149, %x : i32
  %151 = arith.xori %150, %x : i32
  %152 = arith.xori %151, %x : i32
  %153 = arith.xori %152, %x : i32
  %154 = arith.muli %153, %c22 : i32
  %155 = arith.xori %154, %x : i32
  %156 = arith.xori %155, %x : i32
  %157 = arith.xori %156, %x : i32
  %158 = arith.xori %157, %x : i32
  %159 = arith.xori %158, %x : i32
  %160 = arith.xori %159, %x : i32
  %161 = arith.muli %160, %c23 : i32
  %162 = arith.xori %161, %x : i32
  %163 = arith.xori %162, %x : i32
  %164 = arith.xori %163, %x : i32
  %165 = arith.xori %164, %x : i32
  %166 = arith.xori %165, %x : i32
  %167 = arith.xori %166, %x : i32
  %168 = arith.muli %167, %c24 : i32
  %169 = arith.xori %168, %x : i32
  %170 = arith.xori %169, %x : i32
  %171 = arith.xori %170, %x : i32
  %172 = arith.xori %171, %x : i32
  %173 = arith.xori %172, %x : i32
  %174 = arith.xori %173, %x : i32
  func.return %174 : i32
}
func.func @run(%x: i32) -> i32 attributes {aot.entry} {
  %0 = func.call @many_0(%x) : (i32) -> i32
  %1 = func.call @many_1(%0) : (i32) -> i32
  func.return %1 : i32
}
