// RUN: aotc-opt %s -p profile-kernels | filecheck %s
// RUN: aotc-opt %s -p profile-kernels,convert-to-llvm | filecheck %s --check-prefix LLVM

builtin.module attributes {aot.name = "kws"} {
  func.func private @aotc_kws_relu_0(%x: !aot.ptr<f32>) -> i32 attributes {aot.kernel} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_kws_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    %1 = func.call @aotc_kws_relu_0(%x) : (!aot.ptr<f32>) -> i32
    aot.check %1
    %2 = func.call @aotc_kws_relu_0(%y) : (!aot.ptr<f32>) -> i32
    aot.check %2
    func.return %0 : i32
  }
}

// Each call has a counter; a call begins where the one before it ended.
// CHECK-LABEL: func.func @aotc_kws_run
// CHECK:         [[C:%.*]] = aot.counters "aotc_kws_profile" : memref<2xi64>
// CHECK-NEXT:    [[T0:%.*]] = aot.ticks : i64
// CHECK-NEXT:    [[S:%.*]] = func.call @aotc_kws_relu_0(%x)
// CHECK-NEXT:    aot.check [[S]]
// CHECK-NEXT:    [[T1:%.*]] = aot.ticks : i64
// CHECK-NEXT:    [[I:%.*]] = arith.constant 0 : index
// CHECK-NEXT:    [[D:%.*]] = arith.subi [[T1]], [[T0]] : i64
// CHECK-NEXT:    [[OLD:%.*]] = memref.load [[C]][[[I]]] : memref<2xi64>
// CHECK-NEXT:    [[NEW:%.*]] = arith.addi [[OLD]], [[D]] : i64
// CHECK-NEXT:    memref.store [[NEW]], [[C]][[[I]]] : memref<2xi64>
// CHECK-NEXT:    func.call @aotc_kws_relu_0(%y)
// CHECK-NEXT:    aot.check
// CHECK-NEXT:    [[T2:%.*]] = aot.ticks : i64
// CHECK-NEXT:    [[I1:%.*]] = arith.constant 1 : index
// CHECK-NEXT:    arith.subi [[T2]], [[T1]] : i64

// LLVM:        llvm.mlir.global external @aotc_kws_profile(0 : i8)
// LLVM-SAME:     !llvm.array<16 x i8>
// LLVM-LABEL:  llvm.func @aotc_kws_run
// LLVM:          llvm.call_intrinsic "llvm.readcyclecounter"() : () -> i64
