// RUN: aotc-opt %s -p 'select-calling-convention,buffers-to-pointers' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention{workspace=caller weights=caller},place-weights,buffers-to-pointers' | filecheck %s --check-prefix CALLER
// RUN: aotc-opt %s -p 'select-calling-convention{workspace=caller weights=caller},place-weights{alignment=16 apart=true},buffers-to-pointers' | filecheck %s --check-prefix APART
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked},buffers-to-pointers' | filecheck %s --check-prefix PACKED

// D10: a pass of its own after lowering. D1 (A1), D2 (C1): the data pointer. D17: no tensor structure. B20: statuses.
// D22: alignment, noalias, readonly. B17: inputs and outputs are the caller's. D11: packed operators keep their buffers.

builtin.module attributes {aot.name = "m", aot.plan = {peak_bytes = 72 : i64, lower_bound_bytes = 72 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @main(%x: memref<2x4xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"}, %y: memref<8xf32> {aot.name = "y", aot.dtype = "float32", aot.io = "output"}) attributes {aot.entry} {
    %w = aot.weight "w" : memref<8xf32>
    %ws = aot.workspace : memref<72xi8>
    %c32 = arith.constant 32 : index
    %c40 = arith.constant 40 : index
    %u = memref.view %ws[%c32][] : memref<72xi8> to memref<8xf32>
    %v = memref.view %ws[%c40][] : memref<72xi8> to memref<8xf32>
    %f = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
    func.call @add_0(%f, %w, %u) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
    func.call @add_0(%u, %w, %v) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
    func.call @relu_0(%u, %y) : (memref<8xf32>, memref<8xf32>) -> ()
    func.call @relu_0(%y, %y) : (memref<8xf32>, memref<8xf32>) -> ()
    func.return
  }
  func.func private @add_0(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %0 = memref.load %a[%c0] : memref<8xf32>
    %1 = memref.load %b[%c0] : memref<8xf32>
    %2 = arith.addf %0, %1 : f32
    memref.store %2, %c[%c0] : memref<8xf32>
    func.return
  }
  func.func private @relu_0(%a: memref<8xf32> {aot.may_alias}, %b: memref<8xf32> {aot.may_alias}) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %0 = memref.load %a[%c0] : memref<8xf32>
    memref.store %0, %b[%c0] : memref<8xf32>
    func.return
  }
}

// CHECK:      func.func @main(%x: !aot.ptr<f32> {aot.name = "x", aot.dtype = "float32", aot.io = "input", aot.readonly, aot.align = 4 : i64, aot.shape = array<i64: 2, 4>}, %y: !aot.ptr<f32> {aot.name = "y", aot.dtype = "float32", aot.io = "output", aot.noalias, aot.align = 4 : i64, aot.shape = array<i64: 8>}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>, aot.workspace_bytes = 72 : i64, aot.io_bytes = 64 : i64, aot.constant_bytes = 32 : i64} {
// CHECK-NEXT:   %x_1 = aot.buffer %x : !aot.ptr<f32> to memref<2x4xf32>
// CHECK-NEXT:   %[[DONE:.*]] = arith.constant 0 : i32
// CHECK:        %w_1 = aot.data %w : memref<8xf32> to !aot.ptr<f32>
// CHECK:        %u = memref.view %ws[%c32][] : memref<72xi8> to memref<8xf32>
// CHECK:        %u_1 = aot.data %u : memref<8xf32> to !aot.ptr<f32>
// CHECK:        %f_1 = aot.data %f : memref<8xf32> to !aot.ptr<f32>
// CHECK-NEXT:   %[[S:.*]] = func.call @add_0(%f_1, %w_1, %u_1) : (!aot.ptr<f32>, !aot.ptr<f32>, !aot.ptr<f32>) -> i32
// CHECK-NEXT:   aot.check %[[S]]
// CHECK:        func.call @relu_0(%u_1, %y) : (!aot.ptr<f32>, !aot.ptr<f32>) -> i32
// CHECK:        func.return %[[DONE]] : i32
// CHECK:      func.func private @add_0(%a: !aot.ptr<f32> {aot.readonly, aot.noalias, aot.align = 4 : i64}, %b: !aot.ptr<f32> {aot.readonly, aot.noalias, aot.align = 4 : i64}, %c: !aot.ptr<f32> {aot.noalias, aot.align = 8 : i64}) -> i32
// CHECK:        %a_1 = aot.buffer %a : !aot.ptr<f32> to memref<8xf32>
// CHECK-NEXT:   %b_1 = aot.buffer %b : !aot.ptr<f32> to memref<8xf32>
// CHECK-NEXT:   %c_1 = aot.buffer %c : !aot.ptr<f32> to memref<8xf32>
// CHECK:        memref.store %{{.*}}, %c_1
// CHECK:      func.func private @relu_0(%a: !aot.ptr<f32> {aot.readonly, aot.align = 4 : i64}, %b: !aot.ptr<f32> {aot.align = 4 : i64}) -> i32

// CALLER:      %workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 16 : i64, aot.noalias}, %weights: !aot.ptr<i8> {aot.io = "weights", aot.align = 8 : i64, aot.readonly}) -> i32
// CALLER:        aot.buffer %weights : !aot.ptr<i8> to memref<32xi8>
// CALLER:        aot.buffer %workspace : !aot.ptr<i8> to memref<72xi8>
// CALLER-NOT:    aot.workspace :

// PACKED:      func.func @main(%x: !aot.ptr<f32> {{.*}}) -> i32
// PACKED:        func.call @add_0({{.*}}) : (memref<8xf32>, memref<8xf32>, memref<8xf32>) -> ()
// PACKED:      func.func private @add_0(%a: memref<8xf32> {{.*}})

// Weights that are apart: the elements of a table point to them.
// APART:      %weights: !aot.ptr<!aot.ptr<i8>> {aot.io = "weights", aot.align = 8 : i64, aot.readonly}) -> i32
// APART:        %[[ADDRESS:.*]] = aot.element %weights[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
// APART-NEXT:   %[[POINTER:.*]] = aot.ptr_cast %[[ADDRESS]] : !aot.ptr<i8> to !aot.ptr<f32>
// APART-NEXT:   %{{.*}} = aot.buffer %[[POINTER]] : !aot.ptr<f32> to memref<8xf32>
// APART-NOT:    aot.weights
