/* The built-in functions of the virtual machine, called as packed functions are: what each returns, and every argument
 * that it refuses. Arguments lie in memory of their own size, so that reading on is seen. */
#include <stdlib.h>
#include <string.h>

#include "aotc_vm_format.h"
#include "check.h"

enum { kMemory = 1 << 20, kBadType = kAOTCVMErrorWrongType, kBadValue = kAOTCVMErrorWrongValue };

static AOTCVM vm;
static AOTCVMValue out;
static union {
  Header header;
  uint8_t bytes[sizeof(Header) + 8];
} executable; /* without a table, and 8 bytes that are none of its */

static AOTCVMValue Value(int32_t code, int64_t number, void *handle) {
  AOTCVMValue value;
  value.value.v_int64 = number;
  if (handle != NULL) value.value.v_handle = handle;
  value.type_code = code;
  return value;
}
static AOTCVMValue I(int64_t number) { return Value(kAOTCInt, number, NULL); }
static AOTCVMValue D(int code, int bits) { return Value(kAOTCDataType, code | bits << 8 | 1 << 16, NULL); }
static AOTCVMValue T(DLTensor *tensor) { return Value(kAOTCDLTensorHandle, 0, tensor); }
static AOTCVMValue S(int64_t *shape) { return Value(kAOTCShape, 0, shape); }
static AOTCVMValue P(void *pointer) { return Value(kAOTCOpaqueHandle, 0, pointer); }

static int32_t Try(AOTCPackedFunction f, const AOTCVMValue *given, size_t n) {
  AOTCValue *values = (AOTCValue *)malloc(n * sizeof(AOTCValue) + 1);
  int32_t *codes = (int32_t *)malloc(n * sizeof(int32_t) + 1), status;
  size_t i;
  for (i = 0; i < n; ++i) {
    values[i] = given[i].value;
    codes[i] = given[i].type_code;
  }
  out = Value(kAOTCNull, 0, NULL);
  status = f(values, codes, (int32_t)n, &out.value, &out.type_code, &vm);
  free(values);
  free(codes);
  return status;
}
#define DO(name, ...) \
  Try(AOTCVM_##name, (AOTCVMValue[]){__VA_ARGS__}, sizeof((AOTCVMValue[]){__VA_ARGS__}) / sizeof(AOTCVMValue))
#define SHAPE(i) (((int64_t *)out.value.v_handle)[i])
#define TENSOR ((DLTensor *)out.value.v_handle)

static DLTensor Of(void *data, int32_t ndim, int64_t *shape, int code, int bits) {
  DLTensor tensor = {NULL, {kDLCPU, 0}, 0, {0, 0, 1}, NULL, NULL, 0};
  tensor.data = data;
  tensor.ndim = ndim;
  tensor.shape = shape;
  tensor.dtype.code = (uint8_t)code;
  tensor.dtype.bits = (uint8_t)bits;
  return tensor;
}

static void Heaps(void) {
  int64_t data[3] = {7, -1, 0}, three = 3, shape[] = {2, 5, 6}, sizes[] = {4, 5}, one[] = {1, 0}, more[] = {1, 3};
  DLTensor heap = Of(data, 1, &three, kDLInt, 64), x = Of(data, 2, sizes, kDLFloat, 32), none = Of(data, 0, NULL, 2, 8);
  DLTensor wrong;
  int i;

  CHECK(DO(alloc_shape_heap, D(0, 64)) == kBadType && DO(alloc_shape_heap, I(-1)) == kBadValue);
  CHECK(DO(alloc_shape_heap, I(65537)) == kBadValue && DO(alloc_shape_heap, I(65536)) == 0);
  CHECK(DO(alloc_shape_heap, I(0)) == 0 && TENSOR->shape[0] == 0);
  CHECK(DO(alloc_shape_heap, I(3)) == 0 && out.type_code == kAOTCDLTensorHandle && TENSOR->shape[0] == 3);
  CHECK(TENSOR->ndim == 1 && TENSOR->dtype.code == kDLInt && TENSOR->dtype.bits == 64 && TENSOR->dtype.lanes == 1);
  for (i = 0; i < 3; ++i) CHECK(((int64_t *)TENSOR->data)[i] == -1);
  for (i = 0; i < 7; ++i) { /* no heap */
    static int64_t strides[] = {1};
    wrong = heap;
    if (i == 1) wrong.ndim = 2;
    if (i == 2) wrong.strides = strides;
    if (i == 3) wrong.byte_offset = 8;
    if (i == 4) wrong.dtype.code = kDLUInt;
    if (i == 5) wrong.dtype.bits = 32;
    if (i == 6) wrong.data = &executable;
    CHECK(DO(load_shape, i == 0 ? P(&heap) : T(&wrong)) == kBadType);
    CHECK(DO(store_shape, S(one), i == 0 ? P(&heap) : T(&wrong), I(0)) == kBadType);
    CHECK(DO(match_shape, S(one), i == 0 ? P(&heap) : T(&wrong), I(2), I(0)) == kBadType);
  }
  CHECK(DO(shape_of, I(3)) == kBadType && DO(shape_of, S(shape)) == kBadType);
  CHECK(DO(shape_of, T(&x)) == 0 && out.type_code == kAOTCShape && SHAPE(0) == 2 && SHAPE(1) == 4 && SHAPE(2) == 5);
  CHECK(DO(shape_of, T(&none)) == 0 && SHAPE(0) == 0);
  CHECK(DO(extent, S(shape), I(1)) == 0 && out.value.v_int64 == 6 && DO(extent, T(&x), I(0)) == 0);
  CHECK(out.value.v_int64 == 4 && DO(extent, S(shape), I(2)) == kBadValue && DO(extent, S(shape), I(-1)) == kBadValue);
  CHECK(DO(extent, I(3), I(0)) == kBadType && DO(extent, S(shape), D(0, 8)) == kBadType);
  CHECK(DO(extent, T(&none), I(0)) == kBadValue);
  CHECK(DO(store_shape, T(&x), T(&heap), I(0), I(1)) == kBadType);
  CHECK(DO(store_shape, S(shape), T(&heap), I(0)) == kAOTCVMErrorWrongArguments);
  CHECK(DO(store_shape, S(shape), T(&heap), I(0), I(1), I(2)) == kAOTCVMErrorWrongArguments);
  CHECK(DO(store_shape, S(shape), T(&heap), I(0), D(0, 0)) == kBadType);
  CHECK(DO(store_shape, S(shape), T(&heap), I(0), I(3)) == kBadValue);
  CHECK(DO(store_shape, S(shape), T(&heap), I(-1), I(0)) == kBadValue);
  CHECK(DO(store_shape, S(shape), T(&heap), I(2), I(0)) == 0 && data[2] == 5 && data[0] == 6 && data[1] == -1);
  data[2] = 0;
  CHECK(DO(load_shape, T(&heap), I(0), I(2)) == 0 && SHAPE(0) == 2 && SHAPE(1) == 6 && SHAPE(2) == 0);
  CHECK(DO(load_shape, T(&heap), I(1)) == kBadValue && DO(load_shape, T(&heap), I(3)) == kBadValue);
  CHECK(DO(load_shape, T(&heap), I(-1)) == kBadValue && DO(load_shape, T(&heap), D(0, 0)) == kBadType);
  CHECK(DO(load_shape, T(&heap)) == 0 && SHAPE(0) == 0);
  CHECK(Try(AOTCVM_make_shape, NULL, 0) == 0 && SHAPE(0) == 0 && DO(make_shape, I(0), I(4)) == 0 && SHAPE(0) == 2);
  CHECK(SHAPE(1) == 0 && SHAPE(2) == 4 && DO(make_shape, I(2), I(-1)) == kBadValue);
  CHECK(DO(make_shape, D(0, 8)) == kBadType);
  /* equal, store, any, equal to the heap's */
  CHECK(DO(match_shape, I(1), T(&heap), I(2), I(0)) == kBadType);
  CHECK(DO(match_shape, S(one), T(&heap)) == kBadValue && DO(match_shape, S(one), T(&heap), I(2)) == kBadValue);
  CHECK(DO(match_shape, S(one), T(&heap), I(2), I(0), I(2), I(0)) == kBadValue);
  CHECK(DO(match_shape, S(one), T(&heap), D(2, 0), I(0)) == kBadType);
  CHECK(DO(match_shape, S(one), T(&heap), I(2), D(0, 0)) == kBadType);
  CHECK(DO(match_shape, S(more), T(&heap), I(0), I(3)) == 0);
  CHECK(DO(match_shape, S(more), T(&heap), I(0), I(2)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(1), I(3)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(1), I(-1)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(1), I(0)) == 0 && data[0] == 3);
  CHECK(DO(match_shape, S(more), T(&heap), I(2), I(-9)) == 0);
  CHECK(DO(match_shape, S(more), T(&heap), I(4), I(0)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(3), I(0)) == 0);
  CHECK(DO(match_shape, S(more), T(&heap), I(3), I(2)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(3), I(3)) == kBadValue);
  CHECK(DO(match_shape, S(more), T(&heap), I(3), I(-1)) == kBadValue);
  CHECK(DO(match_shape, T(&x), T(&heap), I(0), I(4), I(1), I(2)) == 0 && data[2] == 5);
  CHECK(DO(match_shape, T(&none), T(&heap)) == 0);
}

static void Tensors(void) {
  int64_t shape[] = {2, 3}, strides[] = {3, 1};
  uint8_t data[24];
  DLTensor x = Of(data, 2, shape, kDLFloat, 32), none = Of(data, 0, NULL, kDLInt, 8), wrong;
  int i;

  CHECK(DO(match_tensor, T(&x), D(kDLFloat, 32), I(2), I(3)) == 0 && DO(match_tensor, T(&none), D(kDLInt, 8)) == 0);
  CHECK(DO(match_tensor, P(&x), D(kDLFloat, 32), I(2), I(3)) == kBadType);
  CHECK(DO(match_tensor, T(&x), I(0x12002), I(2), I(3)) == kBadType);
  CHECK(DO(match_tensor, T(NULL), D(kDLFloat, 32)) == kBadType);
  CHECK(DO(match_tensor, T(&x), D(kDLFloat, 16), I(2), I(3)) == kBadType);
  CHECK(DO(match_tensor, T(&x), D(kDLFloat, 32), I(2), D(0, 0)) == kBadType);
  CHECK(DO(match_tensor, T(&x), D(kDLFloat, 32), I(2)) == kBadValue);
  CHECK(DO(match_tensor, T(&x), D(kDLFloat, 32), I(2), I(4)) == kBadValue);
  for (i = 0; i < 7; ++i) {
    wrong = x;
    if (i == 0) wrong.device.device_type = 2;
    if (i == 1) wrong.device.device_id = 1;
    if (i == 2) wrong.data = NULL;
    if (i == 3) wrong.strides = strides;
    if (i == 4) wrong.byte_offset = 4;
    if (i == 5) wrong.ndim = 1;
    if (i == 6) wrong.shape = NULL;
    CHECK(DO(match_tensor, T(&wrong), D(kDLFloat, 32), I(2), I(3)) == kBadValue);
  }
  wrong = x;
  wrong.dtype.lanes = 2;
  CHECK(DO(match_tensor, T(&wrong), D(kDLFloat, 32), I(2), I(3)) == kBadType);
}

static void Memory(void) {
  static const int64_t fits[][3] = {{UINT32_MAX, 1, 1}, {65537, 65535, 1}, {0, UINT32_MAX, 1}, {UINT32_MAX, 0, 1},
                                    {(int64_t)UINT32_MAX + 1, 1, 0}, {0, (int64_t)UINT32_MAX + 1, 0},
                                    {65536, 65536, 0}, {-1, 1, 0}, {0, -1, 0}};
  AOTCVMStorage *storage, endless = {NULL, UINT64_MAX - 1}, small = {executable.bytes, 24};
  AOTCVM other = vm;
  int64_t shape[] = {2, 2, 3}, wide[] = {1, 7};
  size_t i;

  CHECK(DO(alloc_storage, I(0), I(8)) == kBadType && DO(alloc_storage, P(&vm), D(0, 8)) == kBadType);
  CHECK(DO(alloc_storage, P(&vm), I(8), I(0), I(0)) == kBadValue && DO(alloc_storage, P(&vm), I(8), I(1)) == kBadValue);
  CHECK(DO(alloc_storage, P(&vm), I(8), Value(kAOTCDataType, 0, NULL)) == kBadValue);
  CHECK(DO(alloc_storage, P(&other), I(8)) == kBadValue);
  CHECK(DO(alloc_storage, P(&vm), I(-1)) == kBadValue && vm.statistics.allocations == 0);
  for (i = 1; i <= 4; ++i) {
    CHECK((i % 2 ? DO(alloc_storage, P(&vm), I(64)) : DO(alloc_storage, P(&vm), I(64), I(0))) == 0);
    storage = (AOTCVMStorage *)out.value.v_handle;
    CHECK(out.type_code == kAOTCStorage && storage->size == 64 && storage->data + 64 == (uint8_t *)storage);
    CHECK(storage->data[0] == 0 && storage->data[63] == 0);
    CHECK(vm.statistics.allocations == i && vm.statistics.bytes == i * 64);
  }
  CHECK(DO(alloc_storage, P(&vm), I(0)) == 0);
  for (i = 0; i < sizeof fits / sizeof fits[0]; ++i) {
    int64_t extents[3] = {2, 0, 0};
    memcpy(extents + 1, fits[i], 16);
    CHECK(DO(alloc_tensor, Value(kAOTCStorage, 0, &endless), I(0), S(extents), D(0, 8)) ==
            (fits[i][2] ? 0 : kBadValue));
  }
  CHECK(DO(alloc_tensor, Value(kAOTCStorage, 0, &endless), I(-64), S(shape), D(0, 8)) == kBadValue);
#define STORAGE Value(kAOTCStorage, 0, &small)
  CHECK(DO(alloc_tensor, STORAGE, I(0), S(shape), D(kDLFloat, 32)) == 0 && TENSOR->data == executable.bytes);
  CHECK(TENSOR->ndim == 2 && TENSOR->shape[0] == 2 && TENSOR->shape[1] == 3 && TENSOR->shape != shape + 1);
  CHECK(TENSOR->dtype.code == kDLFloat && TENSOR->dtype.bits == 32);
  CHECK(DO(alloc_tensor, STORAGE, I(4), S(shape), D(kDLFloat, 32)) == kBadValue);
  CHECK(DO(alloc_tensor, STORAGE, I(12), S(shape), D(kDLInt, 16)) == 0 && TENSOR->data == executable.bytes + 12);
  CHECK(DO(alloc_tensor, STORAGE, I(2), S(shape), D(kDLInt, 16)) == 0);
  CHECK(DO(alloc_tensor, STORAGE, I(1), S(shape), D(kDLInt, 16)) == kBadValue);
  CHECK(DO(alloc_tensor, STORAGE, I(-8), S(shape), D(kDLInt, 16)) == kBadValue);
  CHECK(DO(alloc_tensor, STORAGE, I(0), S(wide), D(kDLInt, 32)) == kBadValue);
  CHECK(DO(alloc_tensor, P(&small), I(0), S(shape), D(kDLInt, 16)) == kBadType);
  CHECK(DO(alloc_tensor, STORAGE, D(0, 0), S(shape), D(kDLInt, 16)) == kBadType);
  CHECK(DO(alloc_tensor, STORAGE, I(0), P(shape), D(kDLInt, 16)) == kBadType);
  CHECK(DO(alloc_tensor, STORAGE, I(0), S(shape), I(0x1000)) == kBadType);
}

static void Views(void) {
  int64_t shape[] = {2, 6}, strides[] = {6, 1}, large[] = {65536, 65536};
  uint8_t data[32];
  DLTensor x = Of(data, 2, shape, kDLInt, 16), wrong;
  AOTCVMValue room;

  x.byte_offset = 4;
  CHECK(DO(view, T(&x), I(8), D(kDLFloat, 32), I(4)) == 0 && TENSOR->data == data + 12 && TENSOR->shape[0] == 4);
  CHECK(TENSOR->ndim == 1 && TENSOR->byte_offset == 0 && TENSOR->dtype.bits == 32 && TENSOR->dtype.code == kDLFloat);
  CHECK(DO(view, T(&x), I(12), D(kDLFloat, 32), I(4)) == kBadValue);
  CHECK(DO(view, T(&x), I(0), D(0, 8), I(25)) == kBadValue);
  CHECK(DO(view, T(&x), I(2), D(kDLFloat, 32), I(4)) == kBadValue);
  CHECK(DO(view, T(&x), I(-4), D(0, 8), I(4)) == kBadValue);
  CHECK(DO(view, T(&x), I(0), D(0, 8), I(24)) == 0 && DO(view, T(&x), I(24), D(0, 8), I(0)) == 0);
  CHECK(DO(view, T(&x), I(0), D(0, 8), I(-1)) == kBadValue && DO(view, T(&x), I(0), D(0, 8)) == 0);
  CHECK(DO(view, P(&x), I(0), D(0, 8), I(4)) == kBadType && DO(view, T(&x), D(0, 0), D(0, 8), I(4)) == kBadType);
  CHECK(DO(view, T(&x), I(0), I(0x800), I(4)) == kBadType && DO(view, T(&x), I(0), D(0, 8), D(0, 0)) == kBadType);
  wrong = Of(data, 2, large, kDLInt, 16); /* 4 GiB and more */
  CHECK(DO(view, T(&wrong), I(0), D(0, 8), I(4)) == 0 && DO(view, T(&wrong), I(-4), D(0, 8), I(4)) == kBadValue);
  wrong = x;
  wrong.strides = strides;
  CHECK(DO(view, T(&wrong), I(0), D(0, 8), I(4)) == kBadValue);
  wrong = x;
  wrong.dtype.lanes = 2;
  CHECK(DO(view, T(&wrong), I(0), D(0, 8), I(4)) == kBadValue);
  CHECK(DO(alloc_view, D(0, 0)) == kBadType && DO(alloc_view, I(-1)) == kBadValue);
  CHECK(DO(alloc_view, I(33)) == kBadValue);
  CHECK(DO(alloc_view, I(32)) == 0 && DO(alloc_view, I(0)) == 0);
  CHECK(DO(view_in, out, T(&x), I(0), D(0, 8)) == 0);
  CHECK(DO(alloc_view, I(1)) == 0 && out.type_code == kAOTCView);
  room = out;
  CHECK(DO(view_in, room, T(&x), I(8), D(kDLFloat, 32), I(4)) == 0 && TENSOR->data == data + 12);
  CHECK(DO(view_in, room, T(&x), I(0), D(0, 8)) == kBadValue);
  CHECK(DO(view_in, room, T(&x), I(0), D(0, 8), I(1), I(1)) == kBadValue);
  CHECK(DO(view_in, P(room.value.v_handle), T(&x), I(0), D(0, 8), I(4)) == kBadType);
}

static void Integers(void) {
  int64_t ones[] = {1, 1}, two[] = {2, 1};
  uint8_t data[9];
  DLTensor x = Of(data, 2, ones, kDLInt, 16), y;
  static const int64_t quotients[][3] = {{7, 2, 3}, {-7, 2, -4}, {7, -2, -4}, {-7, -2, 3}, {6, -2, -3}, {0, -3, 0},
                                         {INT64_MIN, -1, INT64_MIN}, {5, -1, -5}};
  size_t i;

  memset(data, 0xff, sizeof data);
  CHECK(DO(move, T(&x)) == 0 && out.value.v_handle == &x && out.type_code == kAOTCDLTensorHandle);
  CHECK(DO(write, T(&x), I(0x1234)) == 0 && data[0] == 0x34 && data[1] == 0x12 && data[2] == 0xff);
  CHECK(DO(read, T(&x)) == 0 && out.value.v_int64 == 0x1234 && out.type_code == kAOTCInt);
  CHECK(DO(write, P(&x), I(1)) == kBadType && DO(write, T(&x), D(0, 0)) == kBadType && DO(read, P(&x)) == kBadType);
  x.byte_offset = 2;
  CHECK(DO(read, T(&x)) == 0 && out.value.v_int64 == -1);
  y = x;
  y.dtype.code = kDLUInt;
  CHECK(DO(read, T(&y)) == 0 && out.value.v_int64 == 0xffff);
  y.dtype.code = kDLBool;
  y.dtype.bits = 8;
  CHECK(DO(write, T(&y), I(256)) == 0 && data[2] == 1 && data[3] == 0xff);
  CHECK(DO(read, T(&y)) == 0 && out.value.v_int64 == 1);
  y = Of(data, 2, ones, kDLInt, 64);
  CHECK(DO(write, T(&y), I(-2)) == 0 && DO(read, T(&y)) == 0 && out.value.v_int64 == -2 && data[8] == 0xff);
  for (i = 0; i < 5; ++i) {
    y = x;
    if (i == 0) y.shape = two;
    if (i == 1) y.dtype.bits = 4;
    if (i == 2) y.dtype.bits = 72;
    if (i == 3) y.dtype.lanes = 2;
    if (i == 4) y.dtype.code = kDLFloat;
    CHECK(DO(read, T(&y)) == kBadType && DO(write, T(&y), I(1)) == kBadType);
  }
  y = Of(executable.bytes + sizeof(Header) - 1, 2, ones, kDLInt, 8); /* the executable's last byte, and the next */
  CHECK(DO(write, T(&y), I(1)) == kBadType && DO(read, T(&y)) == 0);
  y.byte_offset = 0;
  y.data = executable.bytes + sizeof(Header);
  CHECK(DO(write, T(&y), I(3)) == 0 && executable.bytes[sizeof(Header)] == 3);
  for (i = 0; i < sizeof quotients / sizeof quotients[0]; ++i) {
    CHECK(DO(div, I(quotients[i][0]), I(quotients[i][1])) == 0 && out.value.v_int64 == quotients[i][2]);
  }
  CHECK(DO(div, I(1), I(0)) == kBadValue && DO(div, D(0, 0), I(1)) == kBadType && DO(div, I(1), D(0, 8)) == kBadType);
}

/* With so little memory that the first, or the second, allocation of a function fails. */
static void OutOfMemory(void) {
  int64_t data = 1, one = 1, shape[] = {1, 1};
  DLTensor heap = Of(&data, 1, &one, kDLInt, 64);
  AOTCVMStorage storage = {executable.bytes, 8};
  size_t steps;

  for (steps = 0; steps < 3; ++steps) {
    uint8_t *high = vm.low + -(uintptr_t)vm.low % ALIGNMENT + steps * ALIGNMENT;
    int32_t first = steps < 1 ? kAOTCErrorOutOfMemory : 0, second = steps < 2 ? kAOTCErrorOutOfMemory : 0;
#define WITH(expected, call) CHECK((vm.high = high, (call)) == (expected))
    WITH(first, DO(shape_of, T(&heap)));
    WITH(first, DO(load_shape, T(&heap), I(0)));
    WITH(first, DO(make_shape, I(1)));
    WITH(first, DO(alloc_view, I(0)));
    WITH(second, DO(alloc_shape_heap, I(1)));
    WITH(second, DO(alloc_storage, P(&vm), I(8)));
    WITH(second, DO(alloc_tensor, Value(kAOTCStorage, 0, &storage), I(0), S(shape), D(kDLInt, 64)));
    WITH(first, DO(view, T(&heap), I(0), D(kDLInt, 64), I(1)));
  }
}

int main(void) {
  uint8_t *memory = (uint8_t *)malloc(kMemory);
  memset(memory, 0xff, kMemory);
  memcpy(executable.header.magic, "AOTCVM", 6);
  executable.header.version = VERSION;
  executable.header.size = sizeof(Header);
  CHECK(AOTCVM_Start(&vm, &executable, NULL, memory, kMemory) == 0);
  Heaps();
  Tensors();
  Memory();
  Views();
  Integers();
  OutOfMemory();
  free(memory);
  return 0;
}
