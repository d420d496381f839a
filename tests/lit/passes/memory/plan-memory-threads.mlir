// RUN: aotc-opt %s -p 'plan-memory{threads=2}' | filecheck %s
// RUN: aotc-opt %s -p plan-memory | filecheck %s --check-prefix=ALONE

// Of buffers that use the same memory one after the other each thread has its half in the same place.

// CHECK:      aot.plan = {peak_bytes = 448 : i64,
// CHECK-SAME: name = "a", offset = 0 : i64, size = 256 : i64,
// CHECK-SAME: name = "b", offset = 256 : i64, size = 192 : i64,
// CHECK-SAME: name = "c", offset = 64 : i64, size = 128 : i64,
// ALONE:      aot.plan = {peak_bytes = 448 : i64,
// ALONE-SAME: name = "c", offset = 0 : i64, size = 128 : i64,
builtin.module {
  func.func private @a(memref<64xf32>, memref<64xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @b(memref<64xf32>, memref<48xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @c(memref<48xf32>, memref<32xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func private @d(memref<32xf32>, memref<4xf32>) attributes {aot.kernel, aot.in_place = [[]]}
  func.func @main(%x: memref<64xf32> {aot.io = "input"}, %y: memref<4xf32> {aot.io = "output"}) attributes {aot.entry} {
    %a = memref.alloc() : memref<64xf32>
    func.call @a(%x, %a) : (memref<64xf32>, memref<64xf32>) -> ()
    %b = memref.alloc() : memref<48xf32>
    func.call @b(%a, %b) : (memref<64xf32>, memref<48xf32>) -> ()
    %c = memref.alloc() : memref<32xf32>
    func.call @c(%b, %c) : (memref<48xf32>, memref<32xf32>) -> ()
    func.call @d(%c, %y) : (memref<32xf32>, memref<4xf32>) -> ()
    func.return
  }
}
