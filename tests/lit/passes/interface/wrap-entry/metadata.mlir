// RUN: aotc-opt %s -p 'wrap-entry{packed-wrapper=true}' | filecheck %s

// Functions with the same parameters have one table; one that serves calls of several shapes has none.

// CHECK:      aot.global @aotc_m_params_0 : !aot.struct<"AOTCParameterInfo"> = {{\[\[}}"a", "a",
// CHECK-NOT:  aot.global @aotc_m_params_1
// CHECK:      aot.global @aotc_m_infos : !aot.struct<"AOTCFunctionInfo"> = {{\[}}["aotc_m_run_packed", unit, 0 : i32, 0 : i32, 0 : i64, 0 : i64, 0 : i64], ["one", @aotc_m_params_0, 1 : i32, 0 : i32, 0 : i64, 0 : i64, 0 : i64], ["two", @aotc_m_params_0, {{.*}}], ["any", unit, {{.*}}]]
builtin.module attributes {aot.name = "m"} {
  func.func @aotc_m_run() -> i32 attributes {aot.entry, aot.convention = #aot<convention c>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @one(%a: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>, aot.parameters = [{aot.name = "a", aot.dtype = "float32", aot.io = "input", aot.shape = array<i64: 4>}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @two(%a: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>, aot.parameters = [{aot.name = "a", aot.dtype = "float32", aot.io = "input", aot.shape = array<i64: 4>}]} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
  func.func private @any(%a: !aot.ptr<f32>) -> i32 attributes {aot.kernel, aot.convention = #aot<convention unpacked>} {
    %0 = arith.constant 0 : i32
    func.return %0 : i32
  }
}
