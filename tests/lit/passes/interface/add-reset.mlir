// RUN: aotc-opt %s --split-input-file -p add-reset | filecheck %s

// Zeros, and the values of a constant; a state without elements has none.

builtin.module attributes {aot.name = "kws", aot.workspace = "internal", aot.plan = {peak_bytes = 96 : i64, lower_bound_bytes = 96 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run() -> i32 attributes {aot.entry, aot.states = [{aot.name = "h", aot.dtype = "float32", aot.next = "hn", aot.shape = array<i64: 2, 4>, aot.offset = 16 : i64}, {aot.name = "n", aot.dtype = "uint8", aot.next = "m", aot.shape = array<i64: 3>, aot.offset = 48 : i64, aot.initial = "state_n"}, {aot.name = "e", aot.dtype = "int64", aot.next = "f", aot.shape = array<i64: 0>, aot.offset = 64 : i64}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_reset() -> i32 {
// CHECK-NEXT:   [[WS:%\d+]] = aot.workspace : memref<96xi8>
// CHECK-NEXT:   [[AT:%\d+]] = arith.constant 16 : index
// CHECK-NEXT:   [[H:%\d+]] = memref.view [[WS]][[[AT]]][] : memref<96xi8> to memref<8xf32>
// CHECK-NEXT:   [[ZERO:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK:        arith.constant 8 : index
// CHECK:        scf.for [[I:%\d+]] =
// CHECK-NEXT:     memref.store [[ZERO]], [[H]][[[I]]] : memref<8xf32>
// CHECK:        [[N:%\d+]] = memref.view [[WS]]{{.*}} to memref<3xi8>
// CHECK-NEXT:   %first = aot.weight "state_n" : memref<3xi8>
// CHECK:        scf.for [[I:%\d+]] =
// CHECK-NEXT:     [[V:%\d+]] = memref.load %first[[[I]]]
// CHECK-NEXT:     memref.store [[V]], [[N]][[[I]]]
// CHECK-NEXT:   }
// CHECK-NEXT:   [[DONE:%\d+]] = arith.constant 0 : i32
// CHECK-NEXT:   func.return [[DONE]] : i32

// -----

// The workspace of the caller's is the argument.

builtin.module attributes {aot.name = "kws", aot.workspace = "caller", aot.plan = {peak_bytes = 8 : i64, lower_bound_bytes = 8 : i64, optimal = true, alignment = 32 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_run(%workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 32 : i64}) -> i32 attributes {aot.entry, aot.states = [{aot.name = "n", aot.dtype = "int64", aot.next = "m", aot.shape = array<i64>, aot.offset = 0 : i64}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:      func.func @aotc_kws_reset(%workspace: !aot.ptr<i8> {aot.io = "workspace", aot.align = 32 : i64, aot.noalias}) -> i32 {
// CHECK-NEXT:   aot.buffer %workspace : !aot.ptr<i8> to memref<8xi8>
// CHECK:        arith.constant 0 : i64
// CHECK:        memref.store

// -----

// Rows that have come are forgotten.

// CHECK:      func.func @aotc_kws_reset() -> i32 {
// CHECK:        [[PUSHED:%\d+]] = memref.view {{.*}} to memref<3xi32>
// CHECK:        [[CAME:%\d+]] = arith.constant 2 : index
// CHECK:        memref.store {{%\d+}}, [[PUSHED]][[[CAME]]] : memref<3xi32>
builtin.module attributes {aot.name = "kws", aot.workspace = "internal", aot.plan = {peak_bytes = 96 : i64, lower_bound_bytes = 96 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @aotc_kws_push_x() -> i32 attributes {aot.entry, aot.pushed = {offset = 64 : i64}} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// -----

// No states, no function.

builtin.module attributes {aot.name = "kws", aot.workspace = "internal"} {
  func.func @aotc_kws_run() -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}

// CHECK:       func.func @aotc_kws_run() -> i32 attributes {aot.entry} {
// CHECK-NOT:   _reset
