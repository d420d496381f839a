/* The packed calling convention: the only header that generated code of `--interface-api packed` includes.
 *
 * A packed function takes an array of values, the array of their type codes, and their number. Tensors travel as
 * pointers to DLTensor. It returns 0, or another status when it did not do its work. See docs/abi.md.
 */
#ifndef AOTC_PACKED_H_
#define AOTC_PACKED_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- tensors: the structures of DLPack, taken from its own header where the application uses that --- */

#if defined(AOTC_USE_DLPACK) && !defined(DLPACK_DLPACK_H_)
#include <dlpack/dlpack.h>
#endif

#ifndef DLPACK_DLPACK_H_

enum { kDLCPU = 1 };                                                          /* DLDevice.device_type */
enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 }; /* DLDataType.code */

typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* NULL: contiguous, row-major */
  uint64_t byte_offset;
} DLTensor;

#endif /* DLPACK_DLPACK_H_ */

/* --- packed functions --- */

typedef union {
  int64_t v_int64;
  double v_float64;
  void *v_handle;
  const char *v_str;
} AOTCValue;

/* What an AOTCValue holds. */
enum {
  kAOTCInt = 0,
  kAOTCOpaqueHandle = 3, /* v_handle: a workspace, weights, metadata */
  kAOTCDLTensorHandle = 7 /* v_handle: a DLTensor */
};

typedef int32_t (*AOTCPackedFunction)(void *args, void *arg_type_ids, int32_t num_args, void *out_ret_value,
                                      void *out_ret_tcode, void *resource_handle);

/* A row of a table of functions; the table ends with a null name. */
typedef struct {
  const char *name;
  AOTCPackedFunction function;
} AOTCFunctionEntry;

/* Calls `name` from `functions` or, where it is not there, from the registry (aotc_registry.c). */
int32_t AOTCCallPacked(const AOTCFunctionEntry *functions, const char *name, void *args, void *arg_type_ids,
                       int32_t num_args, void *out_ret_value, void *out_ret_tcode, void *resource_handle);

/* --- metadata --- */

typedef struct {
  const char *relay_name_hint; /* the tensor's name in the ONNX model; of an operator's parameter as below */
  const char *tir_name_hint;   /* the same as a C identifier */
  const int64_t *shape;        /* NULL when ndim is 0 */
  int64_t ndim;
  DLDataType dtype;
} AOTCParameterInfo;

typedef struct {
  const char *function_name;
  const AOTCParameterInfo *params; /* inputs, then outputs; of an operator its scratch memory is the last of these */
  int32_t num_inputs;
  int32_t num_outputs;
  int64_t workspace_size_bytes;
  int64_t io_size_bytes;
  int64_t constant_size_bytes;
} AOTCFunctionInfo;

typedef struct {
  int32_t version;
  const AOTCFunctionInfo *functions; /* the entry, then the operators */
  const char *module_name;
  int32_t num_functions;
} AOTCMetadata;

#define AOTC_METADATA_VERSION 1

/* --- a model --- */

/* Bits of aotc_model_t.caller_memory: handles that the entry takes behind its tensors, in this order. */
enum { kAOTCCallerWorkspace = 1, kAOTCCallerWeights = 2 };

typedef struct {
  AOTCPackedFunction run_func;
  uint32_t num_input_tensors;
  uint32_t num_output_tensors;
  uint32_t caller_memory;
  const AOTCMetadata *metadata;
  const AOTCFunctionEntry *functions; /* "run", "get_model_metadata", packed operators */
} aotc_model_t;

#ifdef __cplusplus
}
#endif

#endif /* AOTC_PACKED_H_ */
