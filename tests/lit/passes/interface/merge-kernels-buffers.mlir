// RUN: aotc-opt %s -p 'merge-kernels{per-parameter=0}' --split-input-file | filecheck %s

// Of two buffers that are seen as such, one whose extents are equal keeps its axes; a constant that is stored is an
// argument as others are.
// CHECK-LABEL: func.func private @store_0
// CHECK-SAME:  (%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %i: index, %value: i8, %size: index) -> i32
// CHECK:       aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
// CHECK:       aot.buffer %q : !aot.ptr<i8> to memref<?xi8>
// CHECK:       memref.store %value
// CHECK-NOT:   @store_1
func.func private @store_0(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %i: index) -> i32 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
  %b = aot.buffer %q : !aot.ptr<i8> to memref<2x8xi8>
  %c = arith.constant 3 : i8
  %s = arith.constant 0 : i32
  memref.store %c, %a[%i, %i] : memref<2x8xi8>
  memref.store %c, %b[%i, %i] : memref<2x8xi8>
  func.return %s : i32
}
func.func private @store_1(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %i: index) -> i32 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
  %b = aot.buffer %q : !aot.ptr<i8> to memref<2x20xi8>
  %c = arith.constant 5 : i8
  %s = arith.constant 0 : i32
  memref.store %c, %a[%i, %i] : memref<2x8xi8>
  memref.store %c, %b[%i, %i] : memref<2x20xi8>
  func.return %s : i32
}
func.func @run(%p: !aot.ptr<i8>, %q: !aot.ptr<i8>, %i: index) -> i32 attributes {aot.entry} {
  %0 = func.call @store_0(%p, %q, %i) : (!aot.ptr<i8>, !aot.ptr<i8>, index) -> i32
  %1 = func.call @store_1(%p, %q, %i) : (!aot.ptr<i8>, !aot.ptr<i8>, index) -> i32
  func.return %0 : i32
}

// -----

// The extent behind an index that is constant, but not 0, matters.
// CHECK-LABEL: func.func private @row_0
// CHECK-SAME:  (%p: !aot.ptr<i8>, %i: index, %size: index) -> i8
// CHECK:       %[[ROW:.*]] = arith.muli %{{.*}}, %size : index
// CHECK:       %[[AT:.*]] = arith.addi %[[ROW]], %i : index
// CHECK:       memref.load %{{.*}}[%[[AT]]] : memref<?xi8>
func.func private @row_0(%p: !aot.ptr<i8>, %i: index) -> i8 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
  %c = arith.constant 1 : index
  %0 = memref.load %a[%c, %i] : memref<2x8xi8>
  func.return %0 : i8
}
func.func private @row_1(%p: !aot.ptr<i8>, %i: index) -> i8 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x20xi8>
  %c = arith.constant 1 : index
  %0 = memref.load %a[%c, %i] : memref<2x20xi8>
  func.return %0 : i8
}
func.func @run(%p: !aot.ptr<i8>, %i: index) -> i8 attributes {aot.entry} {
  %0 = func.call @row_0(%p, %i) : (!aot.ptr<i8>, index) -> i8
  %1 = func.call @row_1(%p, %i) : (!aot.ptr<i8>, index) -> i8
  func.return %0 : i8
}

// -----

// Buffers that something else sees, alone or beside a load, or that are behind a pointer from elsewhere, keep their
// extents; so do constants that are no numbers, and functions that are only declared.
// CHECK:     @seen_0
// CHECK:     @seen_1
// CHECK:     @both_0
// CHECK:     @both_1
// CHECK:     @cast_0
// CHECK:     @cast_1
// CHECK:     @dense_0
// CHECK:     @dense_1
// CHECK:     func.func private @external_0(!aot.ptr<i8>, index) -> i8
// CHECK:     func.func private @external_1(!aot.ptr<i8>, index) -> i8
func.func private @seen_0(%p: !aot.ptr<i8>, %i: index) -> index attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
  %0 = memref.dim %a, %i : memref<2x8xi8>
  func.return %0 : index
}
func.func private @seen_1(%p: !aot.ptr<i8>, %i: index) -> index attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x20xi8>
  %0 = memref.dim %a, %i : memref<2x20xi8>
  func.return %0 : index
}
func.func private @both_0(%p: !aot.ptr<i8>, %i: index) -> i8 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x8xi8>
  %0 = memref.dim %a, %i : memref<2x8xi8>
  %1 = memref.load %a[%i, %0] : memref<2x8xi8>
  func.return %1 : i8
}
func.func private @both_1(%p: !aot.ptr<i8>, %i: index) -> i8 attributes {aot.kernel} {
  %a = aot.buffer %p : !aot.ptr<i8> to memref<2x20xi8>
  %0 = memref.dim %a, %i : memref<2x20xi8>
  %1 = memref.load %a[%i, %0] : memref<2x20xi8>
  func.return %1 : i8
}
func.func private @cast_0(%p: !aot.ptr<!aot.ptr<i8>>, %i: index) -> i8 attributes {aot.kernel} {
  %q = aot.element %p[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
  %a = aot.buffer %q : !aot.ptr<i8> to memref<2x8xi8>
  %0 = memref.load %a[%i, %i] : memref<2x8xi8>
  func.return %0 : i8
}
func.func private @cast_1(%p: !aot.ptr<!aot.ptr<i8>>, %i: index) -> i8 attributes {aot.kernel} {
  %q = aot.element %p[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
  %a = aot.buffer %q : !aot.ptr<i8> to memref<2x20xi8>
  %0 = memref.load %a[%i, %i] : memref<2x20xi8>
  func.return %0 : i8
}
func.func private @dense_0() -> vector<2xi32> attributes {aot.kernel} {
  %c = arith.constant dense<[1, 2]> : vector<2xi32>
  %0 = arith.addi %c, %c : vector<2xi32>
  func.return %0 : vector<2xi32>
}
func.func private @dense_1() -> vector<2xi32> attributes {aot.kernel} {
  %c = arith.constant dense<[1, 3]> : vector<2xi32>
  %0 = arith.addi %c, %c : vector<2xi32>
  func.return %0 : vector<2xi32>
}
func.func private @external_0(!aot.ptr<i8>, index) -> i8 attributes {aot.kernel}
func.func private @external_1(!aot.ptr<i8>, index) -> i8 attributes {aot.kernel}
func.func @run(%p: !aot.ptr<i8>, %q: !aot.ptr<!aot.ptr<i8>>, %i: index) -> i8 attributes {aot.entry} {
  %0 = func.call @seen_0(%p, %i) : (!aot.ptr<i8>, index) -> index
  %1 = func.call @seen_1(%p, %i) : (!aot.ptr<i8>, index) -> index
  %2 = func.call @both_0(%p, %i) : (!aot.ptr<i8>, index) -> i8
  %3 = func.call @both_1(%p, %i) : (!aot.ptr<i8>, index) -> i8
  %4 = func.call @cast_0(%q, %i) : (!aot.ptr<!aot.ptr<i8>>, index) -> i8
  %5 = func.call @cast_1(%q, %i) : (!aot.ptr<!aot.ptr<i8>>, index) -> i8
  %6 = func.call @dense_0() : () -> vector<2xi32>
  %7 = func.call @dense_1() : () -> vector<2xi32>
  %8 = func.call @external_0(%p, %i) : (!aot.ptr<i8>, index) -> i8
  %9 = func.call @external_1(%p, %i) : (!aot.ptr<i8>, index) -> i8
  func.return %2 : i8
}
