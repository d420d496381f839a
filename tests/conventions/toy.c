/* Runs the model "toy" under any convention and prints the bytes of its outputs.
 * -DTOY_C, -DTOY_MICRO or -DTOY_PACKED, for the packed wrapper of a typed model -DTOY_WRAPPED too;
 * -DTOY_WORKSPACE, -DTOY_WEIGHTS where they are the caller's. */
#include <stdio.h>
#include <string.h>

#include "toy.h"

#ifdef TOY_WRAPPED
#define MODEL aotc_toy_model_packed
#else
#define MODEL aotc_toy_model
#endif

#define ALIGNED(bytes) __attribute__((aligned(bytes)))

static float a[AOTC_TOY_INPUT_0_LENGTH];
static uint8_t b[AOTC_TOY_INPUT_1_LENGTH];
static float y0[AOTC_TOY_OUTPUT_0_LENGTH];
static uint8_t y1[AOTC_TOY_OUTPUT_1_LENGTH];
static uint8_t y2[AOTC_TOY_OUTPUT_2_LENGTH];

#ifdef TOY_WORKSPACE
static ALIGNED(AOTC_TOY_WORKSPACE_ALIGNMENT) uint8_t workspace[AOTC_TOY_WORKSPACE_SIZE];
#define WORKSPACE , workspace
#define WORKSPACE_OR_NULL workspace
#else
#define WORKSPACE
#define WORKSPACE_OR_NULL NULL
#endif
#ifdef TOY_WEIGHTS
static ALIGNED(8) uint8_t weights[AOTC_TOY_WEIGHTS_SIZE];
#define WEIGHTS , weights
#define WEIGHTS_OR_NULL weights
#else
#define WEIGHTS
#define WEIGHTS_OR_NULL NULL
#endif

#if defined(TOY_C)
static int32_t Run(void) { return aotc_toy_run(a, b, y0, (void *)y1, y2 WORKSPACE WEIGHTS); }
#elif defined(TOY_MICRO)
static int32_t Run(void) {
  void *inputs[] = {a, b WORKSPACE WEIGHTS};
  void *outputs[] = {y0, y1, y2};
  return MODEL.run_func(inputs, outputs, NULL);
}
#else
#include "aotc_runtime.h"
static int64_t s0[] = AOTC_TOY_INPUT_0_SHAPE, s1[] = AOTC_TOY_INPUT_1_SHAPE, t0[] = AOTC_TOY_OUTPUT_0_SHAPE,
               t1[] = AOTC_TOY_OUTPUT_1_SHAPE, t2[] = AOTC_TOY_OUTPUT_2_SHAPE;
static DLTensor Tensor(void *data, uint8_t code, uint8_t bits, int64_t *shape, int64_t ndim) {
  DLDataType dtype;
  DLDevice device = {kDLCPU, 0};
  dtype.code = code;
  dtype.bits = bits;
  dtype.lanes = 1;
  return AOTCInitializeDLTensor(data, &dtype, &device, shape, ndim);
}
static int32_t Refuses(DLTensor *in, DLTensor *out);
static int32_t Run(void) {
  DLTensor in[2], out[3];
  in[0] = Tensor(a, kDLFloat, 32, s0, 2);
  in[1] = Tensor(b, kDLUInt, 8, s1, 1);
  out[0] = Tensor(y0, kDLFloat, 32, t0, 2);
  out[1] = Tensor(y1, kDLBool, 8, t1, 2);
  out[2] = Tensor(y2, kDLUInt, 8, t2, 1);
  if (Refuses(in, out) != 0) return 100;
#ifndef TOY_WEIGHTS
  if (AOTCRuntime_Run(&MODEL, in, 2, out, 3) != 0) return 101; /* allocates the workspace it is asked for */
#endif
  return AOTCRuntime_RunOn(&MODEL, in, 2, out, 3, WORKSPACE_OR_NULL, WEIGHTS_OR_NULL, NULL); /* B18 */
}
/* D15: each of these calls is wrong in one thing, and is refused. */
static int32_t Call(DLTensor *in, DLTensor *out) {
  return AOTCRuntime_RunOn(&MODEL, in, 2, out, 3, WORKSPACE_OR_NULL, WEIGHTS_OR_NULL, NULL);
}
#define REFUSED(t, change)                       \
  do {                                           \
    DLTensor saved = t;                          \
    change;                                      \
    if (Call(in, out) != kAOTCErrorCheckFailed) return __LINE__; \
    t = saved;                                   \
  } while (0)
static int32_t Refuses(DLTensor *in, DLTensor *out) {
  static int64_t other[2] = {2, 4}, strides[2] = {3, 1};
  AOTCValue values[8], ret;
  int32_t codes[8] = {7, 7, 7, 7, 7, 3, 3, 0}, code;
  int n = 5;
  REFUSED(in[0], in[0].ndim = 1);
  REFUSED(in[0], in[0].shape = other);
  REFUSED(in[0], in[0].shape = NULL);
  REFUSED(in[0], in[0].strides = strides);
  REFUSED(in[0], in[0].byte_offset = 4);
  REFUSED(in[0], in[0].data = NULL);
  REFUSED(in[0], in[0].dtype.code = kDLInt);
  REFUSED(in[0], in[0].dtype.bits = 64);
  REFUSED(in[0], in[0].dtype.lanes = 2);
  REFUSED(in[0], in[0].device.device_type = 2); /* E22 */
  REFUSED(in[0], in[0].device.device_id = 1);
  REFUSED(in[1], in[1].dtype.code = kDLInt);
  REFUSED(out[1], out[1].dtype.code = kDLUInt);
  REFUSED(out[2], out[2].ndim = 0);
  values[0].v_handle = &in[0], values[1].v_handle = &in[1], values[2].v_handle = &out[0];
  values[3].v_handle = &out[1], values[4].v_handle = &out[2];
  values[5].v_handle = values[6].v_handle = a;
#ifdef TOY_WORKSPACE
  ++n;
#endif
#ifdef TOY_WEIGHTS
  ++n;
#endif
  if (MODEL.run_func(values, codes, n + 1, &ret, &code, NULL) != -1) return __LINE__;
  if (MODEL.run_func(values, codes, n - 1, &ret, &code, NULL) != -1) return __LINE__;
  if (MODEL.run_func(NULL, codes, n, &ret, &code, NULL) != -1) return __LINE__;
  if (MODEL.run_func(values, NULL, n, &ret, &code, NULL) != -1) return __LINE__;
  codes[1] = 3;
  if (MODEL.run_func(values, codes, n, &ret, &code, NULL) != -1) return __LINE__;
  codes[1] = 7;
  values[2].v_handle = NULL;
  if (MODEL.run_func(values, codes, n, &ret, &code, NULL) != -1) return __LINE__;
  if (AOTCRuntime_Run(&MODEL, in, 1, out, 3) != kAOTCErrorWrongNumberOfTensors) return __LINE__; /* B3 */
  return 0;
}
#endif

static void Print(const void *data, size_t bytes) {
  const uint8_t *p = data;
  while (bytes-- > 0) printf("%02x", *p++);
  printf("\n");
}

int main(int argc, char **argv) {
  size_t i;
  int32_t status;
#ifdef TOY_WEIGHTS
  FILE *file = fopen(argv[1], "rb");
  if (file == NULL || fread(weights, 1, sizeof weights, file) != sizeof weights) return 101;
  fclose(file);
#endif
  (void)argc, (void)argv;
  for (i = 0; i < AOTC_TOY_INPUT_0_LENGTH; ++i) a[i] = (float)((int)(i * 37 % 11) - 5) / 4;
  for (i = 0; i < AOTC_TOY_INPUT_1_LENGTH; ++i) b[i] = (uint8_t)(i * 77);
  status = Run();
  if (status != 0) {
    fprintf(stderr, "status %d\n", (int)status);
    return 1;
  }
  Print(y0, sizeof y0);
  Print(y1, sizeof y1);
  Print(y2, sizeof y2);
  return 0;
}
