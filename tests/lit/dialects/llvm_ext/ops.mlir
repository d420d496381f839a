// RUN: aotc-opt %s | aotc-opt | filecheck %s

// CHECK: %i = llvm_ext.fptosi %x : f32 to i32
// CHECK-NEXT: %u = llvm_ext.fptoui %x : f32 to i8
// CHECK-NEXT: %f = llvm_ext.uitofp %u : i8 to f64
func.func @conversions(%x: f32) -> f64 {
  %i = llvm_ext.fptosi %x : f32 to i32
  %u = llvm_ext.fptoui %x : f32 to i8
  %f = llvm_ext.uitofp %u : i8 to f64
  func.return %f : f64
}
