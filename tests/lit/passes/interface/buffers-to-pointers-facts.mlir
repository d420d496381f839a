// RUN: aotc-opt %s -p 'select-calling-convention,buffers-to-pointers' --split-input-file --verify-diagnostics | filecheck %s

// What is known of a kernel's arguments: one is written to through a view as well; of calls the least alignment counts,
// where a view has it at an offset, and that of the element type where the offset is known at run time only. Weights
// are no part of what goes in and out.

// CHECK:      func.func private @write_0(%a: !aot.ptr<f32> {aot.noalias, aot.align = 16 : i64}, %b: !aot.ptr<f32> {aot.readonly, aot.noalias, aot.align = 4 : i64}) -> i32
// CHECK-SAME:   aot.io_bytes = 32 : i64, aot.constant_bytes = 64 : i64
// CHECK:      func.func private @read_0(%a: !aot.ptr<f32> {aot.readonly, aot.noalias, aot.align = 8 : i64}) -> i32
// CHECK:      func.func private @any_0(%a: !aot.ptr<f32> {aot.readonly, aot.noalias, aot.align = 4 : i64}) -> i32
builtin.module attributes {aot.name = "m", aot.plan = {peak_bytes = 128 : i64, lower_bound_bytes = 128 : i64, optimal = true, alignment = 32 : i64, order = [], buffers = []}} {
  func.func @main() attributes {aot.entry} {
    %ws = aot.workspace : memref<128xi8>
    %w = aot.weight "w" : memref<16xf32>
    %c0 = arith.constant 0 : index
    %u = memref.view %ws[%c0][] : memref<128xi8> to memref<32xf32>
    %p = memref.reinterpret_cast %u to offset: [4], sizes: [8], strides: [1] : memref<32xf32> to memref<8xf32>
    %q = memref.reinterpret_cast %u to offset: [2], sizes: [8], strides: [1] : memref<32xf32> to memref<8xf32>
    %r = memref.reinterpret_cast %u to offset: [%c0], sizes: [8], strides: [1] : memref<32xf32> to memref<8xf32>
    func.call @write_0(%p, %w) : (memref<8xf32>, memref<16xf32>) -> ()
    func.call @read_0(%q) : (memref<8xf32>) -> ()
    func.call @any_0(%r) : (memref<8xf32>) -> ()
    func.return
  }
  func.func private @write_0(%a: memref<8xf32>, %b: memref<16xf32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %v = memref.reinterpret_cast %a to offset: [0], sizes: [2, 4], strides: [4, 1] : memref<8xf32> to memref<2x4xf32>
    %0 = memref.load %b[%c0] : memref<16xf32>
    memref.store %0, %v[%c0, %c0] : memref<2x4xf32>
    func.return
  }
  func.func private @read_0(%a: memref<8xf32>) attributes {aot.kernel} {
    func.return
  }
  func.func private @any_0(%a: memref<8xf32>) attributes {aot.kernel} {
    func.return
  }
}

// -----

// CHECK: argument 0 of k_0 cannot become a pointer; memref.dim of it takes a dimension that is not constant
builtin.module attributes {aot.name = "m"} {
  func.func @main() attributes {aot.entry} {
    func.return
  }
  func.func private @k_0(%a: memref<?xf32>, %b: memref<1xindex>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %i = memref.load %b[%c0] : memref<1xindex>
    %n = memref.dim %a, %i : memref<?xf32>
    memref.store %n, %b[%c0] : memref<1xindex>
    func.return
  }
}

// -----

// CHECK: argument 1 of main is f32, not a buffer
// CHECK: argument 0 of k_0 is i32, not a buffer
builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<4xf32>, %y: f32) attributes {aot.entry} {
    func.return
  }
  func.func private @k_0(%a: i32) attributes {aot.kernel} {
    func.return
  }
}
