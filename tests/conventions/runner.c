/* Runs the model "m" of one input and one output under any convention: program INPUT OUTPUT [WEIGHTS], raw bytes.
 * -DM_C, -DM_MICRO or -DM_PACKED; -DM_WORKSPACE, -DM_WEIGHTS where they are the caller's. */
#include <stdio.h>

#include "m.h"

#define ALIGNED(bytes) __attribute__((aligned(bytes)))

static AOTC_M_INPUT_0_TYPE input[AOTC_M_INPUT_0_LENGTH];
static AOTC_M_OUTPUT_0_TYPE output[AOTC_M_OUTPUT_0_LENGTH];

#ifdef M_WORKSPACE
static ALIGNED(AOTC_M_WORKSPACE_ALIGNMENT) uint8_t workspace[AOTC_M_WORKSPACE_SIZE];
#define WORKSPACE , workspace
#else
#define WORKSPACE
#endif
#ifdef M_WEIGHTS
static ALIGNED(AOTC_M_WORKSPACE_ALIGNMENT) uint8_t weights[AOTC_M_WEIGHTS_SIZE];
#define WEIGHTS , weights
#else
#define WEIGHTS
#endif

#if defined(M_C)
static int32_t Run(void) { return aotc_m_model.run_func(input, output WORKSPACE WEIGHTS); }
#elif defined(M_MICRO)
static int32_t Run(void) {
  void *inputs[] = {input WORKSPACE WEIGHTS};
  void *outputs[] = {output};
  return aotc_m_model.run_func(inputs, outputs, NULL);
}
#else
#include "aotc_runtime.h"
/* Shape and type as the model's own metadata has them (D26). */
static DLTensor Tensor(void *data, int32_t position) {
  const AOTCParameterInfo *info = AOTCMetadata_GetParameter(AOTCModel_GetMetadata(&aotc_m_model), position);
  DLDataType dtype = info->dtype;
  DLDevice device = {kDLCPU, 0};
  return AOTCInitializeDLTensor(data, &dtype, &device, (int64_t *)info->shape, info->ndim);
}
static int32_t Run(void) {
  void *handles[] = {NULL WORKSPACE WEIGHTS, NULL};
  DLTensor in = Tensor(input, 0), out = Tensor(output, 1);
  void *workspace_or_null = NULL, *weights_or_null = NULL;
  int next = 1;
  if (aotc_m_model.caller_memory & kAOTCCallerWorkspace) workspace_or_null = handles[next++];
  if (aotc_m_model.caller_memory & kAOTCCallerWeights) weights_or_null = handles[next];
  return AOTCRuntime_RunOn(&aotc_m_model, &in, 1, &out, 1, workspace_or_null, weights_or_null, NULL);
}
#endif

static int Read(const char *path, void *data, size_t bytes) {
  FILE *file = fopen(path, "rb");
  const int ok = file != NULL && fread(data, 1, bytes, file) == bytes;
  if (file != NULL) fclose(file);
  return ok;
}

int main(int argc, char **argv) {
  FILE *file;
  int32_t status;
  if (argc < 3 || !Read(argv[1], input, sizeof input)) return 2;
#ifdef M_WEIGHTS
  if (argc < 4 || !Read(argv[3], weights, sizeof weights)) return 3;
#endif
  status = Run();
  if (status != 0) return 4;
  file = fopen(argv[2], "wb");
  if (file == NULL || fwrite(output, 1, sizeof output, file) != sizeof output || fclose(file) != 0) return 5;
  return 0;
}
