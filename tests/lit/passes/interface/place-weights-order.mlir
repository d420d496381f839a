// RUN: aotc-opt %s -p 'select-calling-convention,place-weights' | filecheck %s

// Weights stand in the order in which calls read them, also through views; those that only control flow reads come last.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %c = aot.weight "c"
// CHECK-NEXT:    %b = aot.weight "b"
// CHECK-NEXT:    %a = aot.weight "a"
// CHECK-NEXT:    %d = aot.weight "d"
// CHECK-NEXT:    %v = memref.reinterpret_cast %b
// CHECK-NEXT:    func.call @use_0(%c)
builtin.module attributes {aot.name = "m"} {
  func.func @main() attributes {aot.entry} {
    %d = aot.weight "d" : memref<8xf32>
    %a = aot.weight "a" : memref<8xf32>
    %b = aot.weight "b" : memref<2x4xf32>
    %v = memref.reinterpret_cast %b to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
    %c = aot.weight "c" : memref<8xf32>
    func.call @use_0(%c) : (memref<8xf32>) -> ()
    func.call @use_0(%v) : (memref<8xf32>) -> ()
    func.call @use_0(%a) : (memref<8xf32>) -> ()
    %t = arith.constant true
    scf.if %t {
      func.call @use_0(%d) : (memref<8xf32>) -> ()
    }
    func.return
  }
  func.func private @use_0(%x: memref<8xf32>) attributes {aot.kernel} {
    func.return
  }
}
