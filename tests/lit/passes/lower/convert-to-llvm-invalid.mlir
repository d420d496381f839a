// RUN: not aotc-opt %s -p 'convert-to-llvm' 2>&1 | filecheck %s

// CHECK: memref.alloc {{.*}}[no-form-in-llvm]
// CHECK-NEXT: memref.dealloc {{.*}}[no-form-in-llvm]
func.func @f() -> i32 {
  %0 = memref.alloc() : memref<4xf32>
  memref.dealloc %0 : memref<4xf32>
  %ok = arith.constant 0 : i32
  func.return %ok : i32
}
