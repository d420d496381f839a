// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked},buffers-to-pointers,lower-calls' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=packed},buffers-to-pointers,lower-calls' | filecheck %s --check-prefix NAMED
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=micro},buffers-to-pointers,lower-calls' | filecheck %s --check-prefix UNPACKED
// RUN: aotc-opt %s -p 'select-calling-convention,buffers-to-pointers,lower-calls' | filecheck %s --check-prefix TYPED
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked operator-arguments=values},buffers-to-pointers,lower-calls' | filecheck %s --check-prefix VALUES
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=cpacked operator-arguments=pointers},buffers-to-pointers,lower-calls' | filecheck %s --check-prefix POINTERS

// D1 (A0), D2 (C0), D13: packed, cpacked, unpacked. D14: packing in one place. D15: the checks. D23: the structures once,
// for the largest call. D25: what each costs can be measured. B19: the handle reaches every operator. B20: statuses propagate.

builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: memref<2x4xf32> {aot.name = "x", aot.dtype = "float32", aot.io = "input"}, %y: memref<8xi1> {aot.name = "y", aot.dtype = "bool", aot.io = "output"}) attributes {aot.entry} {
    func.call @sign_0(%x, %y) : (memref<2x4xf32>, memref<8xi1>) -> ()
    func.call @not_0(%y) : (memref<8xi1>) -> ()
    func.return
  }
  func.func private @sign_0(%a: memref<2x4xf32>, %b: memref<8xi1>) attributes {aot.kernel} {
    %c0 = arith.constant 0 : index
    %z = arith.constant 0.0 : f32
    %0 = memref.load %a[%c0, %c0] : memref<2x4xf32>
    %1 = arith.cmpf olt, %0, %z : f32
    memref.store %1, %b[%c0] : memref<8xi1>
    func.return
  }
  func.func private @not_0(%a: memref<8xi1>) attributes {aot.kernel} {
    func.return
  }
}

// CHECK:      func.func @main({{.*}}, %resource_handle: !aot.ptr<i8> {aot.io = "resource_handle"}) -> i32
// CHECK-NEXT:   %values = aot.alloca 2 : !aot.ptr<!aot.struct<"AOTCValue">>
// CHECK-NEXT:   %type_codes = aot.alloca 2 : !aot.ptr<i32>
// CHECK-NEXT:   %tensors = aot.alloca 2 : !aot.ptr<!aot.struct<"DLTensor">>
// CHECK-NEXT:   %shapes = aot.alloca 3 : !aot.ptr<i64>
// CHECK-NEXT:   %ret_value = aot.alloca 1 : !aot.ptr<!aot.struct<"AOTCValue">>
// CHECK-NEXT:   %ret_tcode = aot.alloca 1 : !aot.ptr<i32>
// CHECK:        aot.set_element %shapes[0], %{{.*}}
// CHECK:        aot.set_element %shapes[1], %{{.*}}
// CHECK:        aot.set_field %tensors[0] "data", %{{.*}}
// CHECK:        aot.set_field %tensors[0] "device.device_type"
// CHECK:        aot.set_field %tensors[0] "ndim"
// CHECK:        aot.set_field %tensors[0] "dtype.code"
// CHECK:        aot.set_field %tensors[0] "shape"
// CHECK:        %[[NULL:.*]] = aot.null : !aot.ptr<i64>
// CHECK-NEXT:   aot.set_field %tensors[0] "strides", %[[NULL]]
// CHECK:        aot.set_field %values[0] "v_handle"
// CHECK:        aot.set_element %type_codes[0]
// CHECK:        aot.set_element %shapes[2], %{{.*}}
// CHECK:        %[[BOOL:.*]] = arith.constant 6 : i8
// CHECK-NEXT:   aot.set_field %tensors[1] "dtype.code", %[[BOOL]]
// CHECK:        %[[COUNT:.*]] = arith.constant 2 : i32
// CHECK:        %[[STATUS:.*]] = func.call @sign_0(%{{.*}}, %{{.*}}, %[[COUNT]], %{{.*}}, %{{.*}}, %resource_handle) :
// CHECK-NEXT:   aot.check %[[STATUS]]
// CHECK-NOT:    aot.alloca
// CHECK:        func.call @not_0(
// CHECK:      func.func private @sign_0(%args: !aot.ptr<i8>, %arg_type_ids: !aot.ptr<i8>, %num_args: i32, %out_ret_value: !aot.ptr<i8>, %out_ret_tcode: !aot.ptr<i8>, %resource_handle: !aot.ptr<i8>) -> i32
// CHECK:        %[[TWO:.*]] = arith.constant 2 : i32
// CHECK-NEXT:   %[[OK:.*]] = arith.cmpi eq, %num_args, %[[TWO]] : i32
// CHECK-NEXT:   aot.require %[[OK]]
// CHECK:        aot.element %{{.*}}[0] : !aot.ptr<i32> -> i32
// CHECK:        aot.require
// CHECK:        aot.field %{{.*}}[0] "v_handle"
// CHECK:        aot.field %{{.*}}[0] "ndim"
// CHECK:        aot.field %{{.*}}[0] "dtype.code"
// CHECK:        aot.field %{{.*}}[0] "device.device_type"
// CHECK:        aot.field %{{.*}}[0] "device.device_id"
// CHECK:        %[[STRIDES:.*]] = aot.field %{{.*}}[0] "strides"
// CHECK-NEXT:   %[[NONE:.*]] = aot.is_null %[[STRIDES]]
// CHECK-NEXT:   aot.require %[[NONE]]
// CHECK:        aot.field %{{.*}}[0] "byte_offset"
// CHECK:        aot.field %{{.*}}[0] "shape"
// CHECK:        %[[DATA:.*]] = aot.field %{{.*}}[0] "data"
// CHECK:        %a = aot.ptr_cast %[[DATA]] : !aot.ptr<i8> to !aot.ptr<f32>
// CHECK:        aot.buffer %a : !aot.ptr<f32> to memref<2x4xf32>

// NAMED:        %[[TABLE:.*]] = aot.symbol @aotc_m_functions : !aot.ptr<!aot.struct<"AOTCFunctionEntry">>
// NAMED-NEXT:   %[[NAME:.*]] = aot.string "sign_0"
// NAMED-NEXT:   func.call @AOTCCallPacked(%[[TABLE]], %[[NAME]], {{.*}}, %resource_handle)
// NAMED:      func.func private @AOTCCallPacked(

// UNPACKED:     func.call @sign_0(%x, %y, %resource_handle) : (!aot.ptr<f32>, !aot.ptr<i1>, !aot.ptr<i8>) -> i32
// UNPACKED:   func.func private @sign_0(%a: !aot.ptr<f32> {{.*}}, %b: !aot.ptr<i1> {{.*}}, %resource_handle: !aot.ptr<i8> {aot.io = "resource_handle"}) -> i32

// TYPED:        func.call @sign_0(%x, %y) : (!aot.ptr<f32>, !aot.ptr<i1>) -> i32
// TYPED-NOT:  resource_handle

// VALUES:       %values = aot.alloca 2 : !aot.ptr<!aot.struct<"AOTCValue">>
// VALUES-NEXT:  %type_codes = aot.alloca 2 : !aot.ptr<i32>
// VALUES-NEXT:  %ret_value = aot.alloca 1 : !aot.ptr<!aot.struct<"AOTCValue">>
// VALUES-NOT:   DLTensor
// VALUES:       aot.set_field %values[0] "v_handle"
// VALUES:     func.func private @sign_0(
// VALUES:       aot.field %{{.*}}[0] "v_handle"
// VALUES:       %a = aot.ptr_cast %{{.*}} : !aot.ptr<i8> to !aot.ptr<f32>

// POINTERS:     %values = aot.alloca 2 : !aot.ptr<!aot.ptr<i8>>
// POINTERS:     aot.set_element %values[0]
// POINTERS-NOT: v_handle
// POINTERS:   func.func private @sign_0(
// POINTERS:     aot.element %{{.*}}[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
