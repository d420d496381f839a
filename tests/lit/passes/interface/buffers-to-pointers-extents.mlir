// RUN: aotc-opt %s -p 'select-calling-convention,buffers-to-pointers' --split-input-file --verify-diagnostics | filecheck %s

// D10: used extents become arguments, other layouts are linearised; what a pointer cannot carry is an error.
// D1: extents follow their pointer in the order of the dimensions, in signatures and in calls. D27: dynamic shapes stay
// possible.

builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<?x?xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"}) attributes {aot.entry} {
    func.call @scale_0(%x) : (memref<?x?xf32>) -> ()
    func.return
  }
  func.func private @scale_0(%a: memref<?x?xf32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c0 : memref<?x?xf32>
    scf.for %i = %c0 to %n step %c1 {
      %0 = memref.load %a[%i, %c1] : memref<?x?xf32>
      memref.store %0, %a[%i, %c0] : memref<?x?xf32>
    }
    func.return
  }
}

// CHECK:      func.func @main(%x: !aot.ptr<f32> {{{.*}}}, %x_dim0: i32 {aot.dim = 0 : i64}, %x_dim1: i32 {aot.dim = 1 : i64}) -> i32
// CHECK-NEXT:   %0 = arith.index_cast %x_dim0 : i32 to index
// CHECK-NEXT:   %1 = arith.index_cast %x_dim1 : i32 to index
// CHECK-DAG:    %[[ROWS:.*]] = arith.index_cast %0 : index to i32
// CHECK-DAG:    %[[COLUMNS:.*]] = arith.index_cast %1 : index to i32
// CHECK:        func.call @scale_0(%x, %[[ROWS]], %[[COLUMNS]]) : (!aot.ptr<f32>, i32, i32) -> i32
// CHECK:      func.func private @scale_0(%a: !aot.ptr<f32> {{{.*}}}, %a_dim0: i32 {aot.dim = 0 : i64}, %a_dim1: i32 {aot.dim = 1 : i64}) -> i32 {{.*}}aot.parameters = [{aot.name = "a", aot.dtype = "float32", aot.io = "input", aot.shape = array<i64: -1, -1>}]
// CHECK-NEXT:   %[[N:.*]] = arith.index_cast %a_dim0 : i32 to index
// CHECK-NEXT:   %[[M:.*]] = arith.index_cast %a_dim1 : i32 to index
// CHECK-NEXT:   %a_1 = aot.buffer %a : !aot.ptr<f32> to memref<?xf32>
// CHECK:        scf.for %i = %c0 to %[[N]]
// CHECK-NEXT:     %[[ROW:.*]] = arith.muli %i, %[[M]] : index
// CHECK-NEXT:     %[[AT:.*]] = arith.addi %[[ROW]], %c1 : index
// CHECK-NEXT:     memref.load %a_1[%[[AT]]] : memref<?xf32>

// -----

builtin.module attributes {aot.name = "m"} {
  func.func @main() attributes {aot.entry} {
    func.return
  }
  func.func private @copy_0(%a: memref<4x4xf32, strided<[8, 1]>>, %b: memref<4x4xf32, strided<[4, 1]>>) attributes {aot.kernel} {
    %c2 = arith.constant 2 : index
    %0 = memref.load %a[%c2, %c2] : memref<4x4xf32, strided<[8, 1]>>
    memref.store %0, %b[%c2, %c2] : memref<4x4xf32, strided<[4, 1]>>
    func.return
  }
}

// CHECK:      func.func private @copy_0(%a: !aot.ptr<f32> {{.*}}, %b: !aot.ptr<f32> {{.*}}) -> i32
// CHECK-NEXT:   %a_1 = aot.buffer %a : !aot.ptr<f32> to memref<?xf32>
// CHECK-NEXT:   %b_1 = aot.buffer %b : !aot.ptr<f32> to memref<4x4xf32>
// CHECK:        %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:        arith.muli %c2, %[[EIGHT]] : index
// CHECK:        memref.store %{{.*}}, %b_1[%c2, %c2] : memref<4x4xf32>

// -----

// A static extent is a number, whatever else is known at run time only.
builtin.module attributes {aot.name = "m"} {
  func.func @main() attributes {aot.entry} {
    func.return
  }
  func.func private @rows_0(%a: memref<?x4xi32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c1 : memref<?x4xi32>
    %0 = arith.index_cast %n : index to i32
    memref.store %0, %a[%c0, %c1] : memref<?x4xi32>
    func.return
  }
}

// CHECK:      func.func private @rows_0(%a: !aot.ptr<i32> {{{[^}]*}}}) -> i32
// CHECK:        %[[N:.*]] = arith.constant 4 : index
// CHECK-NEXT:   arith.index_cast %[[N]] : index to i32

// -----

// A kernel's workspace is its scratch buffers; constants are weights and what is part of one, whatever it is seen as;
// all else goes in and out. Of two calls the largest numbers count: the second takes an input for the weight.

// CHECK:      func.func @main({{.*}}aot.workspace_bytes = 96 : i64, aot.io_bytes = 64 : i64, aot.constant_bytes = 64 : i64}
// CHECK:      func.func private @k_0({{.*}}aot.workspace_bytes = 16 : i64, aot.io_bytes = 96 : i64, aot.constant_bytes = 32 : i64
builtin.module attributes {aot.name = "m", aot.plan = {peak_bytes = 96 : i64, lower_bound_bytes = 96 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @main(%x: memref<8xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"}, %y: memref<8xf32> {aot.name = "y", aot.dtype = "float32", aot.io = "output"}) attributes {aot.entry} {
    %w = aot.weight "w" : memref<16xf32>
    %v = memref.reinterpret_cast %w to offset: [8], sizes: [8], strides: [1] : memref<16xf32> to memref<8xf32>
    %ws = aot.workspace : memref<96xi8>
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %u = memref.view %ws[%c0][] : memref<96xi8> to memref<8xf32>
    %s = memref.view %ws[%c32][] : memref<96xi8> to memref<4xf32>
    func.call @k_0(%x, %v, %u, %s) : (memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<4xf32>) -> ()
    func.call @k_0(%u, %x, %y, %s) : (memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<4xf32>) -> ()
    func.return
  }
  func.func private @k_0(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %s: memref<4xf32> {aot.scratch}) attributes {aot.kernel, aot.in_place = [[], []]} {
    %c0 = arith.constant 0 : index
    %0 = memref.load %a[%c0] : memref<8xf32>
    %1 = memref.load %b[%c0] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %s[%c0] : memref<4xf32>
    memref.store %2, %c[%c0] : memref<8xf32>
    func.return
  }
}
