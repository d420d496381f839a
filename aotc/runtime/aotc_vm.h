/* The virtual machine: runs executables of bytecode (docs/vm.md) where they lie, in memory that the caller gives.
 *
 * aotc_vm.c runs them, aotc_vm_check.c checks and links those that are not part of the program, aotc_vm_builtins.c has
 * the functions vm.builtin.*. C99, no libc, no heap but a hook of the application's, no recursion. What AOTCVM_Open has
 * accepted reads and writes nothing but that memory and what packed functions are given.
 */
#ifndef AOTC_VM_H_
#define AOTC_VM_H_

#include "aotc_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a value is, beside the codes of aotc_packed.h. */
enum {
  kAOTCNull = 4,
  kAOTCDataType = 5, /* v_int64: code | bits << 8 | lanes << 16 */
  kAOTCShape = 64,   /* v_handle: int64_t, the number of dimensions, then the extents */
  kAOTCStorage = 65, /* v_handle: AOTCVMStorage */
  kAOTCView = 66     /* room for a view, which the built-in functions look into */
};

/* More of aotc_error_t. */
enum {
  kAOTCVMErrorBadExecutable = -20, /* damaged, of another version, or not at a multiple of 8 bytes */
  kAOTCVMErrorWrongArguments = -21, /* a function is called with another number of them */
  kAOTCVMErrorWrongType = -22,      /* an operand is not of the type that a built-in function or a condition takes */
  kAOTCVMErrorWrongValue = -23,     /* out of range, or a shape that is not the expected one */
  kAOTCVMErrorTooManyJumps = -24
};

typedef struct {
  AOTCValue value;
  int32_t type_code;
} AOTCVMValue;

typedef struct {
  uint8_t *data;
  uint64_t size;
} AOTCVMStorage;

/* More memory where the machine's is used up: `size` bytes at a multiple of 64, or NULL. The application frees it. */
typedef void *(*AOTCVMAllocate)(void *context, size_t size);

/* Statistics of the state: what alloc_storage has given. */
typedef struct {
  uint32_t allocations;
  uint64_t bytes;
} AOTCVMStatistics;

typedef struct {
  /* Set by AOTCVM_Open; the application may change these between calls. */
  void *resource_handle;   /* what packed functions get; those named vm.* get the machine instead */
  AOTCVMAllocate allocate; /* NULL: there is no other memory */
  void *context;           /* of `allocate` */
  uint32_t most_jumps;     /* of one call, calls within the executable among them; 0: no bound */
  /* To read. */
  uint32_t function;    /* where the latest call that failed stopped: the function, */
  uint32_t instruction; /* and the instruction, from the start of the executable */
  AOTCVMStatistics statistics;
  /* The machine's own. */
  const uint8_t *executable;
  const AOTCPackedFunction *functions;
  uint16_t *callees;
  uint8_t *workspace;
  uint8_t *first; /* the memory behind the workspace: frames grow upwards from `low`, */
  uint8_t *last;
  uint8_t *low;
  uint8_t *high; /* values downwards from `high` */
} AOTCVM;

/* The number of names that calls of an executable have; 0 where it is none. */
uint32_t AOTCVM_NumNames(const void *executable, size_t size);

/* Looks up every name that an executable calls: its own functions (NULL), `table` (which may be NULL), the built-in
 * ones, the registry. `functions` has room for `count`. On kAOTCErrorUnknownFunction *unknown is the name's number. */
aotc_error_t AOTCVM_Link(const void *executable, size_t size, const AOTCFunctionEntry *table,
                         AOTCPackedFunction *functions, uint32_t count, uint32_t *unknown);

/* Makes a machine of `memory_size` bytes of memory for an executable, which stays where it is. `functions` are those of
 * the names by number, as AOTCVM_Link or generated code gives them. The executable is believed but for its version: it
 * is part of the program, as a table in C is. */
aotc_error_t AOTCVM_Start(AOTCVM *vm, const void *executable, const AOTCPackedFunction *functions, void *memory,
                          size_t memory_size);

/* The same for an executable that nobody has to believe: its checksum and every number in it are checked first. */
aotc_error_t AOTCVM_Open(AOTCVM *vm, const void *executable, size_t size, const AOTCPackedFunction *functions,
                         void *memory, size_t memory_size);

/* The number of a function of the executable. */
aotc_error_t AOTCVM_Find(const AOTCVM *vm, const char *name, uint32_t *function);

/* Calls a function with `count` arguments as packed functions take them. What it returns, where that is not one of
 * them, lives until the next call of this machine. */
aotc_error_t AOTCVM_Call(AOTCVM *vm, uint32_t function, const AOTCValue *values, const int32_t *type_codes,
                         uint32_t count, AOTCVMValue *result);

/* `size` bytes at a multiple of 64 that live until the next call, for functions named vm.*; NULL: there are none. */
void *AOTCVM_Allocate(AOTCVM *vm, uint64_t size);

/* The one element of a tensor of integers or booleans. */
aotc_error_t AOTCVM_ReadInteger(const DLTensor *tensor, int64_t *out);

/* The built-in functions, a table that ends with a null name. */
extern const AOTCFunctionEntry AOTCVM_Builtins[];

/* The name of the function behind vm.builtin.NAME is AOTCVM_NAME. */
#define AOTCVM_EACH_BUILTIN(DO)                                                                                  \
  DO(add) DO(alloc_shape_heap) DO(alloc_storage) DO(alloc_tensor) DO(alloc_view) DO(and) DO(div) DO(equal)         \
  DO(extent) DO(less) DO(load_shape) DO(make_shape) DO(match_shape) DO(match_tensor) DO(max) DO(min) DO(move)      \
  DO(mul) DO(read) DO(shape_of) DO(store_shape) DO(sub) DO(view) DO(view_in) DO(write)
#define AOTCVM_DECLARE(name)                                                                                     \
  int32_t AOTCVM_##name(void *args, void *arg_type_ids, int32_t num_args, void *out_ret_value, void *out_ret_tcode, \
                        void *resource_handle);
AOTCVM_EACH_BUILTIN(AOTCVM_DECLARE)
#undef AOTCVM_DECLARE

#ifdef __cplusplus
}
#endif

#endif /* AOTC_VM_H_ */
