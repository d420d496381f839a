// RUN: aotc-opt %s -p 'plan-memory{io=workspace}' | filecheck %s

// %x dies at the first call, so %a takes its place over. Outputs live to the end, so neither takes over the other's place.
// The unused input has a place, which is free after the first call. The signature is empty; the entry keeps what it knows.

builtin.module {
  func.func private @relu(%from: memref<64xf32>, %to: memref<64xf32>) attributes {aot.kernel, aot.in_place = [[0]]} {
    func.return
  }
  func.func private @gemm(memref<64xf32>, memref<8xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @sum(memref<64xf32>, memref<8xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<64xf32> {aot.io = "input", aot.name = "x y", aot.dtype = "float32"}, %spare: memref<4xi8> {aot.io = "input", aot.name = "spare", aot.dtype = "int8"}, %none: memref<4xi8> {aot.io = "input", aot.dtype = "int8"}, %y: memref<8xf32> {aot.io = "output", aot.name = "y", aot.dtype = "float32"}, %z: memref<2x4xf32> {aot.io = "output", aot.name = "z", aot.dtype = "float32"}) attributes {aot.entry} {
    %a = memref.alloc() : memref<64xf32>
    func.call @relu(%x, %a) : (memref<64xf32>, memref<64xf32>) -> () loc("Relu_0")
    func.call @gemm(%a, %y) : (memref<64xf32>, memref<8xf32>) -> () loc("Gemm_1")
    %flat = memref.reinterpret_cast %z to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
    func.call @sum(%a, %flat) : (memref<64xf32>, memref<8xf32>) -> () loc("Sum_2")
    func.return
  }
}

// CHECK:      aot.plan = {peak_bytes = 320 : i64
// CHECK-SAME: {name = "x y", offset = [[X:\d+]] : i64, size = 256 : i64, first = 0 : i64, last = 2 : i64, nodes = ["Relu_0"]}
// CHECK-SAME: {name = "buffer", {{.*}}nodes = []}
// CHECK-SAME: {name = "y", offset = [[Y:\d+]] : i64, size = 32 : i64, first = 1 : i64, last = 2 : i64
// CHECK:      func.func private @relu(%from: memref<64xf32> {aot.may_alias}, %to: memref<64xf32> {aot.may_alias})
// CHECK:      func.func @main() attributes {aot.entry, aot.tensors = [
// CHECK-SAME: {aot.io = "input", aot.name = "x y", aot.dtype = "float32", aot.shape = array<i64: 64>, aot.offset = [[X]] : i64}
// CHECK-SAME: {aot.io = "input", aot.name = "spare"
// CHECK-SAME: {aot.io = "output", aot.name = "y", aot.dtype = "float32", aot.shape = array<i64: 8>, aot.offset = [[Y]] : i64}
// CHECK-SAME: {aot.io = "output", aot.name = "z", aot.dtype = "float32", aot.shape = array<i64: 2, 4>
// CHECK:        %ws = aot.workspace : memref<320xi8>
// CHECK:        %flat = memref.reinterpret_cast %z
// CHECK:        func.call @relu(%x, %x)
// CHECK:        func.call @gemm(%x, %y)
// CHECK:        func.call @sum(%x, %flat)
