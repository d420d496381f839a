/* What a model says about itself. */

#include "aotc_runtime.h"

static int SameName(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static int IsOurs(const AOTCMetadata *metadata) {
  return metadata != NULL && metadata->version == AOTC_METADATA_VERSION;
}

const AOTCMetadata *AOTCModel_GetMetadata(const aotc_model_t *model) {
  return model != NULL && IsOurs(model->metadata) ? model->metadata : NULL;
}

const AOTCFunctionInfo *AOTCMetadata_GetFunction(const AOTCMetadata *metadata, const char *name) {
  int32_t i;

  if (!IsOurs(metadata)) return NULL;
  for (i = 0; i < metadata->num_functions; ++i) {
    if (name == NULL || SameName(metadata->functions[i].function_name, name)) return &metadata->functions[i];
  }
  return NULL;
}

const AOTCParameterInfo *AOTCMetadata_GetParameter(const AOTCMetadata *metadata, int32_t position) {
  const AOTCFunctionInfo *entry = AOTCMetadata_GetFunction(metadata, NULL);

  if (entry == NULL || position < 0 || position >= entry->num_inputs + entry->num_outputs) return NULL;
  return &entry->params[position];
}

int32_t AOTCMetadata_GetPosition(const AOTCMetadata *metadata, const char *name) {
  int32_t position = 0;
  const AOTCParameterInfo *parameter;

  for (; name != NULL && (parameter = AOTCMetadata_GetParameter(metadata, position)) != NULL; ++position) {
    if (SameName(parameter->relay_name_hint, name)) return position;
  }
  return -1;
}

int64_t AOTCParameterInfo_GetBytes(const AOTCParameterInfo *parameter) {
  int64_t bytes, i;

  if (parameter == NULL) return 0;
  bytes = (parameter->dtype.bits * parameter->dtype.lanes + 7) / 8;
  for (i = 0; i < parameter->ndim; ++i) bytes *= parameter->shape[i];
  return bytes;
}
