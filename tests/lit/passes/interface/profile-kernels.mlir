// RUN: aotc-opt %s -p profile-kernels --split-input-file | filecheck %s
// RUN: aotc-opt %s -p profile-kernels,convert-to-llvm --split-input-file | filecheck %s --check-prefix LLVM

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

// -----

// Of calls in control flow it is counted how often they are made; each begins where the last one in its block ended.
// CHECK-LABEL: func.func @aotc_loop_run
// CHECK:         [[C:%.*]] = aot.counters "aotc_loop_profile" : memref<2xi64>
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      [[T0:%.*]] = aot.ticks : i64
// CHECK-NEXT:      [[S:%.*]] = func.call @aotc_loop_relu_0(%x)
// CHECK-NEXT:      [[AT:%.*]] = arith.constant 1 : index
// CHECK-NEXT:      [[ONE:%.*]] = arith.constant 1 : i64
// CHECK-NEXT:      [[OLD:%.*]] = memref.load [[C]][[[AT]]] : memref<2xi64>
// CHECK-NEXT:      [[NEW:%.*]] = arith.addi [[OLD]], [[ONE]] : i64
// CHECK-NEXT:      memref.store [[NEW]], [[C]][[[AT]]] : memref<2xi64>
builtin.module attributes {aot.name = "loop"} {
  func.func private @aotc_loop_relu_0(%x: !aot.ptr<f32>) -> i32 attributes {aot.kernel} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func @aotc_loop_run(%x: !aot.ptr<f32>, %y: !aot.ptr<f32>) -> i32 attributes {aot.entry} {
    %0 = arith.constant 0 : i32
    %a = arith.constant 0 : index
    %b = arith.constant 1 : index
    %c = arith.constant 9 : index
    scf.for %i = %a to %c step %b {
      %1 = func.call @aotc_loop_relu_0(%x) : (!aot.ptr<f32>) -> i32
      aot.check %1
    }
    func.return %0 : i32
  }
}
