// RUN: aotc-opt %s -p convert-to-llvm | filecheck %s

// Without an else, what follows comes next.
// CHECK-LABEL: llvm.func @sometimes(
// CHECK:         llvm.cond_br %c, ^then, ^endif
// CHECK-NEXT:  ^then:
// CHECK:         llvm.br ^endif
// CHECK-NEXT:  ^endif:
// CHECK-NEXT:    llvm.return
func.func @sometimes(%c: i1, %p: !aot.ptr<f32>, %x: f32) {
  %b = aot.buffer %p : !aot.ptr<f32> to memref<8xf32>
  %c1 = arith.constant 1 : index
  scf.if %c {
    memref.store %x, %b[%c1] : memref<8xf32>
  }
  func.return
}
