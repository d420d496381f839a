/* Packed functions by name: those of a model, and a registry for what is linked or loaded from elsewhere. */

#include "aotc_runtime.h"

static AOTCFunctionEntry g_functions[AOTC_MAX_GLOBAL_FUNCTIONS + 1]; /* ends with a null name */

static int SameName(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static AOTCPackedFunction Find(const AOTCFunctionEntry *functions, const char *name) {
  for (; functions != NULL && functions->name != NULL; ++functions) {
    if (SameName(functions->name, name)) return functions->function;
  }
  return NULL;
}

aotc_error_t AOTCFuncRegisterGlobal(const char *name, AOTCPackedFunction function) {
  size_t i = 0;

  if (name == NULL || function == NULL) return kAOTCErrorInvalidArgument;
  while (g_functions[i].name != NULL && !SameName(g_functions[i].name, name)) ++i;
  if (i == AOTC_MAX_GLOBAL_FUNCTIONS) return kAOTCErrorRegistryFull;
  g_functions[i].name = name;
  g_functions[i].function = function;
  return kAOTCErrorNone;
}

aotc_error_t AOTCFuncGetGlobal(const char *name, AOTCPackedFunction *out) {
  if (name == NULL || out == NULL) return kAOTCErrorInvalidArgument;
  *out = Find(g_functions, name);
  return *out != NULL ? kAOTCErrorNone : kAOTCErrorUnknownFunction;
}

aotc_error_t AOTCModel_GetFunction(const aotc_model_t *model, const char *name, AOTCPackedFunction *out) {
  if (model == NULL || name == NULL || out == NULL) return kAOTCErrorInvalidArgument;
  *out = Find(model->functions, name);
  return *out != NULL ? kAOTCErrorNone : kAOTCErrorUnknownFunction;
}

int32_t AOTCCallPacked(const AOTCFunctionEntry *functions, const char *name, void *args, void *arg_type_ids,
                       int32_t num_args, void *out_ret_value, void *out_ret_tcode, void *resource_handle) {
  AOTCPackedFunction function = Find(functions, name);

  if (function == NULL) function = Find(g_functions, name);
  if (function == NULL) return kAOTCErrorUnknownFunction;
  return function(args, arg_type_ids, num_args, out_ret_value, out_ret_tcode, resource_handle);
}
