/* The C runtime: a shim around packed models. Nothing here is needed by a model with a typed entry.
 *
 * Files: aotc_runtime.c runs models, aotc_memory.c allocates workspaces, aotc_registry.c finds packed operators by
 * name, aotc_metadata.c reads metadata. Each needs only the ones before it. C99, no libc, no heap, not thread-safe.
 */
#ifndef AOTC_RUNTIME_H_
#define AOTC_RUNTIME_H_

#include "aotc_packed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What every function returns: one of these, or the status of the operator that failed. */
typedef int32_t aotc_error_t;

enum {
  kAOTCErrorNone = 0,
  kAOTCErrorCheckFailed = -1,          /* generated code: an argument is not what the model was compiled for */
  kAOTCErrorInvalidArgument = -2,      /* a null pointer or a size that makes no sense */
  kAOTCErrorWrongNumberOfTensors = -3, /* not what the descriptor says */
  kAOTCErrorTooManyTensors = -4,       /* more than AOTC_RUNTIME_MAX_TENSORS */
  kAOTCErrorNoWeights = -5,            /* the model takes its weights from the caller */
  kAOTCErrorOutOfMemory = -6,
  kAOTCErrorNotAllocated = -7,  /* freed something that is not allocated */
  kAOTCErrorFreeOutOfOrder = -8, /* freed something that is not the latest allocation */
  kAOTCErrorUnknownFunction = -9,
  kAOTCErrorRegistryFull = -10,
  kAOTCErrorWrongDevice = -11, /* only main memory, device 0 */
  kAOTCErrorWrongVersion = -12 /* the model's structures are of another AOTC_METADATA_VERSION */
};

/* --- running a model (aotc_runtime.c) --- */

/* The most tensors and handles one call can have; they are packed on the stack. */
#ifndef AOTC_RUNTIME_MAX_TENSORS
#define AOTC_RUNTIME_MAX_TENSORS 16
#endif

typedef DLDevice DLContext;

/* A contiguous row-major tensor on `data`; `shape` has `num_dim` extents and must live as long as the tensor. */
DLTensor AOTCInitializeDLTensor(void *data, DLDataType *dtype, DLContext *ctx, int64_t *shape, int64_t num_dim);

/* Runs the model once. A workspace that the model wants of its caller is allocated and freed by this call. */
aotc_error_t AOTCRuntime_Run(const aotc_model_t *model, DLTensor *inputs, int num_inputs, DLTensor *outputs,
                             int num_outputs);

/* The same on memory that the caller has set up: each pointer counts only where the model asks for it. */
aotc_error_t AOTCRuntime_RunOn(const aotc_model_t *model, DLTensor *inputs, int num_inputs, DLTensor *outputs,
                               int num_outputs, void *workspace, const void *weights, void *resource_handle);

/* --- memory (aotc_memory.c) --- */

/* The static memory behind the default hooks: 2^AOTC_MEMORY_PAGE_SIZE_LOG2 bytes a page. 0 pages: no memory at all. */
#ifndef AOTC_MEMORY_NUM_PAGES
#define AOTC_MEMORY_NUM_PAGES (1 << 10)
#endif
#ifndef AOTC_MEMORY_PAGE_SIZE_LOG2
#define AOTC_MEMORY_PAGE_SIZE_LOG2 12
#endif

/* Every allocation is aligned to this many bytes, a power of two. */
#define AOTC_MEMORY_ALIGNMENT 64

typedef struct AOTCMemoryManager AOTCMemoryManager;

struct AOTCMemoryManager {
  aotc_error_t (*Allocate)(AOTCMemoryManager *manager, size_t num_bytes, DLDevice device, void **out_ptr);
  aotc_error_t (*Free)(AOTCMemoryManager *manager, void *ptr, DLDevice device);
};

/* A manager of `memory` that hands out whole pages, first fit, freed in any order. Its tables are in `memory` too. */
aotc_error_t AOTCMemoryManagerCreate(AOTCMemoryManager **manager, uint8_t *memory, size_t num_bytes,
                                     size_t page_size_log2);

/* A manager of `memory` that hands out bytes like a stack; a free that is not of the latest allocation is refused. */
aotc_error_t AOTCStackMemoryManagerCreate(AOTCMemoryManager **manager, uint8_t *memory, size_t num_bytes);

/* The hooks. To replace them compile aotc_memory.c with AOTC_CUSTOM_PLATFORM_MEMORY and define both; with
 * AOTC_MEMORY_LIFO the default ones use the stack instead of the pages. */
aotc_error_t AOTCPlatformMemoryAllocate(size_t num_bytes, DLDevice device, void **out_ptr);
aotc_error_t AOTCPlatformMemoryFree(void *ptr, DLDevice device);

/* A workspace from the hooks; NULL when there is none. The hints say what it is for. */
void *AOTCBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                                int dtype_bits_hint);
int AOTCBackendFreeWorkspace(int device_type, int device_id, void *ptr);

/* --- functions by name (aotc_registry.c) --- */

#ifndef AOTC_MAX_GLOBAL_FUNCTIONS
#define AOTC_MAX_GLOBAL_FUNCTIONS 32
#endif

/* Adds a packed function, or replaces the one of that name. `name` must live as long as the program. */
aotc_error_t AOTCFuncRegisterGlobal(const char *name, AOTCPackedFunction function);
aotc_error_t AOTCFuncGetGlobal(const char *name, AOTCPackedFunction *out);

/* A packed function of the model: "run", "get_model_metadata", or a packed operator. */
aotc_error_t AOTCModel_GetFunction(const aotc_model_t *model, const char *name, AOTCPackedFunction *out);

/* --- metadata (aotc_metadata.c) --- */

/* NULL where the model has none of AOTC_METADATA_VERSION, as the functions below where the metadata are of another. */
const AOTCMetadata *AOTCModel_GetMetadata(const aotc_model_t *model);
/* The entry's or an operator's record; NULL when there is none of that name. A null name means the entry. */
const AOTCFunctionInfo *AOTCMetadata_GetFunction(const AOTCMetadata *metadata, const char *name);
/* The input or output `position` of the entry, inputs first; NULL past the end. */
const AOTCParameterInfo *AOTCMetadata_GetParameter(const AOTCMetadata *metadata, int32_t position);
/* Which argument of the entry has this ONNX name; -1 when none has. */
int32_t AOTCMetadata_GetPosition(const AOTCMetadata *metadata, const char *name);
/* Bytes of the tensor. */
int64_t AOTCParameterInfo_GetBytes(const AOTCParameterInfo *parameter);

#ifdef __cplusplus
}
#endif

#endif /* AOTC_RUNTIME_H_ */
