// RUN: aotc-opt %s | aotc-opt | filecheck %s
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory,convert-graph-to-loops' | filecheck %s --check-prefix LOWER
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory,convert-graph-to-loops,select-calling-convention{interface-api=packed operator-api=packed},mangle-symbols,place-weights,buffers-to-pointers,lower-calls,wrap-entry' | filecheck %s --check-prefix PACKED
// RUN: aotc-opt %s -p 'outline-kernels,bufferize,plan-memory,convert-graph-to-loops,select-calling-convention{interface-api=packed operator-api=packed},mangle-symbols,place-weights,buffers-to-pointers,lower-calls,wrap-entry' -t c | filecheck %s --check-prefix C
// RUN: not aotc-opt %s -p 'outline-kernels,bufferize,plan-memory,convert-graph-to-loops,select-calling-convention' 2>&1 | filecheck %s --check-prefix REFUSED

// CHECK: [[A:%.*]], [[S:%.*]] = graph.external %x {codegen = "dsp", kernel = "fir", settings = {taps = array<i64: 1, 2>}} : (tensor<8xui8>) -> (tensor<8xf32>, tensor<32xi8>)
// CHECK-NEXT: {{%.*}} = graph.external [[A]] {codegen = "py", kernel = "f", settings = {}, by_name} : (tensor<8xf32>) -> tensor<8xf32>

// A kernel is declared once for all calls that are alike, with its results and its scratch as destinations.
// LOWER: func.func private @dsp_fir_0(memref<8xi8>, memref<8xf32>, memref<32xi8>) -> () attributes {aot.kernel, aot.in_place = {{\[\[}}], []], aot.external = {codegen = "dsp", kernel = "fir", settings = {taps = array<i64: 1, 2>}, scratch_bytes = 32 : i64}, aot.arguments = [{aot.dtype = "uint8"}, {aot.dtype = "float32"}, {aot.dtype = "int8", aot.scratch}]}
// LOWER-NOT: @dsp_fir_1
// LOWER: func.func private @py_f_0(memref<8xf32>, memref<8xf32>) -> () attributes {aot.kernel, aot.in_place = {{\[\[}}]], aot.external = {codegen = "py", kernel = "f", settings = {}, by_name}
// LOWER: func.func @main
// LOWER: func.call @dsp_fir_0(%x, [[A:%.*]], {{%.*}}) : (memref<8xi8>, memref<8xf32>, memref<32xi8>) -> ()
// LOWER: func.call @py_f_0([[A]], {{%.*}})
// LOWER: func.call @dsp_fir_0

// What is linked is typed whatever the other operators are, and what is not is called by its name. Neither is in the
// table of the model's own functions.
// PACKED: func.func private @aotc_m_dsp_fir_0(!aot.ptr<i8>, !aot.ptr<f32>, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
// PACKED-SAME: aot.arguments = [{aot.dtype = "uint8", aot.readonly, aot.noalias, {{.*}}aot.shape = array<i64: 8>}, {aot.dtype = "float32", aot.noalias, {{.*}}}, {aot.dtype = "int8", aot.scratch, aot.noalias, {{.*}}}, {aot.io = "resource_handle"}]
// PACKED-SAME: aot.convention = #aot<convention unpacked>, aot.workspace_bytes = 32 : i64, aot.io_bytes = 40 : i64
// PACKED-SAME: aot.parameters = [{aot.name = "x0", aot.dtype = "uint8", aot.io = "input", aot.shape = array<i64: 8>}, {aot.name = "out", {{.*}}aot.io = "output", {{.*}}}, {aot.name = "scratch", aot.dtype = "int8", aot.io = "output", aot.shape = array<i64: 32>}]
// PACKED: func.func private @aotc_m_py_f_0(!aot.ptr<f32>
// PACKED-SAME: aot.convention = #aot<convention packed>
// PACKED: [[S:%.*]] = func.call @aotc_m_dsp_fir_0({{.*}}) : (!aot.ptr<i8>, !aot.ptr<f32>, !aot.ptr<i8>, !aot.ptr<i8>) -> i32
// PACKED-NEXT: aot.check [[S]]
// PACKED: aot.string "aotc_m_py_f_0"
// PACKED: func.call @AOTCCallPacked
// PACKED: aot.global @aotc_m_functions : !aot.struct<"AOTCFunctionEntry"> = {{\[\[}}"run", @aotc_m_run_packed], ["get_model_metadata", @aotc_m_get_model_metadata], [unit, unit]]

// C: extern int32_t aotc_m_dsp_fir_0(const uint8_t *{{.*}}, float *{{.*}}, int8_t *{{.*}}, void *
// C-NOT: extern int32_t aotc_m_py_f_0

// REFUSED: a module that cannot be linked with --operator-api unpacked; {{.*}}use --interface-api packed --operator-api packed
builtin.module attributes {aot.name = "m"} {
  func.func @main(%x: tensor<8xui8> {aot.name = "x", aot.dtype = "uint8"}, %z: tensor<8xui8> {aot.name = "z", aot.dtype = "uint8"}) -> (tensor<8xf32> {aot.name = "y", aot.dtype = "float32"}, tensor<8xf32> {aot.name = "w", aot.dtype = "float32"}) attributes {aot.entry} {
    %0, %s = graph.external %x {codegen = "dsp", kernel = "fir", settings = {taps = array<i64: 1, 2>}} : (tensor<8xui8>) -> (tensor<8xf32>, tensor<32xi8>)
    %1 = graph.external %0 {codegen = "py", kernel = "f", settings = {}, by_name} : (tensor<8xf32>) -> tensor<8xf32>
    %2, %t = graph.external %z {codegen = "dsp", kernel = "fir", settings = {taps = array<i64: 1, 2>}} : (tensor<8xui8>) -> (tensor<8xf32>, tensor<32xi8>)
    func.return %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
}
