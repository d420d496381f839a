// RUN: aotc-opt %s -t llvm-text | filecheck %s

// Block arguments are phis, a kernel's nodes stand before it.

// CHECK: ; Conv_0
// CHECK-NEXT: ; a\nb
// CHECK-NEXT: define i32 @loop(i32 %n) {
// CHECK-NEXT: entry:
// CHECK-NEXT: br label %head
// CHECK-EMPTY:
// CHECK-NEXT: head:
// CHECK-NEXT: %i = phi i32 [ 0, %entry ], [ %1, %body ]
// CHECK-NEXT: %0 = icmp slt i32 %i, %n
// CHECK-NEXT: br i1 %0, label %body, label %body.1
// CHECK-EMPTY:
// CHECK-NEXT: body:
// CHECK-NEXT: %1 = add i32 %i, 1
// CHECK-NEXT: br label %head{{$}}
// CHECK-EMPTY:
// CHECK-NEXT: body.1:
// CHECK-NEXT: ret i32 %i
llvm.func @loop(%n: i32) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.br ^head(%zero : i32)
^head(%i: i32):
  %0 = llvm.icmp "slt" %i, %n : i32
  llvm.cond_br %0, ^body, ^body_1
^body:
  %1 = llvm.add %i, %one : i32
  llvm.br ^head(%1 : i32)
^body_1:
  llvm.return %i : i32
} loc(fused["Conv_0", "a\nb"])
