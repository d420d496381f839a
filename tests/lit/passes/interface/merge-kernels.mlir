// RUN: aotc-opt %s -p merge-kernels --split-input-file | filecheck %s

// Extents and constants that differ are arguments, equal ones of them one; the buffer has one axis.
// CHECK-LABEL: func.func private @scale_0
// CHECK-SAME:  (%x: !aot.ptr<i8>, %out: !aot.ptr<i8>, %size: index, %size_1: index, %value: i8) -> i32
// CHECK-SAME:  aot.io_bytes = 120
// CHECK-SAME:  aot.notes = ["add 5", "times 3", "add 7"]
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
func.func private @scale_0(%x: !aot.ptr<i8>, %out: !aot.ptr<i8>) -> i32 attributes {aot.kernel, aot.io_bytes = 32 : i64, aot.notes = ["add 5", "times 3"], aot.parameters = [{aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 2, 8>}]} {
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
func.func private @scale_1(%x: !aot.ptr<i8>, %out: !aot.ptr<i8>) -> i32 attributes {aot.kernel, aot.io_bytes = 120 : i64, aot.notes = ["add 7", "times 3"], aot.parameters = [{aot.name = "x", aot.dtype = "int8", aot.io = "input", aot.shape = array<i64: 1, 3, 20>}]} {
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
