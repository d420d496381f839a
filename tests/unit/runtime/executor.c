/* B29: set up, set, run and get by name in C, over the descriptor of a model made by hand. */
#include <stdlib.h>
#include <string.h>

#include "aotc_runtime.h"
#include "check.h"

static char world;
static const float weights[1] = {10};

/* y = 2 a + w and a = -b, which is an output with the name of an input. */
static int32_t Run(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  AOTCValue *values = (AOTCValue *)args;
  DLTensor *tensors[4];
  int i;
  (void)codes, (void)value, (void)code;
  for (i = 0; i < 4; ++i) {
    tensors[i] = (DLTensor *)values[i].v_handle;
    CHECK((uintptr_t)tensors[i]->data % AOTC_MEMORY_ALIGNMENT == 0 && tensors[i]->device.device_type == kDLCPU);
  }
  CHECK(n == 6 && (uintptr_t)values[4].v_handle % AOTC_MEMORY_ALIGNMENT == 0);
  memset(values[4].v_handle, 0xff, 100);
  for (i = 0; i < 3; ++i) {
    ((float *)tensors[2]->data)[i] = 2 * ((float *)tensors[0]->data)[i] + ((const float *)values[5].v_handle)[0];
  }
  ((int8_t *)tensors[3]->data)[0] = (int8_t)-((int8_t *)tensors[1]->data)[0];
  return handle == &world ? 0 : 42;
}

static const int64_t three[] = {3};
static const AOTCParameterInfo params[] = {{"a", "a", three, 1, {kDLFloat, 32, 1}},
                                           {"b:0", "b_0", NULL, 0, {kDLInt, 8, 1}},
                                           {"y", "y", three, 1, {kDLFloat, 32, 1}},
                                           {"a", "a_1", NULL, 0, {kDLInt, 8, 1}}};
static const AOTCFunctionInfo info = {"run", params, 2, 2, 100, 0, 0};
static const AOTCMetadata metadata = {AOTC_METADATA_VERSION, &info, "m", 1};

/* Two tensors that fill what they are given, and nothing else of the caller's: y = -x. */
static int32_t Negate(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  const AOTCValue *values = (const AOTCValue *)args;
  const int8_t *x = (const int8_t *)((const DLTensor *)values[0].v_handle)->data;
  int8_t *y = (int8_t *)((const DLTensor *)values[1].v_handle)->data;
  int i;
  (void)codes, (void)value, (void)code, (void)handle;
  CHECK(n == 2);
  for (i = 0; i < AOTC_MEMORY_ALIGNMENT; ++i) y[i] = (int8_t)-x[i];
  return 0;
}
static const int64_t whole_shape[] = {AOTC_MEMORY_ALIGNMENT};
static const AOTCParameterInfo whole_params[] = {{"x", "x", whole_shape, 1, {kDLInt, 8, 1}},
                                                 {"y", "y", whole_shape, 1, {kDLInt, 8, 1}}};
static const AOTCFunctionInfo whole_info = {"run", whole_params, 1, 1, 100, 0, 0};
static const AOTCMetadata whole_metadata = {AOTC_METADATA_VERSION, &whole_info, "w", 1};
static const aotc_model_t whole = {Negate, 1, 1, 0, &whole_metadata, NULL};

static void Whole(void) {
  size_t size = AOTCExecutor_GetMemorySize(&whole), offset;
  int8_t x[AOTC_MEMORY_ALIGNMENT], y[AOTC_MEMORY_ALIGNMENT];
  AOTCExecutor executor;

  memset(x, 3, sizeof x);
  for (offset = 0; offset <= AOTC_MEMORY_ALIGNMENT; ++offset) {
    uint8_t *block = (uint8_t *)malloc(size + offset);
    CHECK(AOTCExecutor_Create(&executor, &whole, block + offset, size, NULL, NULL) == kAOTCErrorNone);
    CHECK(AOTCExecutor_SetInput(&executor, "x", x, sizeof x) == 0 && AOTCExecutor_Run(&executor) == 0);
    CHECK(AOTCExecutor_GetOutput(&executor, "y", y, sizeof y) == 0 && y[0] == -3 && y[AOTC_MEMORY_ALIGNMENT - 1] == -3);
    CHECK(AOTCExecutor_SetInput(&executor, "z", x, 0) == kAOTCErrorInvalidArgument);
    free(block);
  }
}

static const AOTCMetadata older = {AOTC_METADATA_VERSION - 1, &info, "m", 1};
static const aotc_model_t model = {Run, 2, 2, kAOTCCallerWorkspace | kAOTCCallerWeights, &metadata, NULL};
static const aotc_model_t other = {Run, 2, 2, 0, &older, NULL};

int main(void) {
  const float a[3] = {1, 2, 3};
  const int8_t b = 5;
  float y[3];
  int8_t c;
  AOTCExecutor executor;
  size_t size = AOTCExecutor_GetMemorySize(&model), offset;

  CHECK(AOTCExecutor_GetMemorySize(&other) == 0 && AOTCExecutor_GetMemorySize(NULL) == 0);
  CHECK(AOTCExecutor_Create(NULL, &model, y, size, weights, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCExecutor_Create(&executor, NULL, y, size, weights, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCExecutor_Create(&executor, &model, NULL, size, weights, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCExecutor_Create(&executor, &other, y, size, weights, NULL) == kAOTCErrorWrongVersion);
  CHECK(AOTCExecutor_Create(&executor, &model, y, size - 1, weights, NULL) == kAOTCErrorOutOfMemory);
  CHECK(AOTCExecutor_Create(&executor, &model, y, size, NULL, NULL) == kAOTCErrorNoWeights);
  for (offset = 0; offset <= AOTC_MEMORY_ALIGNMENT; ++offset) { /* at any address, and nothing behind it is written */
    uint8_t *block = (uint8_t *)malloc(size + offset);
    memset(block, 0xff, size + offset);
    CHECK(AOTCExecutor_Create(&executor, &model, block + offset, size, weights, &world) == kAOTCErrorNone);
    CHECK(AOTCExecutor_GetOutput(&executor, "y", y, sizeof y) == 0 && y[0] == 0 && y[2] == 0);
    CHECK(AOTCExecutor_SetInput(&executor, "a", a, sizeof a) == 0);
    CHECK(AOTCExecutor_SetInput(&executor, "b:0", &b, 1) == 0);
    CHECK(AOTCExecutor_Run(&executor) == 0);
    CHECK(AOTCExecutor_GetOutput(&executor, "y", y, sizeof y) == 0 && y[0] == 12 && y[1] == 14 && y[2] == 16);
    CHECK(AOTCExecutor_GetOutput(&executor, "a", &c, 1) == 0 && c == -5);
    *(float *)AOTCExecutor_FindInput(&executor, "a")->data = 7;
    CHECK(AOTCExecutor_Run(&executor) == 0 && *(float *)AOTCExecutor_FindOutput(&executor, "y")->data == 24);
    CHECK(AOTCExecutor_FindInput(&executor, "b:0")->ndim == 0 && AOTCExecutor_FindInput(&executor, "a")->shape[0] == 3);
    CHECK(AOTCExecutor_FindInput(&executor, "y") == NULL && AOTCExecutor_FindOutput(&executor, "b:0") == NULL);
    CHECK(AOTCExecutor_FindInput(&executor, "b") == NULL && AOTCExecutor_FindInput(&executor, NULL) == NULL);
    CHECK(AOTCExecutor_SetInput(&executor, "a", a, sizeof a - 1) == kAOTCErrorInvalidArgument);
    CHECK(AOTCExecutor_SetInput(&executor, "a", NULL, sizeof a) == kAOTCErrorInvalidArgument);
    CHECK(AOTCExecutor_SetInput(&executor, "y", a, sizeof a) == kAOTCErrorInvalidArgument);
    CHECK(AOTCExecutor_GetOutput(&executor, "y", y, sizeof y + 1) == kAOTCErrorInvalidArgument);
    CHECK(AOTCExecutor_GetOutput(&executor, "z", y, sizeof y) == kAOTCErrorInvalidArgument);
    executor.resource_handle = NULL;
    CHECK(AOTCExecutor_Run(&executor) == 42);
    free(block);
  }
  Whole();
  return 0;
}
