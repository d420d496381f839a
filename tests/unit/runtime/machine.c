/* machine FILE: what the machine's interface refuses, and what it gives exactly: names, memory, handles. The file is
 * that of `interface` in test_vm_in_c.py. */
#include <stdlib.h>
#include <string.h>

#include "aotc_vm_format.h"
#include "check.h"

enum { kMemory = 65536, kMost = 32 };

static uint8_t *blob;
static size_t size;
static AOTCPackedFunction functions[kMost];
static const void *address;
static AOTCVM vm;

static int32_t IsMachine(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  (void)args, (void)codes, (void)n;
  ((AOTCValue *)value)->v_int64 = handle == &vm;
  *(int32_t *)code = kAOTCInt;
  return 0;
}
/* The address of the tensor that it gets, as an integer. */
static int32_t Address(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  (void)codes, (void)n, (void)handle;
  address = ((const AOTCValue *)args)[0].v_handle;
  *(AOTCValue *)value = ((const AOTCValue *)args)[0];
  *(int32_t *)code = kAOTCInt;
  return 0;
}
static int32_t IsAddress(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  (void)codes, (void)n, (void)handle;
  ((AOTCValue *)value)->v_int64 = ((const AOTCValue *)args)[0].v_handle == address;
  *(int32_t *)code = kAOTCInt;
  return 0;
}
static const AOTCFunctionEntry table[] = {{"xm.f", IsMachine},    {"vx.f", IsMachine},       {"vmxf", IsMachine},
                                          {"vm.f", IsMachine},    {"vm.builtin.and", IsMachine},
                                          {"address", Address},   {"is_address", IsAddress}, {NULL, NULL}};

static uint32_t Find(const char *name) {
  uint32_t found = UINT32_MAX;
  CHECK(AOTCVM_Find(&vm, name, &found) == 0);
  return found;
}

/* Call a function with memory that ends `size` bytes behind `begin`; arguments are of their own size, too. */
static int32_t In(uint8_t *begin, size_t bytes, const char *name, AOTCVMValue argument, uint32_t n, AOTCVMValue *out) {
  AOTCValue *values = (AOTCValue *)malloc(sizeof(AOTCValue) * n + 1);
  int32_t *codes = (int32_t *)malloc(sizeof(int32_t) * n + 1), status;
  if (n > 0) {
    values[0] = argument.value;
    codes[0] = argument.type_code;
  }
  status = AOTCVM_Start(&vm, blob, functions, begin, bytes);
  if (status == 0) status = AOTCVM_Call(&vm, Find(name), values, codes, n, out);
  free(values);
  free(codes);
  return status;
}

/* The fewest bytes in which a call does not run out of memory, `offset` bytes from an aligned address. */
static size_t Least(const char *name, size_t offset, uint32_t n) {
  AOTCVMValue five, out;
  size_t bytes;
  five.value.v_int64 = 5;
  five.type_code = kAOTCInt;
  for (bytes = 0;; ++bytes) {
    void *all; /* which ends where the machine's memory does */
    int32_t status;
    CHECK(posix_memalign(&all, ALIGNMENT, offset + bytes + (bytes == 0)) == 0);
    status = In((uint8_t *)all + offset, bytes, name, five, n, &out);
    free(all);
    if (status == 0) return bytes;
    CHECK(status == kAOTCErrorOutOfMemory);
  }
}

static size_t Up(size_t bytes, size_t step) { return (bytes + step - 1) / step * step; }

static void Sizes(void) {
  const Header *header = (const Header *)(const void *)blob;
  size_t frame = Up(sizeof(uint8_t *) + 4, 8), value = sizeof(AOTCVMValue), offset, start;
  size_t packed = 2 * (sizeof(AOTCValue) + sizeof(DLTensor)) + 8;

  for (offset = 0; offset < ALIGNMENT; offset += 24) {
    size_t skipped = (ALIGNMENT - offset) % ALIGNMENT;
    uint8_t *memory = (uint8_t *)malloc(kMemory), *begin = memory;
    while ((uintptr_t)begin % ALIGNMENT != offset) ++begin;
    for (start = 0; AOTCVM_Start(&vm, blob, functions, begin, start) == kAOTCErrorOutOfMemory; ++start) continue;
    CHECK(start == skipped + Up(2 * (size_t)header->names, 8) + ALIGNMENT + header->workspace);
    start = (size_t)(vm.first - begin);
    CHECK(AOTCVM_Start(&vm, blob, functions, begin, kMemory / 2) == 0 && vm.last == begin + kMemory / 2);
    free(memory);
    CHECK(Least("call", offset, 1) == start + frame + 2 * value + frame + value);
    CHECK(Least("main", offset, 1) == start + frame + 2 * value + packed);
    CHECK(Least("keep", offset, 0) >= start + frame + value + frame + 2 * value + Up(sizeof(DLTensor), ALIGNMENT));
  }
}

/* All that is left, wherever it ends. */
static void *Given(void *context, size_t bytes) {
  CHECK(bytes > 0);
  return context;
}
static void Allocations(void) {
  uint8_t *memory = (uint8_t *)malloc(kMemory), *begin = memory;
  size_t end, room;
  while ((uintptr_t)begin % ALIGNMENT != 0) ++begin;
  for (end = 1024; end <= 1024 + ALIGNMENT; end += 8) {
    CHECK(AOTCVM_Start(&vm, blob, functions, begin, end) == 0);
    room = (size_t)((begin + end / ALIGNMENT * ALIGNMENT) - vm.low) / ALIGNMENT * ALIGNMENT;
    CHECK(AOTCVM_Allocate(&vm, room + 1) == NULL && AOTCVM_Allocate(&vm, UINT64_MAX) == NULL);
    CHECK(AOTCVM_Allocate(&vm, UINT64_MAX - ALIGNMENT + 2) == NULL && AOTCVM_Allocate(&vm, room) == (void *)vm.high);
    CHECK(vm.high >= vm.low && vm.high < vm.low + ALIGNMENT && (uintptr_t)vm.high % ALIGNMENT == 0);
    CHECK(AOTCVM_Allocate(&vm, 1) == NULL);
    vm.low = vm.high; /* nothing but what is a multiple is left: all of it can be had */
    vm.high += 2 * ALIGNMENT;
    CHECK(AOTCVM_Allocate(&vm, 2 * ALIGNMENT + 1) == NULL && AOTCVM_Allocate(&vm, 2 * ALIGNMENT) == vm.low);
    vm.high = vm.low + 4; /* less than to the multiple before it */
    CHECK(AOTCVM_Allocate(&vm, 1) == NULL);
    vm.allocate = Given;
    vm.context = &size;
    CHECK(AOTCVM_Allocate(&vm, 8) == &size && AOTCVM_Allocate(&vm, UINT64_MAX) == &size);
  }
  free(memory);
}

static void Values(void) {
  static DLTensor below = {NULL, {kDLCPU, 0}, 0, {kDLInt, 8, 1}, NULL, NULL, 0};
  DLTensor above = below;
  uint8_t *memory = (uint8_t *)malloc(kMemory);
  AOTCVMValue out, given;
  int i;

  given.type_code = kAOTCDLTensorHandle;
  for (i = 0; i < 2; ++i) { /* what is not the machine's is not copied, however often it is moved */
    given.value.v_handle = i == 0 ? &below : &above;
    CHECK(In(memory, kMemory, "moves", given, 1, &out) == 0 && out.value.v_handle == given.value.v_handle);
  }
  CHECK(In(memory, kMemory, "handles", given, 0, &out) == 0 && out.value.v_int64 == 1);
  CHECK(In(memory, kMemory, "same", given, 0, &out) == 0 && out.value.v_int64 == 1);
  free(memory);
}

static void Refusals(void) {
  uint8_t *memory = (uint8_t *)malloc(kMemory);
  const uint32_t names = AOTCVM_NumNames(blob, size);
  AOTCVMValue out;
  AOTCValue value;
  int32_t code = kAOTCInt;
  uint32_t function = 0, unknown = 0, i;
  AOTCFunctionEntry less[8];
  Header *header = (Header *)(void *)blob;
  static Header none; /* of no tables at all, which asks for no functions */

  value.v_int64 = 5;
  CHECK(AOTCVM_Start(NULL, blob, functions, memory, kMemory) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Start(&vm, NULL, functions, memory, kMemory) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Start(&vm, blob, functions, NULL, kMemory) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Start(&vm, blob, NULL, memory, kMemory) == kAOTCErrorInvalidArgument);
  memcpy(none.magic, "AOTCVM", 6);
  none.version = VERSION;
  CHECK(AOTCVM_Start(&vm, &none, NULL, memory, kMemory) == 0);
  CHECK(AOTCVM_Open(&vm, blob, size, functions, NULL, kMemory) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Open(&vm, blob, size, functions, memory, kMemory) == 0);

  CHECK(AOTCVM_Find(NULL, "main", &function) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Find(&vm, NULL, &function) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Find(&vm, "main", NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Find(&vm, "vm.builtin.move", &function) == kAOTCErrorUnknownFunction); /* the first name called */
  CHECK(AOTCVM_Call(NULL, Find("main"), &value, &code, 1, &out) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Call(&vm, Find("main"), &value, &code, 1, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Call(&vm, Find("main"), NULL, &code, 1, &out) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Call(&vm, Find("main"), &value, NULL, 1, &out) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Call(&vm, header->functions, &value, &code, 1, &out) == kAOTCErrorUnknownFunction);
  CHECK(AOTCVM_Call(&vm, Find("handles"), &value, &code, 1, &out) == kAOTCVMErrorWrongArguments);
  CHECK(vm.function == Find("handles") && AOTCVM_Call(&vm, Find("handles"), NULL, NULL, 0, &out) == 0);

  CHECK(AOTCVM_Link(blob, size, table, NULL, names, &unknown) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Link(blob, size, table, functions, names, NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Link(blob, size, table, functions, names - 1, &unknown) == kAOTCErrorInvalidArgument);
  CHECK(AOTCVM_Link(blob, size - 1, table, functions, names, &unknown) == kAOTCVMErrorBadExecutable);
  CHECK(AOTCVM_Link(blob, size, NULL, functions, names, &unknown) == kAOTCErrorUnknownFunction);
  CHECK(functions[unknown] == NULL);
  memcpy(less, table, sizeof less);
  less[6].name = "another";
  CHECK(AOTCVM_Link(blob, size, less, functions, names, &unknown) == kAOTCErrorUnknownFunction);
  CHECK(AOTCFuncRegisterGlobal("is_address", IsAddress) == 0 && AOTCFuncRegisterGlobal("xm.f", Address) == 0);
  CHECK(AOTCVM_Link(blob, size, less, functions, names, &unknown) == 0 && functions[unknown] == IsAddress);
  for (i = 0; i < names; ++i) CHECK(functions[i] != Address || AOTCVM_NumNames(blob, size) == names);
  free(memory);
}

/* Bytes that the header does not say, or that do not lie right. */
static void Headers(void) {
  uint8_t *copy = (uint8_t *)malloc(size + 8);
  memcpy(copy + 4, blob, size);
  CHECK(AOTCVM_NumNames(NULL, size) == 0 && AOTCVM_NumNames(copy + 4, size) == 0);
  memmove(copy, copy + 4, size);
  CHECK(AOTCVM_NumNames(copy, size) > 0 && AOTCVM_NumNames(copy, size - 1) == 0);
  CHECK(AOTCVM_NumNames(copy, size + 1) == 0);
  CHECK(AOTCVM_NumNames(copy, 0) == 0);
  free(copy);
}

int main(int argc, char **argv) {
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  uint32_t unknown;
  CHECK(file != NULL);
  fseek(file, 0, SEEK_END);
  size = (size_t)ftell(file);
  rewind(file);
  blob = (uint8_t *)malloc(size);
  CHECK(fread(blob, 1, size, file) == size && AOTCVM_NumNames(blob, size) <= kMost);
  fclose(file);
  CHECK(AOTCVM_Link(blob, size, table, functions, kMost, &unknown) == 0);
  Sizes();
  Allocations();
  Values();
  Headers();
  Refusals();
  free(blob);
  return 0;
}
