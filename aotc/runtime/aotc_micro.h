/* An optional convenience for models with a `micro` entry; copy it beside the model's own header if you like it. */
#ifndef AOTC_MICRO_H_
#define AOTC_MICRO_H_

#include <stddef.h>
#include <stdint.h>

typedef int32_t (*aotc_micro_function_t)(void **inputs, void **outputs, void *resource_handle);

/* Runs a micro entry; -2 where it is missing (kAOTCErrorInvalidArgument), else what the model returns. */
static inline int32_t AOTCExecute(aotc_micro_function_t run_func, void **inputs, void **outputs,
                                  void *resource_handle) {
  return run_func != NULL ? run_func(inputs, outputs, resource_handle) : -2;
}

#endif /* AOTC_MICRO_H_ */
