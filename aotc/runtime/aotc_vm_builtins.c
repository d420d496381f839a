/* The functions vm.builtin.* of the virtual machine, as aotc/vm/builtins.py has them; printing is the application's. */

#include "aotc_vm_format.h"

#define MOST_HEAP 65536
#define MOST_DIMENSIONS 32

typedef struct {
  AOTCVM *vm;
  const AOTCValue *values;
  const int32_t *codes;
  int32_t count;
  AOTCValue *value; /* what is returned */
  int32_t *code;
} Call;

static Call Arguments(void *args, void *codes, int32_t count, void *value, void *code, void *vm) {
  Call call;
  call.vm = (AOTCVM *)vm;
  call.values = (const AOTCValue *)args;
  call.codes = (const int32_t *)codes;
  call.count = count;
  call.value = (AOTCValue *)value;
  call.code = (int32_t *)code;
  return call;
}

/* Each function is FUNCTION(name, how many arguments at least) { .. }, and has `c`. */
#define FUNCTION(name, least)                                                                                       \
  static int32_t Do_##name(Call c);                                                                                 \
  int32_t AOTCVM_##name(void *args, void *arg_type_ids, int32_t num_args, void *out_ret_value, void *out_ret_tcode, \
                        void *resource_handle) {                                                                    \
    if (num_args < (least)) return kAOTCVMErrorWrongArguments;                                                      \
    return Do_##name(Arguments(args, arg_type_ids, num_args, out_ret_value, out_ret_tcode, resource_handle));       \
  }                                                                                                                 \
  static int32_t Do_##name(Call c)

static int32_t Return(Call c, int32_t code, void *handle) {
  if (handle == NULL) return kAOTCErrorOutOfMemory;
  c.value->v_handle = handle;
  *c.code = code;
  return kAOTCErrorNone;
}

static int32_t ReturnInteger(Call c, int64_t value) {
  c.value->v_int64 = value;
  *c.code = kAOTCInt;
  return kAOTCErrorNone;
}

static int Is(Call c, int32_t position, int32_t code) { return c.codes[position] == code; }

static const DLTensor *TensorAt(Call c, int32_t position) { return (const DLTensor *)c.values[position].v_handle; }

/* Whether a tensor is a constant of the executable, which may be in memory that cannot be written. */
static int IsConstant(Call c, const DLTensor *tensor) {
  uintptr_t at = (uintptr_t)tensor->data, first = (uintptr_t)c.vm->executable;
  return at - first < ((const Header *)(const void *)c.vm->executable)->size;
}

/* The extents of the heap in argument `position`, and how many; NULL where it is none. */
static int64_t *Heap(Call c, int32_t position, int64_t *count) {
  const DLTensor *heap = TensorAt(c, position);
  if (!Is(c, position, kAOTCDLTensorHandle) || heap->ndim != 1 || heap->strides != NULL || heap->byte_offset != 0 ||
      heap->dtype.code != kDLInt || heap->dtype.bits != 64 || IsConstant(c, heap)) {
    return NULL;
  }
  *count = heap->shape[0];
  return (int64_t *)heap->data;
}

/* The shape in argument `position`, of a tensor too if `tensors`; NULL where there is none. */
static const int64_t *Shape(Call c, int32_t position, int tensors, int64_t *ndim) {
  const int64_t *shape = (const int64_t *)c.values[position].v_handle;
  if (tensors && Is(c, position, kAOTCDLTensorHandle)) {
    *ndim = TensorAt(c, position)->ndim;
    return TensorAt(c, position)->shape != NULL ? TensorAt(c, position)->shape : &c.values[position].v_int64;
  }
  if (!Is(c, position, kAOTCShape)) return NULL;
  *ndim = shape[0];
  return shape + 1;
}

static int32_t NewShape(Call c, int32_t ndim, int64_t **extents) {
  int64_t *shape = (int64_t *)AOTCVM_Allocate(c.vm, (uint64_t)(ndim + 1) * 8);
  if (shape == NULL) return kAOTCErrorOutOfMemory;
  shape[0] = ndim;
  *extents = shape + 1;
  return Return(c, kAOTCShape, shape);
}

/* Makes a tensor of a data type as constants have it what is returned; the shape is at `extents`, which stays. */
static int32_t Describe(Call c, DLTensor *tensor, void *data, int64_t dtype, int32_t ndim, int64_t *extents) {
  if (tensor == NULL) return kAOTCErrorOutOfMemory;
  tensor->data = data;
  tensor->device.device_type = kDLCPU;
  tensor->device.device_id = 0;
  tensor->ndim = ndim;
  tensor->dtype.code = (uint8_t)(dtype & 0xFF);
  tensor->dtype.bits = (uint8_t)(dtype >> 8 & 0xFF);
  tensor->dtype.lanes = 1;
  tensor->shape = extents;
  tensor->strides = NULL;
  tensor->byte_offset = 0;
  return Return(c, kAOTCDLTensorHandle, tensor);
}

static int32_t NewTensor(Call c, void *data, int64_t dtype, int32_t ndim, int64_t *extents) {
  return Describe(c, (DLTensor *)AOTCVM_Allocate(c.vm, sizeof(DLTensor)), data, dtype, ndim, extents);
}

/* The bytes of a tensor; UINT64_MAX where they are 4 GiB or more, or an extent is. */
static uint64_t Bytes(int64_t dtype, int64_t ndim, const int64_t *extents) {
  uint64_t bytes = ((uint64_t)(dtype >> 8 & 0xFF) + 7) / 8;
  int64_t i;
  for (i = 0; i < ndim; ++i) {
    if (extents[i] < 0 || extents[i] > UINT32_MAX) return UINT64_MAX;
    bytes *= (uint64_t)extents[i];
    if (bytes > UINT32_MAX) return UINT64_MAX;
  }
  return bytes;
}

/* Whether a byte is a multiple of an element, of 1, 2, 4 or 8 bytes. */
static int IsAligned(int64_t offset, int64_t dtype) { return (offset & (((dtype >> 8 & 0xFF) + 7) / 8 - 1)) == 0; }

/* --- shapes --- */

FUNCTION(alloc_shape_heap, 1) {
  int64_t count = c.values[0].v_int64, *elements, i;

  if (!Is(c, 0, kAOTCInt)) return kAOTCVMErrorWrongType;
  if (count < 0 || count > MOST_HEAP) return kAOTCVMErrorWrongValue;
  elements = (int64_t *)AOTCVM_Allocate(c.vm, (uint64_t)(count + 1) * 8);
  if (elements == NULL) return kAOTCErrorOutOfMemory;
  elements[count] = count; /* its shape */
  for (i = 0; i < count; ++i) elements[i] = -1;
  return NewTensor(c, elements, kDLInt | 64 << 8, 1, &elements[count]);
}

FUNCTION(shape_of, 1) {
  const int64_t *given;
  int64_t ndim, *extents, i;
  int32_t status;

  if (!Is(c, 0, kAOTCDLTensorHandle)) return kAOTCVMErrorWrongType;
  given = Shape(c, 0, 1, &ndim);
  status = NewShape(c, (int32_t)ndim, &extents);
  if (status != kAOTCErrorNone) return status;
  for (i = 0; i < ndim; ++i) extents[i] = given[i];
  return kAOTCErrorNone;
}

FUNCTION(extent, 2) {
  int64_t ndim = 0;
  const int64_t *shape = Shape(c, 0, 1, &ndim);

  if (shape == NULL || !Is(c, 1, kAOTCInt)) return kAOTCVMErrorWrongType;
  if (c.values[1].v_int64 < 0 || c.values[1].v_int64 >= ndim) return kAOTCVMErrorWrongValue;
  return ReturnInteger(c, shape[c.values[1].v_int64]);
}

FUNCTION(store_shape, 2) {
  int64_t ndim = 0, count = 0, i;
  const int64_t *shape = Shape(c, 0, 0, &ndim);
  int64_t *heap = Heap(c, 1, &count);

  if (shape == NULL || heap == NULL) return kAOTCVMErrorWrongType;
  if (c.count - 2 != ndim) return kAOTCVMErrorWrongArguments;
  for (i = 0; i < ndim; ++i) {
    int64_t place = c.values[i + 2].v_int64;
    if (c.codes[i + 2] != kAOTCInt) return kAOTCVMErrorWrongType;
    if (place < 0 || place >= count) return kAOTCVMErrorWrongValue;
    heap[place] = shape[i];
  }
  return kAOTCErrorNone;
}

FUNCTION(load_shape, 1) {
  int64_t count = 0, *extents;
  const int64_t *heap = Heap(c, 0, &count);
  int32_t i, status;

  if (heap == NULL) return kAOTCVMErrorWrongType;
  status = NewShape(c, c.count - 1, &extents);
  if (status != kAOTCErrorNone) return status;
  for (i = 1; i < c.count; ++i) {
    int64_t place = c.values[i].v_int64;
    if (!Is(c, i, kAOTCInt)) return kAOTCVMErrorWrongType;
    if (place < 0 || place >= count || heap[place] < 0) return kAOTCVMErrorWrongValue;
    extents[i - 1] = heap[place];
  }
  return kAOTCErrorNone;
}

FUNCTION(make_shape, 0) {
  int64_t *extents;
  int32_t i, status = NewShape(c, c.count, &extents);

  if (status != kAOTCErrorNone) return status;
  for (i = 0; i < c.count; ++i) {
    if (!Is(c, i, kAOTCInt)) return kAOTCVMErrorWrongType;
    if (c.values[i].v_int64 < 0) return kAOTCVMErrorWrongValue;
    extents[i] = c.values[i].v_int64;
  }
  return kAOTCErrorNone;
}

FUNCTION(match_shape, 2) {
  enum { kEqual = 0, kStore = 1, kAny = 2, kEqualHeap = 3 };
  int64_t ndim = 0, count = 0, i;
  const int64_t *shape = Shape(c, 0, 1, &ndim);
  int64_t *heap = Heap(c, 1, &count);

  if (shape == NULL || heap == NULL) return kAOTCVMErrorWrongType;
  if (c.count - 2 != 2 * ndim) return kAOTCVMErrorWrongValue;
  for (i = 0; i < ndim; ++i) {
    int64_t what = c.values[2 * i + 2].v_int64, number = c.values[2 * i + 3].v_int64;
    if (c.codes[2 * i + 2] != kAOTCInt || c.codes[2 * i + 3] != kAOTCInt) return kAOTCVMErrorWrongType;
    if ((what == kStore || what == kEqualHeap) && (number < 0 || number >= count)) return kAOTCVMErrorWrongValue;
    if (what == kStore) {
      heap[number] = shape[i];
    } else if (what == kEqual || what == kEqualHeap) {
      if (shape[i] != (what == kEqual ? number : heap[number])) return kAOTCVMErrorWrongValue;
    } else if (what != kAny) {
      return kAOTCVMErrorWrongValue;
    }
  }
  return kAOTCErrorNone;
}

FUNCTION(match_tensor, 2) {
  const DLTensor *tensor = TensorAt(c, 0);
  int32_t i, dtype;

  if (!Is(c, 0, kAOTCDLTensorHandle) || !Is(c, 1, kAOTCDataType) || tensor == NULL) return kAOTCVMErrorWrongType;
  dtype = tensor->dtype.code | tensor->dtype.bits << 8 | (int32_t)tensor->dtype.lanes << 16;
  if (dtype != (int32_t)c.values[1].v_int64) return kAOTCVMErrorWrongType;
  if (tensor->device.device_type != kDLCPU || tensor->device.device_id != 0 || tensor->data == NULL ||
      tensor->strides != NULL || tensor->byte_offset != 0 || tensor->ndim != c.count - 2) {
    return kAOTCVMErrorWrongValue;
  }
  for (i = 2; i < c.count; ++i) {
    if (!Is(c, i, kAOTCInt)) return kAOTCVMErrorWrongType;
    if (tensor->shape == NULL || tensor->shape[i - 2] != c.values[i].v_int64) return kAOTCVMErrorWrongValue;
  }
  return kAOTCErrorNone;
}

/* --- memory --- */

FUNCTION(alloc_storage, 2) {
  AOTCVMStorage *storage;
  int64_t size = c.values[1].v_int64, i;

  if (!Is(c, 0, kAOTCOpaqueHandle) || !Is(c, 1, kAOTCInt)) return kAOTCVMErrorWrongType;
  if (c.count > 3 || (c.count == 3 && (!Is(c, 2, kAOTCInt) || c.values[2].v_int64 != 0))) {
    return kAOTCVMErrorWrongValue; /* there is one allocator */
  }
  if (c.values[0].v_handle != (void *)c.vm || size < 0) return kAOTCVMErrorWrongValue;
  storage = (AOTCVMStorage *)AOTCVM_Allocate(c.vm, sizeof(AOTCVMStorage));
  if (storage == NULL) return kAOTCErrorOutOfMemory;
  storage->data = (uint8_t *)AOTCVM_Allocate(c.vm, (uint64_t)size);
  if (storage->data == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < size; ++i) storage->data[i] = 0;
  storage->size = (uint64_t)size;
  ++c.vm->statistics.allocations;
  c.vm->statistics.bytes += storage->size;
  return Return(c, kAOTCStorage, storage);
}

FUNCTION(alloc_tensor, 4) {
  const AOTCVMStorage *storage = (const AOTCVMStorage *)c.values[0].v_handle;
  int64_t offset = c.values[1].v_int64, dtype = c.values[3].v_int64, ndim = 0, i;
  const int64_t *shape = Shape(c, 2, 0, &ndim);
  int64_t *extents;
  uint64_t bytes;

  if (!Is(c, 0, kAOTCStorage) || !Is(c, 1, kAOTCInt) || shape == NULL || !Is(c, 3, kAOTCDataType)) {
    return kAOTCVMErrorWrongType;
  }
  bytes = Bytes(dtype, ndim, shape);
  if (offset < 0 || bytes > storage->size || (uint64_t)offset > storage->size - bytes) return kAOTCVMErrorWrongValue;
  if (!IsAligned(offset, dtype)) return kAOTCVMErrorWrongValue;
  extents = (int64_t *)AOTCVM_Allocate(c.vm, (uint64_t)(ndim + 1) * 8);
  if (extents == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < ndim; ++i) extents[i] = shape[i];
  return NewTensor(c, storage->data + offset, dtype, (int32_t)ndim, extents);
}

/* Room for one view at a time, which the machine alone makes. */
typedef struct {
  int64_t ndim;
  DLTensor tensor;
} View;

/* The extents of a view, behind it. */
static int64_t *Extents(View *view) { return (int64_t *)(void *)((uint8_t *)view + (sizeof(View) + 7) / 8 * 8); }

static View *NewView(Call c, int64_t ndim) {
  View *view = (View *)AOTCVM_Allocate(c.vm, (sizeof(View) + 7) / 8 * 8 + (uint64_t)ndim * 8);
  if (view != NULL) view->ndim = ndim;
  return view;
}

/* The view that arguments from number `first` on describe: tensor, offset, data type, extents. */
static int32_t ViewIn(Call c, View *view, int32_t first) {
  const DLTensor *tensor = TensorAt(c, first);
  int64_t offset = c.values[first + 1].v_int64, dtype = c.values[first + 2].v_int64;
  int32_t i, ndim = c.count - first - 3;
  uint64_t bytes, most;

  if (!Is(c, first, kAOTCDLTensorHandle) || !Is(c, first + 1, kAOTCInt) || !Is(c, first + 2, kAOTCDataType)) {
    return kAOTCVMErrorWrongType;
  }
  if (tensor->strides != NULL || tensor->dtype.lanes != 1) return kAOTCVMErrorWrongValue;
  if (view == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < ndim; ++i) {
    if (!Is(c, first + 3 + i, kAOTCInt)) return kAOTCVMErrorWrongType;
  }
  most = Bytes((int64_t)tensor->dtype.bits << 8, tensor->ndim, tensor->shape);
  for (i = 0; i < ndim; ++i) Extents(view)[i] = c.values[first + 3 + i].v_int64;
  bytes = Bytes(dtype, ndim, Extents(view));
  if (offset < 0 || bytes > most || (uint64_t)offset > most - bytes || !IsAligned(offset, dtype)) {
    return kAOTCVMErrorWrongValue;
  }
  return Describe(c, &view->tensor, (uint8_t *)tensor->data + tensor->byte_offset + offset, dtype, ndim, Extents(view));
}

FUNCTION(view, 3) { return ViewIn(c, NewView(c, c.count - 3), 0); }

FUNCTION(alloc_view, 1) {
  if (!Is(c, 0, kAOTCInt)) return kAOTCVMErrorWrongType;
  if (c.values[0].v_int64 < 0 || c.values[0].v_int64 > MOST_DIMENSIONS) return kAOTCVMErrorWrongValue;
  return Return(c, kAOTCView, NewView(c, c.values[0].v_int64));
}

FUNCTION(view_in, 4) {
  View *view = (View *)c.values[0].v_handle;
  if (!Is(c, 0, kAOTCView)) return kAOTCVMErrorWrongType;
  return view->ndim == c.count - 4 ? ViewIn(c, view, 1) : kAOTCVMErrorWrongValue;
}

/* --- values --- */

FUNCTION(move, 1) {
  *c.value = c.values[0];
  *c.code = c.codes[0];
  return kAOTCErrorNone;
}

FUNCTION(read, 1) {
  int64_t value = 0;
  int32_t status;

  if (!Is(c, 0, kAOTCDLTensorHandle)) return kAOTCVMErrorWrongType;
  status = AOTCVM_ReadInteger(TensorAt(c, 0), &value);
  return status == kAOTCErrorNone ? ReturnInteger(c, value) : status;
}

FUNCTION(write, 2) {
  const DLTensor *tensor = TensorAt(c, 0);
  int64_t old = 0;
  int32_t status, i;

  if (!Is(c, 0, kAOTCDLTensorHandle) || !Is(c, 1, kAOTCInt)) return kAOTCVMErrorWrongType;
  status = AOTCVM_ReadInteger(tensor, &old); /* whether it has one element, of which type */
  if (status != kAOTCErrorNone) return status;
  if (IsConstant(c, tensor)) return kAOTCVMErrorWrongType;
  for (i = 0; i < tensor->dtype.bits / 8; ++i) {
    uint64_t value = tensor->dtype.code == kDLBool ? c.values[1].v_int64 != 0 : (uint64_t)c.values[1].v_int64;
    ((uint8_t *)tensor->data + tensor->byte_offset)[i] = (uint8_t)(value >> 8 * i);
  }
  return kAOTCErrorNone;
}

/* Integers are modulo 2^64. */
#define ARITHMETIC(name, result)                                                             \
  FUNCTION(name, 2) {                                                                        \
    uint64_t a = (uint64_t)c.values[0].v_int64, b = (uint64_t)c.values[1].v_int64;           \
    if (!Is(c, 0, kAOTCInt) || !Is(c, 1, kAOTCInt)) return kAOTCVMErrorWrongType;            \
    return ReturnInteger(c, (int64_t)(result));                                              \
  }

ARITHMETIC(add, a + b)
ARITHMETIC(sub, a - b)
ARITHMETIC(mul, a *b)
ARITHMETIC(max, (int64_t)a > (int64_t)b ? a : b)
ARITHMETIC(min, (int64_t)a < (int64_t)b ? a : b)
ARITHMETIC(and, a &b)
ARITHMETIC(less, (int64_t)a < (int64_t)b)
ARITHMETIC(equal, a == b)

FUNCTION(div, 2) {
  int64_t a = c.values[0].v_int64, b = c.values[1].v_int64;

  if (!Is(c, 0, kAOTCInt) || !Is(c, 1, kAOTCInt)) return kAOTCVMErrorWrongType;
  if (b == 0) return kAOTCVMErrorWrongValue;
  if (b == -1) return ReturnInteger(c, (int64_t)(0 - (uint64_t)a));
  return ReturnInteger(c, a / b - (a % b != 0 && (a < 0) != (b < 0)));
}

#define ENTRY(name) {"vm.builtin." #name, AOTCVM_##name},
const AOTCFunctionEntry AOTCVM_Builtins[] = {AOTCVM_EACH_BUILTIN(ENTRY){NULL, NULL}};
