/* Helpers to make tensors and to run a packed model. */

#include "aotc_runtime.h"

DLTensor AOTCInitializeDLTensor(void *data, DLDataType *dtype, DLContext *ctx, int64_t *shape, int64_t num_dim) {
  DLTensor tensor;
  tensor.data = data;
  tensor.device = *ctx;
  tensor.ndim = (int32_t)num_dim;
  tensor.dtype = *dtype;
  tensor.shape = shape;
  tensor.strides = NULL;
  tensor.byte_offset = 0;
  return tensor;
}

static int IsOurs(const aotc_model_t *model) {
  return model->metadata == NULL || model->metadata->version == AOTC_METADATA_VERSION;
}

aotc_error_t AOTCRuntime_RunOn(const aotc_model_t *model, DLTensor *inputs, int num_inputs, DLTensor *outputs,
                               int num_outputs, void *workspace, const void *weights, void *resource_handle) {
  AOTCValue values[AOTC_RUNTIME_MAX_TENSORS + 2];
  int32_t type_codes[AOTC_RUNTIME_MAX_TENSORS + 2];
  AOTCValue ret_value;
  int32_t ret_type_code = kAOTCInt;
  int32_t count = 0;
  int i;

  if (model == NULL || model->run_func == NULL) return kAOTCErrorInvalidArgument;
  if (!IsOurs(model)) return kAOTCErrorWrongVersion;
  if ((uint32_t)num_inputs != model->num_input_tensors) return kAOTCErrorWrongNumberOfTensors;
  if ((uint32_t)num_outputs != model->num_output_tensors) return kAOTCErrorWrongNumberOfTensors;
  if (model->num_input_tensors > AOTC_RUNTIME_MAX_TENSORS ||
      model->num_output_tensors > AOTC_RUNTIME_MAX_TENSORS - model->num_input_tensors) {
    return kAOTCErrorTooManyTensors;
  }
  if ((num_inputs > 0 && inputs == NULL) || (num_outputs > 0 && outputs == NULL)) return kAOTCErrorInvalidArgument;

  for (i = 0; i < num_inputs; ++i) {
    values[count].v_handle = &inputs[i];
    type_codes[count++] = kAOTCDLTensorHandle;
  }
  for (i = 0; i < num_outputs; ++i) {
    values[count].v_handle = &outputs[i];
    type_codes[count++] = kAOTCDLTensorHandle;
  }
  if (model->caller_memory & kAOTCCallerWorkspace) {
    if (workspace == NULL) return kAOTCErrorOutOfMemory;
    values[count].v_handle = workspace;
    type_codes[count++] = kAOTCOpaqueHandle;
  }
  if (model->caller_memory & kAOTCCallerWeights) {
    union {
      const void *from;
      void *to;
    } weights_handle; /* the convention has no const handles */
    if (weights == NULL) return kAOTCErrorNoWeights;
    weights_handle.from = weights;
    values[count].v_handle = weights_handle.to;
    type_codes[count++] = kAOTCOpaqueHandle;
  }
  ret_value.v_int64 = 0;
  return model->run_func(values, type_codes, count, &ret_value, &ret_type_code, resource_handle);
}

aotc_error_t AOTCRuntime_Run(const aotc_model_t *model, DLTensor *inputs, int num_inputs, DLTensor *outputs,
                             int num_outputs) {
  void *workspace = NULL;
  aotc_error_t status;

  if (model == NULL) return kAOTCErrorInvalidArgument;
  if (!IsOurs(model)) return kAOTCErrorWrongVersion;
  if (model->caller_memory & kAOTCCallerWorkspace) {
    int64_t size = model->metadata->functions[0].workspace_size_bytes;
    workspace = AOTCBackendAllocWorkspace(kDLCPU, 0, size > 0 ? (uint64_t)size : 1, kDLUInt, 8);
    if (workspace == NULL) return kAOTCErrorOutOfMemory;
  }
  status = AOTCRuntime_RunOn(model, inputs, num_inputs, outputs, num_outputs, workspace, NULL, NULL);
  if (workspace != NULL) {
    int freed = AOTCBackendFreeWorkspace(kDLCPU, 0, workspace);
    if (status == kAOTCErrorNone) status = freed;
  }
  return status;
}
