// RUN: aotc-opt %s -p convert-to-llvm | filecheck %s
// RUN: aotc-opt %s -t c | filecheck %s --check-prefix=C

// A kernel of branches is small whatever the options; what is behind a branch could be loaded before it if it were said
// to be there.
// CHECK-LABEL: llvm.func internal @branches(%{{.*}}: !llvm.ptr {llvm.readonly, llvm.noundef})
// CHECK-SAME:    passthrough = ["optsize", "minsize"]
// CHECK-LABEL: llvm.func internal @plain(%{{.*}}: !llvm.ptr {llvm.readonly, llvm.dereferenceable = 32 : i64, llvm.noundef})
// CHECK-NOT:     optsize
// C: #define AOTC_BRANCHES __attribute__((optimize("Os")))
// C: static AOTC_OPERATOR AOTC_BRANCHES int32_t branches(
// C: static AOTC_OPERATOR int32_t plain(
func.func private @branches(%x: !aot.ptr<f32> {aot.readonly}) -> i32 attributes {aot.kernel, aot.branches} {
  %b = aot.buffer %x : !aot.ptr<f32> to memref<8xf32>
  %i = arith.constant 3 : index
  %v = memref.load %b[%i] : memref<8xf32>
  %0 = arith.fptosi %v : f32 to i32
  func.return %0 : i32
}

func.func private @plain(%x: !aot.ptr<f32> {aot.readonly}) -> i32 attributes {aot.kernel} {
  %b = aot.buffer %x : !aot.ptr<f32> to memref<8xf32>
  %i = arith.constant 3 : index
  %v = memref.load %b[%i] : memref<8xf32>
  %0 = arith.fptosi %v : f32 to i32
  func.return %0 : i32
}
