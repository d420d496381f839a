// RUN: aotc-opt %s -t c | filecheck %s

// Argument structures on both sides of a packed call.
builtin.module attributes {aot.name = "m"} {
  func.func @caller(%x: !aot.ptr<f32>, %handle: !aot.ptr<i8>) -> i32 {
    %values = aot.alloca 1 : !aot.ptr<!aot.struct<"AOTCValue">>
    %codes = aot.alloca 1 : !aot.ptr<i32>
    %tensors = aot.alloca 1 : !aot.ptr<!aot.struct<"DLTensor">>
    %shapes = aot.alloca 2 : !aot.ptr<i64>
    %four = arith.constant 4 : i64
    aot.set_element %shapes[1], %four : !aot.ptr<i64>, i64
    %data = aot.ptr_cast %x : !aot.ptr<f32> to !aot.ptr<i8>
    aot.set_field %tensors[0] "data", %data : !aot.ptr<!aot.struct<"DLTensor">>, !aot.ptr<i8>
    %bits = arith.constant 32 : i8
    aot.set_field %tensors[0] "dtype.bits", %bits : !aot.ptr<!aot.struct<"DLTensor">>, i8
    %shape = aot.address %shapes[1] : !aot.ptr<i64>
    aot.set_field %tensors[0] "shape", %shape : !aot.ptr<!aot.struct<"DLTensor">>, !aot.ptr<i64>
    %t = aot.address %tensors[0] : !aot.ptr<!aot.struct<"DLTensor">>
    %tv = aot.ptr_cast %t : !aot.ptr<!aot.struct<"DLTensor">> to !aot.ptr<i8>
    aot.set_field %values[0] "v_handle", %tv : !aot.ptr<!aot.struct<"AOTCValue">>, !aot.ptr<i8>
    %code = arith.constant 7 : i32
    aot.set_element %codes[0], %code : !aot.ptr<i32>, i32
    %args = aot.ptr_cast %values : !aot.ptr<!aot.struct<"AOTCValue">> to !aot.ptr<i8>
    %ids = aot.ptr_cast %codes : !aot.ptr<i32> to !aot.ptr<i8>
    %s = func.call @callee(%args, %ids, %handle) : (!aot.ptr<i8>, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
    func.return %s : i32
  }
  func.func private @callee(%args: !aot.ptr<i8>, %ids: !aot.ptr<i8>, %handle: !aot.ptr<i8>) -> i32 {
    %values = aot.ptr_cast %args : !aot.ptr<i8> to !aot.ptr<!aot.struct<"AOTCValue">>
    %h = aot.field %values[0] "v_handle" : !aot.ptr<!aot.struct<"AOTCValue">> -> !aot.ptr<i8>
    %null = aot.is_null %h : !aot.ptr<i8>
    %true = arith.constant true
    %some = arith.xori %null, %true : i1
    aot.require %some
    %t = aot.ptr_cast %h : !aot.ptr<i8> to !aot.ptr<!aot.struct<"DLTensor">>
    %bits = aot.field %t[0] "dtype.bits" : !aot.ptr<!aot.struct<"DLTensor">> -> i8
    %want = arith.constant 32 : i8
    %same = arith.cmpi eq, %bits, %want : i8
    aot.require %same
    %name = aot.string "it's \"??\" \\ \n"
      : !aot.ptr<i8>
    %table = aot.symbol @sizes : !aot.ptr<i64>
    %sizes = aot.ptr_cast %table : !aot.ptr<i64> to !aot.ptr<i8>
    %s = func.call @note(%name, %sizes) : (!aot.ptr<i8>, !aot.ptr<i8>) -> i32
    aot.check %s
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
  func.func private @note(!aot.ptr<i8>, !aot.ptr<i8>) -> i32
  aot.global @sizes : i64 = [1 : i64, -5 : i64, 5000000000 : i64] {sym_visibility = "private"}
}

// CHECK:      #include "aotc_packed.h"
// CHECK:      static const int64_t sizes[] = {1, -5, INT64_C(5000000000)};
// CHECK:      static int32_t callee(void *args, void *ids, void *handle)
// CHECK-NEXT: {
// CHECK-NEXT:     (void)ids;
// CHECK-NEXT:     (void)handle;
// CHECK-NEXT:     AOTCValue *values = (AOTCValue *)args;
// CHECK-NEXT:     void *h = values->v_handle;
// CHECK-NEXT:     if (h == NULL) {
// CHECK-NEXT:         return -1;
// CHECK-NEXT:     }
// CHECK-NEXT:     DLTensor *t = (DLTensor *)h;
// CHECK-NEXT:     if (t->dtype.bits != 32u) {
// CHECK-NEXT:         return -1;
// CHECK-NEXT:     }
// CHECK-NEXT:     int32_t status = note("it's \"\?\?\" \\ \012", (void *)(uintptr_t)sizes);
// CHECK:      int32_t caller(float *x, void *handle)
// CHECK-NEXT: {
// CHECK-NEXT:     AOTCValue values[1];
// CHECK-NEXT:     int32_t codes[1];
// CHECK-NEXT:     DLTensor tensors[1];
// CHECK-NEXT:     int64_t shapes[2];
// CHECK-NEXT:     shapes[1] = 4;
// CHECK-NEXT:     tensors[0].data = x;
// CHECK-NEXT:     tensors[0].dtype.bits = 32;
// CHECK-NEXT:     tensors[0].shape = &shapes[1];
// CHECK-NEXT:     values[0].v_handle = tensors;
// CHECK-NEXT:     codes[0] = 7;
// CHECK-NEXT:     const int32_t s = callee(values, codes, handle);
// CHECK-NEXT:     return s;
