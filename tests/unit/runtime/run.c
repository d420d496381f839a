/* B2 B3 B6 B7 B18 B19 B20: running a packed model made by hand; E17: its metadata; E27: those of another version. */
#include <string.h>

#include "aotc_runtime.h"
#include "check.h"

static char world;
static void *g_workspace;
static const void *g_weights;

static int32_t Run(void *args, void *arg_type_ids, int32_t num_args, void *out_ret_value, void *out_ret_tcode,
                   void *resource_handle) {
  AOTCValue *values = args;
  int32_t *codes = arg_type_ids;
  DLTensor *x = values[0].v_handle, *y = values[1].v_handle, *z = values[2].v_handle;
  int i;

  CHECK(out_ret_value != NULL && out_ret_tcode != NULL);
  CHECK(codes[0] == kAOTCDLTensorHandle && codes[1] == kAOTCDLTensorHandle && codes[2] == kAOTCDLTensorHandle);
  for (i = 0; i < 4; ++i) {
    ((float *)y->data)[i] = 2 * ((float *)x->data)[i];
    ((float *)z->data)[i] = -((float *)x->data)[i];
  }
  if (num_args > 3) {
    CHECK(codes[3] == kAOTCOpaqueHandle && codes[4] == kAOTCOpaqueHandle);
    g_workspace = values[3].v_handle;
    g_weights = values[4].v_handle;
  }
  return resource_handle == &world ? 42 : 0;
}

static const int64_t shape_x[] = {2, 2};
static const AOTCParameterInfo params[] = {{"x:0", "x_0", shape_x, 2, {kDLFloat, 32, 1}},
                                           {"y", "y", shape_x, 2, {kDLFloat, 32, 1}},
                                           {"z", "z", NULL, 0, {kDLBool, 8, 1}}};
static const AOTCFunctionInfo infos[] = {{"aotc_t_run_packed", params, 1, 2, 4096, 48, 0},
                                         {"aotc_t_add_0", NULL, 0, 0, 0, 32, 16}};
static const AOTCMetadata metadata = {AOTC_METADATA_VERSION, infos, "t", 2};
static const AOTCFunctionEntry functions[] = {{"run", Run}, {NULL, NULL}};
static const aotc_model_t model = {Run, 1, 2, 0, &metadata, functions};
static const aotc_model_t needy = {Run, 1, 2, kAOTCCallerWorkspace | kAOTCCallerWeights, &metadata, functions};
static const aotc_model_t hungry = {Run, 1, 2, kAOTCCallerWorkspace, &metadata, functions};


static int32_t Counted(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  (void)args, (void)codes, (void)value, (void)code, (void)handle;
  return n;
}
/* Of as many tensors as there may be of each kind or of both, and one more; its metadata say nothing. */
enum { kMost = AOTC_RUNTIME_MAX_TENSORS };
static const uint32_t counts[][2] = {{kMost, 0},     {kMost - 1, 1}, {0, kMost},      {1, kMost},
                                     {kMost + 1, 0}, {0, kMost + 1}, {UINT32_MAX, 1}, {1, UINT32_MAX}};
static const AOTCFunctionInfo free_info = {"run", NULL, 0, 0, 0, 0, 0};
static const AOTCMetadata free_metadata = {AOTC_METADATA_VERSION, &free_info, "f", 1};

static const AOTCMetadata later = {AOTC_METADATA_VERSION + 1, infos, "t", 2};
static const aotc_model_t newer = {Run, 1, 2, 0, &later, functions};

static float x[4] = {1, 2, 3, 4}, y[4], z[4];

int main(void) {
  DLDataType f32 = {kDLFloat, 32, 1};
  DLContext cpu = {kDLCPU, 0};
  int64_t shape[2] = {2, 2};
  DLTensor inputs[2], outputs[3];
  AOTCPackedFunction f;
  int64_t workspace[16];
  DLDataType pair = {kDLUInt, 16, 2};
  DLContext third = {2, 3};
  DLTensor made;
  aotc_model_t nothing = {Counted, 0, 0, 0, NULL, NULL};
  int i;

  inputs[0] = AOTCInitializeDLTensor(x, &f32, &cpu, shape, 2);
  outputs[0] = AOTCInitializeDLTensor(y, &f32, &cpu, shape, 2);
  outputs[1] = AOTCInitializeDLTensor(z, &f32, &cpu, shape, 2);
  inputs[1] = inputs[0];
  outputs[2] = outputs[1];

  /* B6: every field is what was given, in memory that had other values */
  memset(&made, 0xff, sizeof made);
  made = AOTCInitializeDLTensor(x, &pair, &third, shape, 1);
  CHECK(made.data == x && made.ndim == 1 && made.shape == shape && made.strides == NULL && made.byte_offset == 0);
  CHECK(made.device.device_type == 2 && made.device.device_id == 3);
  CHECK(made.dtype.code == kDLUInt && made.dtype.bits == 16 && made.dtype.lanes == 2);

  /* one input, two outputs: the seed's loop stored no output here */
  CHECK(AOTCRuntime_Run(&model, inputs, 1, outputs, 2) == kAOTCErrorNone);
  CHECK(y[3] == 8 && z[3] == -4);
  /* B3: too few and too many, of each kind */
  CHECK(AOTCRuntime_Run(&model, inputs, 0, outputs, 2) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, inputs, 1, outputs, 1) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, inputs, 1, outputs, 3) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, inputs, 1, outputs, -2) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, inputs, 2, outputs, 2) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, inputs, -1, outputs, 2) == kAOTCErrorWrongNumberOfTensors);
  CHECK(AOTCRuntime_Run(&model, NULL, 1, outputs, 2) == kAOTCErrorInvalidArgument);
  CHECK(AOTCRuntime_Run(NULL, inputs, 1, outputs, 2) == kAOTCErrorInvalidArgument);
  CHECK(AOTCRuntime_RunOn(&model, inputs, 1, outputs, 2, NULL, NULL, &world) == 42);

  CHECK(AOTCRuntime_RunOn(&needy, inputs, 1, outputs, 2, NULL, x, NULL) == kAOTCErrorOutOfMemory);
  CHECK(AOTCRuntime_RunOn(&needy, inputs, 1, outputs, 2, workspace, NULL, NULL) == kAOTCErrorNoWeights);
  CHECK(AOTCRuntime_RunOn(&needy, inputs, 1, outputs, 2, workspace, x, NULL) == kAOTCErrorNone);
  CHECK(g_workspace == workspace && g_weights == x);
  CHECK(AOTCRuntime_Run(&needy, inputs, 1, outputs, 2) == kAOTCErrorNoWeights);
  (void)hungry;

  CHECK(AOTCRuntime_RunOn(NULL, inputs, 1, outputs, 2, NULL, NULL, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCRuntime_Run(&model, inputs, 1, NULL, 2) == kAOTCErrorInvalidArgument);
  for (i = 0; i < 8; ++i) {
    static DLTensor many[kMost + 1];
    aotc_model_t counted = {Counted, 0, 0, 0, NULL, NULL};
    int expected = counts[i][0] + (uint64_t)counts[i][1] > kMost ? kAOTCErrorTooManyTensors : kMost;
    counted.num_input_tensors = counts[i][0];
    counted.num_output_tensors = counts[i][1];
    CHECK(AOTCRuntime_Run(&counted, many, (int)counts[i][0], many, (int)counts[i][1]) == expected);
    counted.run_func = NULL;
    CHECK(AOTCRuntime_Run(&counted, many, (int)counts[i][0], many, (int)counts[i][1]) == kAOTCErrorInvalidArgument);
  }
  nothing.caller_memory = kAOTCCallerWorkspace; /* of no bytes is given as any other is */
  nothing.metadata = &free_metadata;
  CHECK(AOTCRuntime_Run(&nothing, NULL, 0, NULL, 0) == 1);

  CHECK(AOTCModel_GetMetadata(&model) == &metadata && AOTCModel_GetMetadata(NULL) == NULL);
  CHECK(AOTCMetadata_GetFunction(&metadata, NULL) == &infos[0]);
  CHECK(AOTCMetadata_GetFunction(&metadata, "aotc_t_add_0") == &infos[1]);
  CHECK(AOTCMetadata_GetFunction(&metadata, "aotc_t_add") == NULL);
  CHECK(AOTCMetadata_GetParameter(&metadata, 2) == &params[2] && AOTCMetadata_GetParameter(&metadata, 3) == NULL);
  CHECK(AOTCMetadata_GetParameter(&metadata, -1) == NULL && AOTCMetadata_GetParameter(NULL, 0) == NULL);
  CHECK(AOTCMetadata_GetPosition(&metadata, "y") == 1 && AOTCMetadata_GetPosition(&metadata, "x") == -1);
  CHECK(AOTCMetadata_GetPosition(&metadata, NULL) == -1 && AOTCMetadata_GetPosition(NULL, "y") == -1);
  CHECK(AOTCParameterInfo_GetBytes(&params[0]) == 16 && AOTCParameterInfo_GetBytes(&params[2]) == 1);

  CHECK(AOTCModel_GetMetadata(&newer) == NULL && AOTCMetadata_GetPosition(&later, "y") == -1);
  CHECK(AOTCMetadata_GetFunction(&later, NULL) == NULL && AOTCMetadata_GetParameter(&later, 0) == NULL);
  CHECK(AOTCRuntime_Run(&newer, inputs, 1, outputs, 2) == kAOTCErrorWrongVersion);
  CHECK(AOTCRuntime_RunOn(&newer, inputs, 1, outputs, 2, NULL, NULL, NULL) == kAOTCErrorWrongVersion);

  CHECK(AOTCModel_GetFunction(&model, "run", &f) == kAOTCErrorNone && f == Run);
  CHECK(AOTCModel_GetFunction(&model, "walk", &f) == kAOTCErrorUnknownFunction && f == NULL);
  return 0;
}
