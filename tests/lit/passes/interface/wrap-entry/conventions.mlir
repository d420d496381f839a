// RUN: aotc-opt %s -p 'select-calling-convention,mangle-symbols,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=micro workspace=caller},mangle-symbols,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s --check-prefix MICRO
// RUN: aotc-opt %s -p 'select-calling-convention{interface-api=packed operator-api=packed workspace=caller},mangle-symbols,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s --check-prefix PACKED
// RUN: aotc-opt %s -p 'select-calling-convention,mangle-symbols,buffers-to-pointers,lower-calls,wrap-entry{packed-wrapper=true}' | filecheck %s --check-prefix BOTH

// D3, D4: the entry's conventions; C2 is a wrapper of the entry only. D18: the convention is in the symbol. C3: the rest
// is private. B1, B2, B3: signature, descriptor, counts. D19: the packed wrapper. E10, E11, E12, E14, E16: metadata.

builtin.module attributes {aot.name = "m", aot.plan = {peak_bytes = 64 : i64, lower_bound_bytes = 64 : i64, optimal = true, alignment = 16 : i64, order = [], buffers = []}} {
  func.func @main(%x: memref<2x4xi8> {aot.name = "in:0", aot.dtype = "uint8", aot.io = "input"}, %y: memref<f32> {aot.name = "y", aot.dtype = "float32", aot.io = "output"}) attributes {aot.entry} {
    %ws = aot.workspace : memref<64xi8>
    func.call @sum_0(%x, %y) : (memref<2x4xi8>, memref<f32>) -> ()
    func.return
  }
  func.func private @sum_0(%a: memref<2x4xi8> {aot.dtype = "uint8"}, %b: memref<f32>) attributes {aot.kernel, aot.in_place = [[]]} {
    func.return
  }
}

// CHECK:      func.func @aotc_m_run(
// CHECK:      aot.global @aotc_m_model : !aot.struct<"AOTCTypedModel"> = {{\[}}[@aotc_m_run, 1 : i32, 1 : i32]]
// CHECK-NOT:  packed

// MICRO:      func.func private @aotc_m_run({{.*}}) -> i32 attributes {aot.entry, aot.convention = #aot<convention c>
// MICRO:      func.func @aotc_m_run_micro(%inputs: !aot.ptr<!aot.ptr<i8>> {aot.name = "inputs"}, %outputs: !aot.ptr<!aot.ptr<i8>> {aot.name = "outputs"}, %resource_handle: !aot.ptr<i8> {aot.name = "resource_handle"}) -> i32 attributes {aot.convention = #aot<convention micro>} {
// MICRO-NEXT:   %0 = aot.element %inputs[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
// MICRO-NEXT:   %1 = aot.element %outputs[0] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
// MICRO-NEXT:   %2 = aot.ptr_cast %1 : !aot.ptr<i8> to !aot.ptr<f32>
// MICRO-NEXT:   %3 = aot.element %inputs[1] : !aot.ptr<!aot.ptr<i8>> -> !aot.ptr<i8>
// MICRO-NEXT:   %4 = func.call @aotc_m_run(%0, %2, %3, %resource_handle) : (!aot.ptr<i8>, !aot.ptr<f32>, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
// MICRO-NEXT:   func.return %4 : i32
// MICRO:      aot.global @aotc_m_model_micro : !aot.struct<"AOTCTypedModel"> = {{\[}}[@aotc_m_run_micro, 1 : i32, 1 : i32]]

// PACKED:     func.func private @aotc_m_run(
// PACKED:     func.func private @aotc_m_sum_0(
// PACKED:     func.func @aotc_m_run_packed(%args: !aot.ptr<i8> {{.*}}, %arg_type_ids: {{.*}}, %num_args: i32 {{.*}}, %out_ret_value: {{.*}}, %out_ret_tcode: {{.*}}, %resource_handle: {{.*}}) -> i32 attributes {aot.convention = #aot<convention packed_entry>} {
// PACKED-NEXT:  %0 = arith.constant 3 : i32
// PACKED-NEXT:  %1 = arith.cmpi eq, %num_args, %0 : i32
// PACKED-NEXT:  aot.require %1
// PACKED:       %[[UINT:.*]] = arith.constant 1 : i8
// PACKED:       %[[WS:.*]] = aot.field %{{.*}}[2] "v_handle"
// PACKED:       aot.is_aligned %[[WS]] to 16
// PACKED:       %[[S:.*]] = func.call @aotc_m_run(%{{.*}}, %{{.*}}, %[[WS]], %resource_handle)
// PACKED-NEXT:  func.return %[[S]] : i32
// PACKED:     aot.global @aotc_m_shape_0 : i64 = [2 : i64, 4 : i64] {sym_visibility = "private"}
// PACKED-NEXT: aot.global @aotc_m_params_0 : !aot.struct<"AOTCParameterInfo"> = {{\[}}["in:0", "in_0", @aotc_m_shape_0, 2 : i64, 1 : i8, 8 : i8, 1 : i16], ["y", "y", unit, 0 : i64, 2 : i8, 32 : i8, 1 : i16]] {sym_visibility = "private"}
// PACKED-NEXT: aot.global @aotc_m_params_1 : !aot.struct<"AOTCParameterInfo"> = {{\[}}["a", "a", @aotc_m_shape_0, 2 : i64, 1 : i8, 8 : i8, 1 : i16], ["b", "b", unit, 0 : i64, 2 : i8, 32 : i8, 1 : i16]] {sym_visibility = "private"}
// PACKED-NEXT: aot.global @aotc_m_infos : !aot.struct<"AOTCFunctionInfo"> = {{\[}}["aotc_m_run_packed", @aotc_m_params_0, 1 : i32, 1 : i32, 64 : i64, 12 : i64, 0 : i64], ["aotc_m_sum_0", @aotc_m_params_1, 1 : i32, 1 : i32, 0 : i64, 12 : i64, 0 : i64]] {sym_visibility = "private"}
// PACKED-NEXT: aot.global @aotc_m_metadata : !aot.struct<"AOTCMetadata"> = {{\[}}[1 : i32, @aotc_m_infos, "m", 2 : i32]] {sym_visibility = "private"}
// PACKED-NEXT: func.func private @aotc_m_get_model_metadata(
// PACKED:     aot.global @aotc_m_functions : !aot.struct<"AOTCFunctionEntry"> = {{\[}}["run", @aotc_m_run_packed], ["get_model_metadata", @aotc_m_get_model_metadata], ["aotc_m_sum_0", @aotc_m_sum_0], [unit, unit]] {sym_visibility = "private"}
// PACKED-NEXT: aot.global @aotc_m_model_packed : !aot.struct<"AOTCModel"> = {{\[}}[@aotc_m_run_packed, 1 : i32, 1 : i32, 1 : i32, @aotc_m_metadata, @aotc_m_functions]]

// BOTH:       func.func @aotc_m_run(
// BOTH:       aot.global @aotc_m_model : !aot.struct<"AOTCTypedModel">
// BOTH:       func.func @aotc_m_run_packed(
// BOTH:       aot.global @aotc_m_model_packed : !aot.struct<"AOTCModel">
