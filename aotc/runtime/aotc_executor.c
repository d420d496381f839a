/* A packed model with buffers of its own, by the names that its metadata have. */

#include "aotc_runtime.h"

static size_t RoundUp(size_t size) {
  return (size + AOTC_MEMORY_ALIGNMENT - 1) / AOTC_MEMORY_ALIGNMENT * AOTC_MEMORY_ALIGNMENT;
}

static int SameName(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static void Copy(uint8_t *to, const uint8_t *from, size_t size) {
  while (size-- > 0) *to++ = *from++;
}

static size_t Bytes(const AOTCMetadata *metadata, int32_t position) {
  return (size_t)AOTCParameterInfo_GetBytes(AOTCMetadata_GetParameter(metadata, position));
}

static size_t WorkspaceBytes(const aotc_model_t *model) {
  if (!(model->caller_memory & kAOTCCallerWorkspace)) return 0;
  return RoundUp((size_t)model->metadata->functions[0].workspace_size_bytes);
}

static int32_t NumTensors(const aotc_model_t *model) {
  return (int32_t)(model->num_input_tensors + model->num_output_tensors);
}

size_t AOTCExecutor_GetMemorySize(const aotc_model_t *model) {
  const AOTCMetadata *metadata = AOTCModel_GetMetadata(model);
  size_t size;
  int32_t i;

  if (metadata == NULL) return 0;
  size = AOTC_MEMORY_ALIGNMENT - 1 + RoundUp((size_t)NumTensors(model) * sizeof(DLTensor)) + WorkspaceBytes(model);
  for (i = 0; i < NumTensors(model); ++i) size += RoundUp(Bytes(metadata, i));
  return size;
}

aotc_error_t AOTCExecutor_Create(AOTCExecutor *executor, const aotc_model_t *model, void *memory, size_t num_bytes,
                                 const void *weights, void *resource_handle) {
  const AOTCMetadata *metadata = AOTCModel_GetMetadata(model);
  uint8_t *free_memory = (uint8_t *)memory;
  size_t needed = AOTCExecutor_GetMemorySize(model);
  DLContext cpu = {kDLCPU, 0};
  int32_t i;

  if (executor == NULL || model == NULL || memory == NULL) return kAOTCErrorInvalidArgument;
  if (metadata == NULL) return kAOTCErrorWrongVersion;
  if (num_bytes < needed) return kAOTCErrorOutOfMemory;
  if ((model->caller_memory & kAOTCCallerWeights) && weights == NULL) return kAOTCErrorNoWeights;
  free_memory += (AOTC_MEMORY_ALIGNMENT - (size_t)((uintptr_t)memory % AOTC_MEMORY_ALIGNMENT)) % AOTC_MEMORY_ALIGNMENT;
  executor->model = model;
  executor->tensors = (DLTensor *)(void *)free_memory;
  executor->weights = weights;
  executor->resource_handle = resource_handle;
  free_memory += RoundUp((size_t)NumTensors(model) * sizeof(DLTensor));
  for (i = 0; i < NumTensors(model); ++i) {
    const AOTCParameterInfo *info = AOTCMetadata_GetParameter(metadata, i);
    DLDataType dtype = info->dtype;
    union {
      const int64_t *from;
      int64_t *to;
    } shape; /* DLPack has no const shapes */
    size_t size = Bytes(metadata, i), at;
    shape.from = info->shape;
    executor->tensors[i] = AOTCInitializeDLTensor(free_memory, &dtype, &cpu, shape.to, info->ndim);
    for (at = 0; at < size; ++at) free_memory[at] = 0;
    free_memory += RoundUp(size);
  }
  executor->workspace = free_memory;
  return kAOTCErrorNone;
}

/* The tensor of a name among `count` ones from `first` on: an output may have the name of an input. */
static DLTensor *Find(const AOTCExecutor *executor, const char *name, uint32_t first, uint32_t count) {
  uint32_t i;

  for (i = first; name != NULL && i < first + count; ++i) {
    const AOTCParameterInfo *info = AOTCMetadata_GetParameter(executor->model->metadata, (int32_t)i);
    if (SameName(info->relay_name_hint, name)) return &executor->tensors[i];
  }
  return NULL;
}

DLTensor *AOTCExecutor_FindInput(const AOTCExecutor *executor, const char *name) {
  return Find(executor, name, 0, executor->model->num_input_tensors);
}

DLTensor *AOTCExecutor_FindOutput(const AOTCExecutor *executor, const char *name) {
  return Find(executor, name, executor->model->num_input_tensors, executor->model->num_output_tensors);
}

/* Whether `num_bytes` are those of one of the executor's tensors. */
static int IsWhole(const AOTCExecutor *executor, const DLTensor *tensor, const void *data, size_t num_bytes) {
  if (tensor == NULL || data == NULL) return 0;
  return num_bytes == Bytes(executor->model->metadata, (int32_t)(tensor - executor->tensors));
}

aotc_error_t AOTCExecutor_SetInput(AOTCExecutor *executor, const char *name, const void *data, size_t num_bytes) {
  const DLTensor *tensor = AOTCExecutor_FindInput(executor, name);

  if (!IsWhole(executor, tensor, data, num_bytes)) return kAOTCErrorInvalidArgument;
  Copy((uint8_t *)tensor->data, (const uint8_t *)data, num_bytes);
  return kAOTCErrorNone;
}

aotc_error_t AOTCExecutor_Run(AOTCExecutor *executor) {
  const aotc_model_t *model = executor->model;

  return AOTCRuntime_RunOn(model, executor->tensors, (int)model->num_input_tensors,
                           executor->tensors + model->num_input_tensors, (int)model->num_output_tensors,
                           executor->workspace, executor->weights, executor->resource_handle);
}

aotc_error_t AOTCExecutor_GetOutput(const AOTCExecutor *executor, const char *name, void *data, size_t num_bytes) {
  const DLTensor *tensor = AOTCExecutor_FindOutput(executor, name);

  if (!IsWhole(executor, tensor, data, num_bytes)) return kAOTCErrorInvalidArgument;
  Copy((uint8_t *)data, (const uint8_t *)tensor->data, num_bytes);
  return kAOTCErrorNone;
}
