// RUN: aotc-opt %s --split-input-file -p add-selftest | filecheck %s

// An f32 output within a tolerance, after the arena: 260 bytes are the end of the outputs' room.

builtin.module attributes {aot.name = "kws", aot.selftest = {inputs = ["selftest_x"], outputs = ["selftest_y"], tolerances = [0.5 : f64]}, aot.plan = {peak_bytes = 250 : i64, lower_bound_bytes = 250 : i64, optimal = true, alignment = 16 : i64, order = ["Relu_0"], buffers = []}} {
  func.func @aotc_kws_run(%x: !aot.ptr<f32> {aot.io = "input", aot.name = "x", aot.dtype = "float32", aot.shape = array<i64: 2, 4>}, %y: !aot.ptr<f32> {aot.io = "output", aot.name = "y", aot.dtype = "float32", aot.shape = array<i64: 1>}) -> i32 attributes {aot.entry} {
    %ws = aot.workspace : memref<250xi8>
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      aot.plan = {peak_bytes = 260 : i64, lower_bound_bytes = 260 : i64
// CHECK-SAME: {name = "selftest_y", offset = 256 : i64, size = 4 : i64, first = 0 : i64, last = 0 : i64, nodes = []}
// CHECK:      func.func @aotc_kws_run
// CHECK:        %ws = aot.workspace : memref<260xi8>
// CHECK:      func.func @aotc_kws_selftest() -> i32 attributes {aot.selftest} {
// CHECK-NEXT:   %recorded = aot.weight "selftest_x" : memref<8xf32>
// CHECK-NEXT:   [[WS:%\d+]] = aot.workspace : memref<260xi8>
// CHECK-NEXT:   [[AT:%\d+]] = arith.constant 256 : index
// CHECK-NEXT:   [[Y:%\d+]] = memref.view [[WS]][[[AT]]][] : memref<260xi8> to memref<1xf32>
// CHECK-NEXT:   [[XP:%\d+]] = aot.data %recorded : memref<8xf32> to !aot.ptr<f32>
// CHECK-NEXT:   [[YP:%\d+]] = aot.data [[Y]] : memref<1xf32> to !aot.ptr<f32>
// CHECK-NEXT:   [[STATUS:%\d+]] = func.call @aotc_kws_run([[XP]], [[YP]])
// CHECK-NEXT:   aot.check [[STATUS]]
// CHECK-NEXT:   %recorded_1 = aot.weight "selftest_y" : memref<1xf32>
// CHECK:        [[FIRST:%\d+]] = scf.for
// CHECK:          arith.subf
// CHECK:          arith.cmpf ole
// CHECK:          arith.cmpf oge
// CHECK:          arith.cmpf oeq
// CHECK:          arith.cmpf uno
// CHECK:        aot.check [[FIRST]]
// CHECK:        func.return

// -----

// Nothing is compared of an output without elements, and the numbers of the next one begin at 1.

builtin.module attributes {aot.name = "kws", aot.selftest = {inputs = [], outputs = ["a", "b"], tolerances = [0.0 : f64, 0.0 : f64]}, aot.plan = {peak_bytes = 0 : i64, lower_bound_bytes = 0 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run(%a: !aot.ptr<i64> {aot.io = "output", aot.name = "a", aot.dtype = "int64", aot.shape = array<i64: 0, 2>}, %b: !aot.ptr<i64> {aot.io = "output", aot.name = "b", aot.dtype = "int64", aot.shape = array<i64: 2>}) -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_selftest
// CHECK:        aot.null : !aot.ptr<i64>
// CHECK:        func.call @aotc_kws_run
// CHECK-NEXT:   aot.check
// CHECK-NEXT:   aot.weight "b"
// CHECK:        scf.for
// CHECK:          arith.constant 1 : i32
// CHECK-NOT:    scf.for
// CHECK:        func.return

// -----

// Nor is an input without elements copied into the workspace.

builtin.module attributes {aot.name = "kws", aot.io = "workspace", aot.selftest = {inputs = ["x"], outputs = ["y"], tolerances = [0.0 : f64]}, aot.plan = {peak_bytes = 32 : i64, lower_bound_bytes = 32 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run() -> i32 attributes {aot.entry, aot.tensors = [{aot.io = "input", aot.name = "x", aot.dtype = "bool", aot.shape = array<i64: 0>, aot.offset = 16 : i64}, {aot.io = "output", aot.name = "y", aot.dtype = "bool", aot.shape = array<i64: 3>, aot.offset = 0 : i64}]} {
    %ws = aot.workspace : memref<32xi8>
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_selftest
// CHECK-NOT:    scf.for
// CHECK:        func.call @aotc_kws_run
// CHECK:        scf.for

// -----

// The caller's workspace and the resource handle are arguments; quantised elements may be a unit apart, of the second
// output (numbers from 3 on) none.

builtin.module attributes {aot.name = "kws", aot.selftest = {inputs = [], outputs = ["a", "b"], tolerances = [0.0 : f64, 0.0 : f64]}, aot.plan = {peak_bytes = 0 : i64, lower_bound_bytes = 0 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run(%a: !aot.ptr<i8> {aot.io = "output", aot.name = "a", aot.dtype = "uint8", aot.scale = 0.5 : f64, aot.shape = array<i64: 2>}, %b: !aot.ptr<i64> {aot.io = "output", aot.name = "b", aot.dtype = "int64", aot.shape = array<i64>}, %workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 16 : i64}, %resource_handle: !aot.ptr<i8> {aot.io = "resource_handle"}) -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_selftest(%workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 16 : i64}, %resource_handle: !aot.ptr<i8> {aot.io = "resource_handle"}) -> i32
// CHECK-NEXT:   aot.buffer %workspace : !aot.ptr<i8> to memref<24xi8>
// CHECK:        func.call @aotc_kws_run(%{{\d+}}, %{{\d+}}, %workspace, %resource_handle)
// CHECK:        scf.for
// CHECK:          arith.extui
// CHECK:          arith.cmpi ugt
// CHECK:        scf.for
// CHECK-NOT:      arith.extui
// CHECK:          arith.cmpi ne
// CHECK:          arith.constant 3 : i32

// -----

// Inputs and outputs in the workspace: the recorded input is copied there, nothing grows.

builtin.module attributes {aot.name = "kws", aot.io = "workspace", aot.selftest = {inputs = ["x"], outputs = ["y"], tolerances = [0.0 : f64]}, aot.plan = {peak_bytes = 32 : i64, lower_bound_bytes = 32 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run() -> i32 attributes {aot.entry, aot.tensors = [{aot.io = "input", aot.name = "x", aot.dtype = "bool", aot.shape = array<i64: 3>, aot.offset = 16 : i64}, {aot.io = "output", aot.name = "y", aot.dtype = "bool", aot.shape = array<i64: 3>, aot.offset = 0 : i64}]} {
    %ws = aot.workspace : memref<32xi8>
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_selftest() -> i32
// CHECK-NEXT:   aot.workspace : memref<32xi8>
// CHECK-NEXT:   [[AT:%\d+]] = arith.constant 16 : index
// CHECK-NEXT:   [[X:%\d+]] = memref.view %{{\d+}}[[[AT]]][] : memref<32xi8> to memref<3xi1>
// CHECK:        %recorded = aot.weight "x" : memref<3xi1>
// CHECK:          memref.store %{{\d+}}, [[X]]
// CHECK:        func.call @aotc_kws_run() : () -> i32

// -----

// No attribute, no function.

builtin.module attributes {aot.name = "kws"} {
  func.func @aotc_kws_run() -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:     func.func @aotc_kws_run
// CHECK-NOT: selftest
