// RUN: aotc-opt %s -t c | filecheck %s

// An entry: views of the arena, calls that are skipped behind one that fails, the descriptor, weights that are not in the store.
builtin.module attributes {aot.name = "kws"} {
  func.func @aotc_kws_run(%x: !aot.ptr<i8> {aot.name = "input/0", aot.dtype = "uint8", aot.readonly}, %y: !aot.ptr<f32> {aot.name = "out", aot.dtype = "float32", aot.noalias}) -> i32 attributes {aot.entry} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %w = aot.weight "conv.w" : memref<16xf32>
    %wd = aot.data %w : memref<16xf32> to !aot.ptr<f32>
    %ws = aot.workspace : memref<128xi8>
    %a = memref.view %ws[%c0][] : memref<128xi8> to memref<16xf32>
    %ad = aot.data %a : memref<16xf32> to !aot.ptr<f32>
    %b = memref.view %ws[%c64][] : memref<128xi8> to memref<4x4xf32>
    %bd = aot.data %b : memref<4x4xf32> to !aot.ptr<f32>
    %s0 = func.call @first(%x, %ad) : (!aot.ptr<i8>, !aot.ptr<f32>) -> i32
    aot.check %s0
    %s1 = func.call @second(%ad, %wd, %bd) : (!aot.ptr<f32>, !aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s1
    %s2 = func.call @second(%bd, %wd, %y) : (!aot.ptr<f32>, !aot.ptr<f32>, !aot.ptr<f32>) -> i32
    aot.check %s2
    %ok = arith.constant 0 : i32
    func.return %ok : i32
  }
  func.func private @stores(%x: !aot.ptr<i8> {aot.name = "x", aot.dtype = "uint8"}, %y: !aot.ptr<f32> {aot.name = "y", aot.dtype = "float32"}) -> i32 {
    %ok = arith.constant 0 : i32
    %c0 = arith.constant 0 : index
    %one = arith.constant 1.0 : f32
    %s0 = func.call @first(%x, %y) : (!aot.ptr<i8>, !aot.ptr<f32>) -> i32
    aot.check %s0
    %yb = aot.buffer %y : !aot.ptr<f32> to memref<4xf32>
    memref.store %one, %yb[%c0] : memref<4xf32>
    func.return %ok : i32
  }
  func.func private @first(!aot.ptr<i8>, !aot.ptr<f32>) -> i32
  func.func private @second(!aot.ptr<f32> , !aot.ptr<f32>, !aot.ptr<f32>) -> i32
  aot.global @aotc_kws_model : !aot.struct<"AOTCTypedModel"> = [[@aotc_kws_run, 1 : i32, 1 : i32]]
}

// CHECK:      int32_t aotc_kws_run(const uint8_t *input_0, float *out);
// CHECK-NEXT: extern int32_t first(void *arg, float *arg_1);
// CHECK-NEXT: extern int32_t second(float *arg, float *arg_1, float *arg_2);
// CHECK-NEXT: typedef struct {
// CHECK-NEXT:   int32_t (*run_func)(const uint8_t *input_0, float *out);
// CHECK-NEXT:   uint32_t num_input_tensors;
// CHECK-NEXT:   uint32_t num_output_tensors;
// CHECK-NEXT: } aotc_kws_model_t;
// CHECK-NEXT: extern const aotc_kws_model_t aotc_kws_model;
// CHECK:      extern const float aotc_kws_conv_w[16];
// CHECK:      static AOTC_WORKSPACE AOTC_ALIGNED(16) uint8_t aotc_kws_workspace[128];
// CHECK:      int32_t aotc_kws_run(const uint8_t *input_0, float *restrict out)
// CHECK-NEXT: {
// CHECK-NEXT:     float *ad = (float *)(void *)aotc_kws_workspace;
// CHECK-NEXT:     float *bd = (float *)(void *)&aotc_kws_workspace[64];
// CHECK-NEXT:     int32_t status = first((void *)(uintptr_t)input_0, ad);
// CHECK-NEXT:     if (status == 0) {
// CHECK-NEXT:         status = second(ad, (float *)(uintptr_t)aotc_kws_conv_w, bd);
// CHECK-NEXT:     }
// CHECK-NEXT:     if (status == 0) {
// CHECK-NEXT:         status = second(bd, (float *)(uintptr_t)aotc_kws_conv_w, out);
// CHECK-NEXT:     }
// CHECK-NEXT:     return status;
// CHECK-NEXT: }

// What must not run behind a call that fails: the function returns at once.
// CHECK-LABEL: static int32_t stores(
// CHECK:           status = first(x, y);
// CHECK-NEXT:      if (status != 0) {
// CHECK-NEXT:          return status;
// CHECK-NEXT:      }
// CHECK-NEXT:      y[0] = 1.0f;
// CHECK-NEXT:      return 0;
// CHECK:      const aotc_kws_model_t aotc_kws_model = {aotc_kws_run, 1, 1};
