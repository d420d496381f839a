// RUN: aotc-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: no structure named Tensor
func.func @unknown_structure(%p: !aot.ptr<!aot.struct<"Tensor">>) {
  func.return
}

// -----

// CHECK: DLTensor has no field rank
func.func @unknown_field(%p: !aot.ptr<!aot.struct<"DLTensor">>) {
  %0 = aot.field %p[0] "rank" : !aot.ptr<!aot.struct<"DLTensor">> -> i32
  func.return
}

// -----

// CHECK: the result has not the type of field ndim
func.func @wrong_field_type(%p: !aot.ptr<!aot.struct<"DLTensor">>) {
  %0 = aot.field %p[0] "ndim" : !aot.ptr<!aot.struct<"DLTensor">> -> i64
  func.return
}

// -----

// CHECK: the operand must point to a structure
func.func @no_structure(%p: !aot.ptr<f32>) {
  %0 = aot.field %p[0] "ndim" : !aot.ptr<f32> -> i32
  func.return
}
