// RUN: aotc-opt %s --split-input-file -p add-selftest | filecheck %s

// Floats are compared within the tolerance of their output, halves as f32; quantised integers of up to 16 bits may be a
// unit apart, wider ones and others may not. States are reset first. All outputs are in one workspace.

builtin.module attributes {aot.name = "m", aot.workspace = "internal", aot.selftest = {inputs = [], outputs = ["half", "float", "quantized", "wide", "plain"], tolerances = [0.25 : f64, 0.5 : f64, 0.0 : f64, 0.0 : f64, 0.0 : f64]}, aot.plan = {peak_bytes = 16 : i64, lower_bound_bytes = 16 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_m_run(%a: !aot.ptr<f16> {aot.io = "output", aot.name = "a", aot.dtype = "float16", aot.shape = array<i64: 2>}, %b: !aot.ptr<f32> {aot.io = "output", aot.name = "b", aot.dtype = "float32", aot.shape = array<i64: 2>}, %c: !aot.ptr<i16> {aot.io = "output", aot.name = "c", aot.dtype = "int16", aot.scale = 0.5 : f64, aot.shape = array<i64: 2>}, %d: !aot.ptr<i32> {aot.io = "output", aot.name = "d", aot.dtype = "int32", aot.scale = 0.5 : f64, aot.shape = array<i64: 2>}, %e: !aot.ptr<i8> {aot.io = "output", aot.name = "e", aot.dtype = "int8", aot.shape = array<i64: 2>}) -> i32 attributes {aot.entry, aot.states = [{aot.name = "h", aot.dtype = "float32", aot.next = "hn", aot.shape = array<i64: 4>, aot.offset = 0 : i64}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @aotc_m_reset() -> i32
}

// CHECK:      func.func @aotc_m_selftest() -> i32
// CHECK-NEXT:   aot.workspace : memref<82xi8>
// CHECK-NOT:    aot.workspace
// CHECK:        [[RESET:%\d+]] = func.call @aotc_m_reset() : () -> i32
// CHECK-NEXT:   aot.check [[RESET]]
// CHECK-NEXT:   [[RAN:%\d+]] = func.call @aotc_m_run
// CHECK-NEXT:   aot.check [[RAN]]
// CHECK:        aot.weight "half"
// CHECK:          arith.extf
// CHECK-NEXT:     arith.extf
// CHECK-NEXT:     arith.constant 2.500000e-01 : f32
// CHECK:        aot.weight "float"
// CHECK-NOT:      arith.extf
// CHECK:          arith.constant 5.000000e-01 : f32
// CHECK:        aot.weight "quantized"
// CHECK:          arith.extsi
// CHECK:          arith.cmpi ugt
// CHECK:        aot.weight "wide"
// CHECK-NOT:      arith.extsi
// CHECK:          arith.cmpi ne
// CHECK:        aot.weight "plain"
// CHECK-NOT:      arith.extsi
// CHECK:          arith.cmpi ne

// -----

// The caller's workspace has the states, too.

builtin.module attributes {aot.name = "m", aot.workspace = "caller", aot.selftest = {inputs = [], outputs = [], tolerances = []}, aot.plan = {peak_bytes = 16 : i64, lower_bound_bytes = 16 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_m_run(%workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 16 : i64}) -> i32 attributes {aot.entry, aot.states = [{aot.name = "h", aot.dtype = "float32", aot.next = "hn", aot.shape = array<i64: 4>, aot.offset = 0 : i64}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @aotc_m_reset(!aot.ptr<i8>) -> i32
}

// CHECK:      func.func @aotc_m_selftest(%workspace: !aot.ptr<i8> {{.*}}) -> i32
// CHECK-NEXT:   func.call @aotc_m_reset(%workspace) : (!aot.ptr<i8>) -> i32
