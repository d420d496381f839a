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

// CHECK: %c = llvm_ext.fcmp %x, %y {predicate = 2 : i64} : vector<4xf32> -> vector<4xi1>
// CHECK-NEXT: %s = llvm_ext.select %c, %x, %y : vector<4xi1>, vector<4xf32>
// CHECK-NEXT: %l = llvm_ext.masked_load %p, %c, %s {alignment = 4 : i64} : !llvm.ptr, vector<4xi1>, vector<4xf32>
// CHECK-NEXT: llvm_ext.masked_store %l, %p, %c {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr, vector<4xi1>
// CHECK-NEXT: %r = llvm_ext.extractelement %l[%i : i64] : vector<4xf32> -> f32
func.func @vectors(%x: vector<4xf32>, %y: vector<4xf32>, %p: !llvm.ptr, %i: i64) -> f32 {
  %c = llvm_ext.fcmp %x, %y {predicate = 2 : i64} : vector<4xf32> -> vector<4xi1>
  %s = llvm_ext.select %c, %x, %y : vector<4xi1>, vector<4xf32>
  %l = llvm_ext.masked_load %p, %c, %s {alignment = 4 : i64} : !llvm.ptr, vector<4xi1>, vector<4xf32>
  llvm_ext.masked_store %l, %p, %c {alignment = 4 : i64} : vector<4xf32>, !llvm.ptr, vector<4xi1>
  %r = llvm_ext.extractelement %l[%i : i64] : vector<4xf32> -> f32
  func.return %r : f32
}
