// RUN: aotc-opt %s | aotc-opt | filecheck %s

// CHECK-LABEL: func.func @memory(%p: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.convention = #aot<convention c>}
func.func @memory(%p: !aot.ptr<f32> {aot.noalias}) -> i32 attributes {aot.convention = #aot<convention c>} {
  // CHECK-NEXT: %w = aot.weight "conv1.w" : memref<4xf32>
  %w = aot.weight "conv1.w" : memref<4xf32>
  // CHECK-NEXT: %ws = aot.workspace : memref<400xi8>
  %ws = aot.workspace : memref<400xi8>
  // CHECK-NEXT: %b = aot.buffer %p : !aot.ptr<f32> to memref<4xf32>
  %b = aot.buffer %p : !aot.ptr<f32> to memref<4xf32>
  // CHECK-NEXT: %d = aot.data %b : memref<4xf32> to !aot.ptr<f32>
  %d = aot.data %b : memref<4xf32> to !aot.ptr<f32>
  // CHECK-NEXT: %v = aot.ptr_cast %d : !aot.ptr<f32> to !aot.ptr<i8>
  %v = aot.ptr_cast %d : !aot.ptr<f32> to !aot.ptr<i8>
  // CHECK-NEXT: %c = aot.is_null %v : !aot.ptr<i8>
  %c = aot.is_null %v : !aot.ptr<i8>
  // CHECK-NEXT: %a = aot.is_aligned %v to 64 : !aot.ptr<i8>
  %a = aot.is_aligned %v to 64 : !aot.ptr<i8>
  // CHECK-NEXT: aot.require %c
  aot.require %c
  // CHECK-NEXT: %s = func.call @kernel(%d) : (!aot.ptr<f32>) -> i32
  %s = func.call @kernel(%d) : (!aot.ptr<f32>) -> i32
  // CHECK-NEXT: aot.check %s
  aot.check %s
  func.return %s : i32
}

// CHECK-LABEL: func.func @structures
func.func @structures() -> !aot.ptr<i8> {
  // CHECK: %t = aot.alloca 2 : !aot.ptr<!aot.struct<"DLTensor">>
  %t = aot.alloca 2 : !aot.ptr<!aot.struct<"DLTensor">>
  // CHECK-NEXT: %n = aot.null : !aot.ptr<i8>
  %n = aot.null : !aot.ptr<i8>
  // CHECK-NEXT: aot.set_field %t[1] "data", %n : !aot.ptr<!aot.struct<"DLTensor">>, !aot.ptr<i8>
  aot.set_field %t[1] "data", %n : !aot.ptr<!aot.struct<"DLTensor">>, !aot.ptr<i8>
  // CHECK-NEXT: aot.address %t[1] : !aot.ptr<!aot.struct<"DLTensor">>
  %a = aot.address %t[1] : !aot.ptr<!aot.struct<"DLTensor">>
  // CHECK-NEXT: %f = aot.field %t[1] "data" : !aot.ptr<!aot.struct<"DLTensor">> -> !aot.ptr<i8>
  %f = aot.field %t[1] "data" : !aot.ptr<!aot.struct<"DLTensor">> -> !aot.ptr<i8>
  // CHECK-NEXT: aot.string "hello" : !aot.ptr<i8>
  %h = aot.string "hello" : !aot.ptr<i8>
  func.return %f : !aot.ptr<i8>
}

func.func private @kernel(!aot.ptr<f32>) -> i32
