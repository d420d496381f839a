// RUN: aotc-opt %s -p 'mangle-symbols' | filecheck %s
// RUN: aotc-opt %s -p 'mangle-symbols{export-operators=true}' | filecheck %s --check-prefix EXPORT

// C1, C2, C3: prefix and model name in every symbol; operators stay private; externals keep their names.

builtin.module attributes {aot.name = "kws"} {
  func.func @main(%x: memref<4xf32>) attributes {aot.entry} {
    func.call @relu_0(%x) : (memref<4xf32>) -> ()
    func.return
  }
  func.func private @relu_0(%x: memref<4xf32>) attributes {aot.kernel} {
    %c0 = arith.constant 0.0 : f32
    %0 = func.call @expf(%c0) : (f32) -> f32
    func.return
  }
  func.func private @expf(f32) -> f32
  func.func private @fir_0(memref<4xf32>) -> () attributes {aot.kernel}
}

// CHECK:      func.func @aotc_kws_run(%x: memref<4xf32>)
// CHECK-NEXT:   func.call @aotc_kws_relu_0(%x)
// CHECK:      func.func private @aotc_kws_relu_0(
// CHECK:        func.call @expf(
// CHECK:      func.func private @expf(f32) -> f32

// EXPORT:     func.func @aotc_kws_relu_0(
// EXPORT:     func.func private @aotc_kws_fir_0(memref<4xf32>) -> ()
