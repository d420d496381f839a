// RUN: aotc-opt %s -p plan-memory | filecheck %s
// RUN: aotc-opt %s -p 'plan-memory{io=workspace}' | filecheck %s --check-prefix=IO

// %h is written before %b is there and not read again, but %b gets no place of it: it is needed at the next call. Nor does
// it take over the place of %x, which dies where it is written.

builtin.module {
  func.func private @update(memref<64xf32>, memref<64xf32>) attributes {aot.kernel, aot.in_place = [[0]]}
  func.func private @neg(memref<64xf32>, memref<64xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<64xf32> {aot.io = "input", aot.name = "x", aot.dtype = "float32"}, %h: memref<64xf32> {aot.io = "state", aot.name = "h", aot.dtype = "float32", aot.next = "hn", aot.initial = "first"}, %u: memref<8xi8> {aot.io = "state", aot.name = "unused", aot.dtype = "int8", aot.next = "same"}, %y: memref<64xf32> {aot.io = "output", aot.name = "y", aot.dtype = "float32"}) attributes {aot.entry} {
    func.call @update(%x, %h) : (memref<64xf32>, memref<64xf32>) -> () loc("Update_0")
    %b = memref.alloc() : memref<64xf32>
    func.call @neg(%h, %b) : (memref<64xf32>, memref<64xf32>) -> () loc("Neg_1")
    func.call @neg(%b, %y) : (memref<64xf32>, memref<64xf32>) -> () loc("Neg_2")
    func.return
  }
}

// CHECK:      aot.plan = {peak_bytes = 520 : i64
// CHECK-SAME: {name = "h", offset = [[H:\d+]] : i64, size = 256 : i64, first = 0 : i64, last = 2 : i64, nodes = ["Update_0"], kept}
// CHECK-SAME: {name = "unused", offset = [[U:\d+]] : i64, size = 8 : i64, first = 0 : i64, last = 2 : i64, nodes = [], kept}
// CHECK-SAME: {name = "Neg_1", offset = {{\d+}} : i64, size = 256 : i64, first = 1 : i64, last = 2 : i64, nodes = ["Neg_1"]}
// CHECK:      func.func @main(%x: memref<64xf32> {{{.*}}}, %y: memref<64xf32> {{{.*}}}) attributes {aot.entry, aot.states = [
// CHECK-SAME: {aot.io = "state", aot.name = "h", aot.dtype = "float32", aot.next = "hn", aot.initial = "first", aot.shape = array<i64: 64>, aot.offset = [[H]] : i64}
// CHECK-SAME: {aot.io = "state", aot.name = "unused", aot.dtype = "int8", aot.next = "same", aot.shape = array<i64: 8>, aot.offset = [[U]] : i64}
// CHECK:        %ws = aot.workspace : memref<520xi8>
// CHECK:        func.call @update(%x, %h)
// CHECK-NEXT:   func.call @neg(%h, %b)
// CHECK-NEXT:   func.call @neg(%b, %y)

// IO:      {name = "x", offset = 0 : i64, size = 256 : i64, first = 0 : i64, last = 0 : i64
// IO-SAME: {name = "h", offset = 256 : i64, size = 256 : i64, first = 0 : i64, last = 2 : i64, nodes = ["Update_0"], kept}
// IO:      func.func @main() attributes {aot.entry, aot.states = [{aot.io = "state", aot.name = "h"
// IO-SAME: aot.tensors = [{aot.io = "input"
// IO-NOT:  aot.io = "state"
// IO:      func.call @update(%x, %h)
