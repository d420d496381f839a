; The packed entry of a model as functions of apache-tvm-ffi, for libraries that aotc links: `__tvm_ffi_run`, and as
; `__tvm_ffi_main`, the name of a module's only function, of the C type `TVMFFISafeCallType` (`tvm/ffi/c_api.h`): an
; array of tagged values of 16 bytes, their number, and a place for what is returned. Tensors come as `DLTensor *` or as
; objects that have one behind their header, the 24 bytes of a `TVMFFIObject`. Nothing of that package is needed to link
; the library or to load it otherwise: the function that reports an error is a weak symbol. Of `TVMFFITypeIndex` 4 is
; `kTVMFFIOpaquePtr`, 7 `kTVMFFIDLTensorPtr`, 70 `kTVMFFITensor`. What begins with a dollar is the model's.

target triple = "$triple"
%DLTensor = type { ptr, i32, i32, i32, i32, ptr, ptr, i64 }
@kind_value = private constant [11 x i8] c"ValueError\00"
@kind_runtime = private constant [13 x i8] c"RuntimeError\00"
@refused = private constant $refused
@failed = private constant $failed
declare extern_weak void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)
declare i32 @$entry(ptr, ptr, i32, ptr, ptr, ptr)

define private void @report(ptr %kind, ptr %message) noinline {
  %absent = icmp eq ptr @TVMFFIErrorSetRaisedFromCStr, null
  br i1 %absent, label %done, label %known
known:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %message)
  br label %done
done:
  ret void
}

; Copies the tensor of a value, without the strides of contiguous ones, which the packed convention does not take.
define private i1 @tensor(ptr %value, ptr %copy) noinline {
  %type = load i32, ptr %value
  %place = getelementptr i8, ptr %value, i64 8
  %given = load ptr, ptr %place
  %object = icmp eq i32 %type, 70
  %plain = icmp eq i32 %type, 7
  %right = or i1 %object, %plain
  %behind = getelementptr i8, ptr %given, i64 24
  %from = select i1 %object, ptr %behind, ptr %given
  %null = icmp eq ptr %given, null
  %absent = xor i1 %null, true
  %usable = and i1 %right, %absent
  br i1 %usable, label %take, label %no
take:
  %all = load %DLTensor, ptr %from
  store %DLTensor %all, ptr %copy
  %ndim = extractvalue %DLTensor %all, 3
  %shape = extractvalue %DLTensor %all, 5
  %strides = extractvalue %DLTensor %all, 6
  %field = getelementptr %DLTensor, ptr %copy, i64 0, i32 6
  store ptr null, ptr %field
  %none = icmp eq ptr %strides, null
  br i1 %none, label %yes, label %loop
loop:
  %left = phi i32 [ %ndim, %take ], [ %axis, %next ]
  %expected = phi i64 [ 1, %take ], [ %product, %next ]
  %more = icmp sgt i32 %left, 0
  br i1 %more, label %look, label %yes
look:
  %axis = sub i32 %left, 1
  %extent_at = getelementptr i64, ptr %shape, i32 %axis
  %extent = load i64, ptr %extent_at
  %stride_at = getelementptr i64, ptr %strides, i32 %axis
  %stride = load i64, ptr %stride_at
  %one = icmp sle i64 %extent, 1
  %equal = icmp eq i64 %stride, %expected
  %fits = or i1 %one, %equal
  br i1 %fits, label %next, label %no
next:
  %product = mul i64 %expected, %extent
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}

define i32 @__tvm_ffi_run(ptr %self, ptr %args, i32 %count, ptr %result) {
  %tensors = alloca [$some x %DLTensor], align 8
  %values = alloca [$some x ptr], align 8
  %codes = alloca [$some x i32], align 8
  %right = icmp eq i32 %count, $count
  br i1 %right, label %loop, label %wrong
loop:
  %i = phi i32 [ 0, %0 ], [ %after, %put ]
  %more = icmp slt i32 %i, $count
  br i1 %more, label %look, label %go
look:
  %value = getelementptr [16 x i8], ptr %args, i32 %i
  %is_tensor = icmp slt i32 %i, $tensors
  br i1 %is_tensor, label %take, label %handle
take:
  %copy = getelementptr %DLTensor, ptr %tensors, i32 %i
  %taken = call i1 @tensor(ptr %value, ptr %copy)
  br i1 %taken, label %put, label %wrong
handle:
  %type = load i32, ptr %value
  %place = getelementptr i8, ptr %value, i64 8
  %pointer = load ptr, ptr %place
  %is_pointer = icmp eq i32 %type, 4
  br i1 %is_pointer, label %put, label %wrong
put:
  %what = phi ptr [ %copy, %take ], [ %pointer, %handle ]
  %code = phi i32 [ $tensor_code, %take ], [ $handle_code, %handle ]
  %value_at = getelementptr ptr, ptr %values, i32 %i
  store ptr %what, ptr %value_at
  %code_at = getelementptr i32, ptr %codes, i32 %i
  store i32 %code, ptr %code_at
  %after = add i32 %i, 1
  br label %loop
go:
  %status = call i32 @$entry(ptr %values, ptr %codes, i32 ${count}, ptr null, ptr null, ptr null)
  switch i32 %status, label %broken [ i32 0, label %done
                                      i32 -1, label %wrong ]
done:
  ret i32 0
wrong:
  call void @report(ptr @kind_value, ptr @refused)
  ret i32 -1
broken:
  call void @report(ptr @kind_runtime, ptr @failed)
  ret i32 -1
}
@__tvm_ffi_main = alias i32 (ptr, ptr, i32, ptr), ptr @__tvm_ffi_run
