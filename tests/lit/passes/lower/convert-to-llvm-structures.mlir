// RUN: aotc-opt %s -p 'attach-target{target=cortex-m4},convert-to-llvm' | filecheck %s

// Argument structures are laid out by LLVM for the target; tables are built by insertions; strings are shared.

// CHECK: llvm.mlir.global private unnamed_addr constant @aotc.str.0("add\00")
// CHECK: llvm.mlir.global internal constant @shapes()
// CHECK-NEXT: [[A:%.+]] = llvm.mlir.constant(1) : i64
// CHECK-NEXT: [[B:%.+]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT: [[U:%.+]] = llvm.mlir.undef : !llvm.array<2 x i64>
// CHECK-NEXT: [[V:%.+]] = llvm.insertvalue [[A]], [[U]][0] : !llvm.array<2 x i64>
// CHECK-NEXT: [[W:%.+]] = llvm.insertvalue [[B]], [[V]][1] : !llvm.array<2 x i64>
// CHECK-NEXT: llvm.return [[W]] : !llvm.array<2 x i64>
// CHECK: llvm.mlir.global external constant @aotc_m_model()
// CHECK: llvm.mlir.addressof @aotc_m_run : !llvm.ptr
// CHECK: {{.*}} : !llvm.array<1 x !llvm.struct<(!llvm.ptr, i32, i32)>>

builtin.module attributes {aot.name = "m"} {
  aot.global @shapes : i64 = [1, 8] {sym_visibility = "private"}
  aot.global @aotc_m_model : !aot.struct<"AOTCTypedModel"> = [[@aotc_m_run, 1 : i32, 1 : i32]]

  // CHECK-LABEL: llvm.func @aotc_m_run(
  // CHECK-SAME: %x: !llvm.ptr {llvm.noundef}
  // CHECK: %t = llvm.alloca %{{.*}} x !llvm.struct<(!llvm.ptr, !llvm.struct<(i32, i32)>, i32, !llvm.struct<(i8, i8, i16)>, !llvm.ptr, !llvm.ptr, i64)> : (i32) -> !llvm.ptr
  // CHECK: %v = llvm.alloca %{{.*}} x !llvm.struct<(i64)> : (i32) -> !llvm.ptr
  // CHECK: [[X:%.+]] = llvm.ptrtoint %x : !llvm.ptr to i32
  // CHECK: %null = llvm.icmp "eq" [[X]], {{.*}} : i32
  // CHECK: [[N:%.+]] = llvm.getelementptr inbounds %t[1, 2]
  // CHECK-NEXT: llvm.store %n, [[N]] {alignment = 4 : i64}
  // CHECK: [[L:%.+]] = llvm.getelementptr inbounds %t[1, 3, 2]
  // CHECK-NEXT: %lanes = llvm.load [[L]] {alignment = 2 : i64} : !llvm.ptr -> i16
  // CHECK: %a = llvm.getelementptr inbounds %t[1]
  // CHECK: [[H:%.+]] = llvm.getelementptr inbounds %v[1, 0]
  // CHECK-NEXT: llvm.store %a, [[H]]
  // CHECK: [[C:%.+]] = llvm.getelementptr inbounds %codes[1] : (!llvm.ptr) -> !llvm.ptr, i32
  // CHECK-NEXT: llvm.store %n, [[C]] {alignment = 4 : i64} : i32, !llvm.ptr
  // CHECK: llvm.call @AOTCCallPacked(%name, %v) : (!llvm.ptr, !llvm.ptr) -> i32
  func.func @aotc_m_run(%x: !aot.ptr<i8>, %n: i32) -> i32 {
    %null = aot.is_null %x : !aot.ptr<i8>
    aot.require %null
    %t = aot.alloca 2 : !aot.ptr<!aot.struct<"DLTensor">>
    aot.set_field %t[1] "ndim", %n : !aot.ptr<!aot.struct<"DLTensor">>, i32
    %lanes = aot.field %t[1] "dtype.lanes" : !aot.ptr<!aot.struct<"DLTensor">> -> i16
    %v = aot.alloca 2 : !aot.ptr<!aot.struct<"AOTCValue">>
    %a = aot.address %t[1] : !aot.ptr<!aot.struct<"DLTensor">>
    %cast = aot.ptr_cast %a : !aot.ptr<!aot.struct<"DLTensor">> to !aot.ptr<i8>
    aot.set_field %v[1] "v_handle", %cast : !aot.ptr<!aot.struct<"AOTCValue">>, !aot.ptr<i8>
    %codes = aot.alloca 2 : !aot.ptr<i32>
    aot.set_element %codes[1], %n : !aot.ptr<i32>, i32
    %values = aot.ptr_cast %v : !aot.ptr<!aot.struct<"AOTCValue">> to !aot.ptr<i8>
    %name = aot.string "add" : !aot.ptr<i8>
    %again = aot.string "add" : !aot.ptr<i8>
    %s = func.call @AOTCCallPacked(%name, %values) : (!aot.ptr<i8>, !aot.ptr<i8>) -> i32
    aot.check %s
    %table = aot.symbol @shapes : !aot.ptr<i64>
    %first = aot.element %table[0] : !aot.ptr<i64> -> i64
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
  // CHECK: llvm.func @AOTCCallPacked(!llvm.ptr, !llvm.ptr) -> i32 attributes {no_unwind}
  func.func private @AOTCCallPacked(!aot.ptr<i8>, !aot.ptr<i8>) -> i32
}
