// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m0}' -t c | filecheck %s --check-prefix CC
// RUN: aotc-opt %s -p 'attach-target{target=cortex-m0},convert-to-llvm' | filecheck %s --check-prefix LLVM

// Words are moved where their addresses are multiples of four.

// CHECK:      %[[A:.*]] = aot.word_load %x[%{{.*}}] aligned : memref<16xi8>
// CHECK-NEXT: aot.word_store %[[A]], %x[%{{.*}}] : memref<16xi8>
// CC:         aotc_set_word(&p[0], aotc_aligned_word(&p[8]));
// LLVM:       llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> i32
// LLVM-NEXT:  llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : i32, !llvm.ptr
func.func private @move(%p: !aot.ptr<i8>) attributes {aot.kernel} {
  %x = aot.buffer %p : !aot.ptr<i8> to memref<16xi8>
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = aot.word_load %x[%c8] aligned : memref<16xi8>
  aot.word_store %a, %x[%c0] : memref<16xi8>
  func.return
}
