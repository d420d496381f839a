// RUN: aotc-opt %s -p 'attach-target{target=x86-64-v3},convert-to-llvm' | filecheck %s

// What is not one to one; values are checked by tests/unit/emit/llvm/test_llvm_arithmetic.py.

// CHECK-LABEL: llvm.func @numbers(
// CHECK: [[NO:%.+]] = llvm.mlir.constant(false) : i1
func.func @numbers(%x: f32, %i: i32, %n: i64) -> i32 {
  // Flags go along: overflow and fast math.
  // CHECK: llvm.add %i, %i overflow<nsw,nuw> : i32
  %0 = arith.addi %i, %i overflow<nsw, nuw> : i32
  // CHECK: llvm.mul %i, %i : i32
  %1 = arith.muli %i, %i : i32
  // CHECK: llvm.fmul %x, %x {fastmathFlags = #llvm.fastmath<reassoc,contract>} : f32
  %2 = arith.mulf %x, %x fastmath<reassoc,contract> : f32
  // An index does not overflow.
  // CHECK: [[INDEX:%.+]] = llvm.add %n, %n overflow<nsw> : i64
  %3 = arith.index_cast %n : i64 to index
  %4 = arith.addi %3, %3 : index
  // CHECK: llvm.trunc [[INDEX]] : i64 to i32
  %5 = arith.index_cast %4 : index to i32
  // CHECK: llvm.call_intrinsic "llvm.smax.i32"(%i, %i)
  %6 = arith.maxsi %i, %i : i32
  // CHECK: llvm.call_intrinsic "llvm.maximum.f32"(%x, %x)
  %7 = arith.maximumf %x, %x : f32
  // CHECK: llvm_ext.uitofp %i : i32 to f32
  %9 = arith.uitofp %i : i32 to f32
  // CHECK: llvm_ext.fptosi %x : f32 to i8
  %10 = arith.fptosi %x : f32 to i8
  // CHECK: llvm.call @expf(%x) : (f32) -> f32
  %11 = math.exp %x : f32
  // CHECK: llvm.call @fmodf(%x, %x) : (f32, f32) -> f32
  %12 = aot.fmod %x, %x : f32
  // What has no result for 0, or for the least integer, elsewhere has one.
  // CHECK: llvm.call_intrinsic "llvm.abs.i32"(%i, [[NO]])
  %13 = math.absi %i : i32
  // CHECK: llvm.call_intrinsic "llvm.ctlz.i32"(%i, [[NO]])
  %14 = math.ctlz %i : i32
  // CHECK: llvm.call_intrinsic "llvm.ctpop.i32"(%i) :
  %15 = math.ctpop %i : i32
  func.return %i : i32
}
// CHECK: llvm.func @expf(f32) -> f32 attributes {no_unwind, passthrough = ["nofree", "nosync", "willreturn", ["memory", "none"]]}
