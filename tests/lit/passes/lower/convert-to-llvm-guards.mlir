// RUN: aotc-opt %s -p convert-to-llvm | filecheck %s

// A sum of unsigned integers has overflowed where it is less than an operand.
// CHECK-LABEL: llvm.func @sum(
// CHECK-NEXT:    [[S:%.*]] = llvm.add %a, %b : i32
// CHECK-NEXT:    llvm.icmp "ult" [[S]], %a : i32
func.func @sum(%a: i32, %b: i32) -> i1 {
  %s, %o = arith.addui_extended %a, %b : i32, i1
  func.return %o : i1
}

// Halves of unsigned products come from unsigned operands.
// CHECK-LABEL: llvm.func @product(
// CHECK-NOT:     llvm.sext
// CHECK:         llvm.zext %x
// CHECK-NEXT:    llvm.zext %y
func.func @product(%x: i32, %y: i32) -> i32 {
  %l, %h = arith.mului_extended %x, %y : i32
  func.return %h : i32
}

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
