/* Executables of bytecode: the check, and the machine that runs them. The format is that of aotc/vm/file_format.py and
 * aotc/vm/instructions.py. */

#include "aotc_vm.h"

enum { kCall = 1, kRet = 2, kGoto = 3, kIf = 4 };
enum { kRegister = 0, kConstant = 1, kImmediate = 2, kState = 3, kLong = 4 };
enum { kTensor = 0, kDType = 1, kPlace = 2 };

#define VERSION 1
#define VOID 0xFFFFu
#define PACKED 0xFFFFu
#define PAYLOAD 0x1FFFu
#define ALIGNMENT 64u

typedef struct {
  uint8_t magic[6];
  uint16_t version;
  uint32_t size, functions, names, constants, instructions, extents, words, text, data, workspace;
} Header;

typedef struct {
  uint32_t name, start;
  uint16_t inputs, registers;
} Function;

typedef struct {
  uint8_t kind, code, bits, ndim;
  uint32_t extent, start, bytes;
} Constant;

/* Where everything is. */
typedef struct {
  const Header *header;
  const Function *functions;
  const uint32_t *names;
  const Constant *constants;
  const uint32_t *offsets;
  const int64_t *extents;
  const uint16_t *words;
  const char *text;
  const uint8_t *data;
} Tables;

static size_t Up(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

static uint32_t EndWord(const Tables *t, uint32_t instruction) {
  return instruction + 1 < t->header->instructions ? t->offsets[instruction + 1] : t->header->words;
}

static uint32_t EndOf(const Tables *t, uint32_t function) {
  return function + 1 < t->header->functions ? t->functions[function + 1].start : t->header->instructions;
}

static int32_t Distance(const uint16_t *words) {
  return (int32_t)((uint32_t)words[0] | (uint32_t)words[1] << 16);
}

static int SameText(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

/* --- the check --- */

static const void *Take(const uint8_t **at, uint32_t count, size_t size) {
  const uint8_t *table = *at;
  *at += Up(count * size, 8);
  return table;
}

/* Where the tables of an executable are, whose header is right. */
static void Locate(Tables *t, const void *executable) {
  const Header *h = (const Header *)executable;
  const uint8_t *at = (const uint8_t *)executable + sizeof(Header);

  t->header = h;
  t->functions = (const Function *)Take(&at, h->functions, sizeof(Function));
  t->names = (const uint32_t *)Take(&at, h->names, sizeof(uint32_t));
  t->constants = (const Constant *)Take(&at, h->constants, sizeof(Constant));
  t->offsets = (const uint32_t *)Take(&at, h->instructions, sizeof(uint32_t));
  t->extents = (const int64_t *)Take(&at, h->extents, sizeof(int64_t));
  t->words = (const uint16_t *)Take(&at, h->words, sizeof(uint16_t));
  t->text = (const char *)Take(&at, h->text, 1);
  t->data = (const uint8_t *)executable + Up((size_t)(at - (const uint8_t *)executable), ALIGNMENT);
}

/* Whether the bytes begin as an executable does, and the tables that the header counts fill them. */
static int CheckHeader(const void *executable, size_t size) {
  static const uint8_t widths[] = {sizeof(Function), 4, sizeof(Constant), 4, 8, 2, 1};
  static const char magic[6] = {'A', 'O', 'T', 'C', 'V', 'M'};
  const uint8_t *bytes = (const uint8_t *)executable;
  const Header *h = (const Header *)executable;
  const uint32_t *counts = (const uint32_t *)(const void *)(bytes + offsetof(Header, functions));
  uint64_t end = sizeof(Header);
  uint32_t i;

  if (bytes == NULL || (uintptr_t)bytes % 8 != 0 || size < sizeof(Header)) return 0;
  for (i = 0; i < sizeof magic; ++i) {
    if (bytes[i] != (uint8_t)magic[i]) return 0;
  }
  for (i = 0; i < sizeof widths; ++i) end += ((uint64_t)counts[i] * widths[i] + 7) & ~UINT64_C(7);
  end = ((end + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1)) + h->data;
  return h->version == VERSION && h->size == size && end == size;
}

static int CheckConstant(const Tables *t, const Constant *c) {
  uint32_t width = (c->bits + 7u) / 8;
  uint64_t bytes = width, most = c->kind == kTensor ? t->header->data : t->header->workspace;
  uint32_t i;

  if (width == 0 || c->kind > kPlace) return 0;
  if (c->kind == kDType) return 1;
  if ((uint64_t)c->extent + c->ndim > t->header->extents || c->ndim > 32) return 0;
  if (c->start % (c->kind == kTensor ? ALIGNMENT : width) != 0 || (uint64_t)c->start + c->bytes > most) return 0;
  for (i = 0; i < c->ndim; ++i) {
    int64_t extent = t->extents[c->extent + i];
    if (extent < 0 || extent > UINT32_MAX) return 0;
    bytes *= (uint64_t)extent; /* of less than 2^32 each */
    if (bytes > UINT32_MAX) return 0;
  }
  return bytes == c->bytes;
}

static int CheckOperands(const Tables *t, const Function *f, const uint16_t *word, const uint16_t *end, uint32_t n) {
  for (; n > 0; --n) {
    uint32_t kind, payload;
    if (word == end) return 0;
    kind = (uint32_t)*word >> 13;
    payload = *word++ & PAYLOAD;
    if (kind == kRegister && payload >= f->registers) return 0;
    if (kind == kConstant && payload >= t->header->constants) return 0;
    if ((kind == kState || kind == kLong) && payload != 0) return 0;
    if (kind > kLong || (kind == kLong && end - word < 4)) return 0;
    if (kind == kLong) word += 4;
  }
  return word == end;
}

/* Whether a function of the executable has the name of number `name`: its number, else PACKED. */
static uint32_t OwnFunction(const Tables *t, uint32_t name) {
  uint32_t i;
  for (i = 0; i < t->header->functions; ++i) {
    if (SameText(t->text + t->functions[i].name, t->text + t->names[name])) return i;
  }
  return PACKED;
}

static int CheckInstruction(const Tables *t, uint32_t function, uint32_t here, const uint16_t *callees) {
  const Function *f = &t->functions[function];
  const uint16_t *word = t->words + t->offsets[here], *end = t->words + EndWord(t, here);
  uint32_t code = *word & 0xFFu, operands = (uint32_t)*word >> 8, last = EndOf(t, function), n = (uint32_t)(end - word);
  int64_t target = here;

  if (code == kCall) {
    if (n < 3 || word[1] >= t->header->names || (word[2] != VOID && word[2] >= f->registers)) return 0;
    if (callees[word[1]] != PACKED && t->functions[callees[word[1]]].inputs != operands) return 0;
    return here + 1 < last && CheckOperands(t, f, word + 3, end, operands);
  }
  if (operands != 0 || (code != kGoto && n >= 2 && word[1] >= f->registers)) return 0;
  if (code == kRet) return n == 2;
  if (code == kGoto && n == 3) {
    target += Distance(word + 1);
  } else if (code == kIf && n == 4 && here + 1 < last) {
    target += Distance(word + 2);
  } else {
    return 0;
  }
  return target >= f->start && target < last;
}

static int CheckNames(const Tables *t) {
  const Header *h = t->header;
  uint32_t i;

  if (h->text > 0 && t->text[h->text - 1] != '\0') return 0;
  for (i = 0; i < h->functions; ++i) {
    if (t->functions[i].name >= h->text) return 0;
  }
  for (i = 0; i < h->names; ++i) {
    if (t->names[i] >= h->text) return 0;
  }
  return h->names < PACKED && h->functions < PACKED;
}

static int CheckAll(const Tables *t, const uint16_t *callees) {
  const Header *h = t->header;
  uint32_t i, here = 0;

  for (i = 0; i < h->constants; ++i) {
    if (!CheckConstant(t, &t->constants[i])) return 0;
  }
  for (i = 0; i < h->instructions; ++i) { /* they rise, and none is empty */
    if (i == 0 ? t->offsets[0] != 0 : t->offsets[i] <= t->offsets[i - 1]) return 0;
    if (t->offsets[i] >= h->words) return 0;
  }
  if ((h->functions == 0) != (h->instructions == 0)) return 0;
  for (i = 0; i < h->functions; ++i) {
    const Function *f = &t->functions[i];
    if (f->start != here || EndOf(t, i) <= here || EndOf(t, i) > h->instructions) return 0;
    if (f->inputs > f->registers || f->registers > PAYLOAD + 1) return 0;
    here = EndOf(t, i);
  }
  for (i = 0; i < h->functions; ++i) {
    for (here = t->functions[i].start; here < EndOf(t, i); ++here) {
      if (!CheckInstruction(t, i, here, callees)) return 0;
    }
  }
  return 1;
}

uint32_t AOTCVM_NumNames(const void *executable, size_t size) {
  Tables t;
  if (!CheckHeader(executable, size)) return 0;
  Locate(&t, executable);
  return CheckNames(&t) ? t.header->names : 0;
}

aotc_error_t AOTCVM_Link(const void *executable, size_t size, const AOTCFunctionEntry *table,
                         AOTCPackedFunction *functions, uint32_t count, uint32_t *unknown) {
  Tables t;
  uint32_t i;

  if (functions == NULL || unknown == NULL) return kAOTCErrorInvalidArgument;
  if (!CheckHeader(executable, size)) return kAOTCVMErrorBadExecutable;
  Locate(&t, executable);
  if (!CheckNames(&t)) return kAOTCVMErrorBadExecutable;
  if (count < t.header->names) return kAOTCErrorInvalidArgument;
  for (i = 0; i < t.header->names; ++i) {
    const char *name = t.text + t.names[i];
    const AOTCFunctionEntry *entry = table;

    functions[i] = NULL;
    if (OwnFunction(&t, i) != PACKED) continue;
    while (entry != NULL && entry->name != NULL && !SameText(entry->name, name)) ++entry;
    if (entry == NULL || entry->name == NULL) {
      for (entry = AOTCVM_Builtins; entry->name != NULL && !SameText(entry->name, name);) ++entry;
    }
    functions[i] = entry->function;
    if (entry->name == NULL && AOTCFuncGetGlobal(name, &functions[i]) != kAOTCErrorNone) {
      *unknown = i;
      return kAOTCErrorUnknownFunction;
    }
  }
  return kAOTCErrorNone;
}

aotc_error_t AOTCVM_Start(AOTCVM *vm, const void *executable, const AOTCPackedFunction *functions, void *memory,
                          size_t memory_size) {
  Tables t;
  size_t skipped = (size_t)(-(uintptr_t)memory % ALIGNMENT), used;
  uint32_t i;

  if (vm == NULL || executable == NULL || memory == NULL) return kAOTCErrorInvalidArgument;
  Locate(&t, executable);
  if (functions == NULL && t.header->names > 0) return kAOTCErrorInvalidArgument;
  used = skipped + Up((size_t)t.header->names * 2, 8) + ALIGNMENT;
  if (used > memory_size || t.header->workspace > memory_size - used) return kAOTCErrorOutOfMemory;
  used += Up(t.header->workspace, ALIGNMENT) - ALIGNMENT;
  vm->resource_handle = NULL;
  vm->allocate = NULL;
  vm->context = NULL;
  vm->most_jumps = 0;
  vm->function = vm->instruction = 0;
  vm->statistics.allocations = 0;
  vm->statistics.bytes = 0;
  vm->executable = (const uint8_t *)executable;
  vm->functions = functions;
  vm->workspace = (uint8_t *)memory + skipped;
  vm->callees = (uint16_t *)(void *)(vm->workspace + Up(t.header->workspace, ALIGNMENT));
  vm->first = vm->low = (uint8_t *)memory + used;
  vm->last = vm->high = (uint8_t *)memory + memory_size;
  for (i = 0; i < t.header->names; ++i) {
    vm->callees[i] = (uint16_t)OwnFunction(&t, i);
    if (vm->callees[i] == PACKED && functions[i] == NULL) return kAOTCErrorUnknownFunction;
  }
  return kAOTCErrorNone;
}

aotc_error_t AOTCVM_Open(AOTCVM *vm, const void *executable, size_t size, const AOTCPackedFunction *functions,
                         void *memory, size_t memory_size) {
  Tables t;
  aotc_error_t status;

  if (!CheckHeader(executable, size)) return kAOTCVMErrorBadExecutable;
  Locate(&t, executable);
  if (!CheckNames(&t)) return kAOTCVMErrorBadExecutable;
  status = AOTCVM_Start(vm, executable, functions, memory, memory_size);
  if (status != kAOTCErrorNone) return status;
  return CheckAll(&t, vm->callees) ? kAOTCErrorNone : kAOTCVMErrorBadExecutable;
}

/* --- running --- */

typedef struct {
  uint8_t *low;
  AOTCVMValue *registers;
  uint32_t function, instruction;
} Frame;

static void Describe(const AOTCVM *vm, const Tables *t, const Constant *c, DLTensor *out) {
  out->data = c->kind == kPlace ? vm->workspace + c->start : (void *)(uintptr_t)(t->data + c->start);
  out->device.device_type = kDLCPU;
  out->device.device_id = 0;
  out->ndim = c->ndim;
  out->dtype.code = c->code;
  out->dtype.bits = c->bits;
  out->dtype.lanes = 1;
  out->shape = (int64_t *)(uintptr_t)(t->extents + c->extent);
  out->strides = NULL;
  out->byte_offset = 0;
}

/* Puts the operand at `word` into a value, a tensor that it mentions into `tensor`; returns the word behind it. */
static const uint16_t *Read(AOTCVM *vm, const Tables *t, const AOTCVMValue *registers, const uint16_t *word,
                            AOTCValue *value, int32_t *type_code, DLTensor *tensor) {
  uint32_t payload = *word & PAYLOAD;

  switch (*word >> 13) {
    case kRegister:
      *value = registers[payload].value;
      *type_code = registers[payload].type_code;
      return word + 1;
    case kImmediate:
      value->v_int64 = (int64_t)payload - ((payload & 0x1000u) != 0 ? 0x2000 : 0);
      *type_code = kAOTCInt;
      return word + 1;
    case kLong:
      value->v_int64 = (int64_t)((uint64_t)word[1] | (uint64_t)word[2] << 16 | (uint64_t)word[3] << 32 |
                                 (uint64_t)word[4] << 48);
      *type_code = kAOTCInt;
      return word + 5;
    case kState:
      value->v_int64 = 0;
      value->v_handle = vm;
      *type_code = kAOTCOpaqueHandle;
      return word + 1;
    default:
      value->v_int64 = 0;
      if (t->constants[payload].kind == kDType) {
        value->v_int64 = t->constants[payload].code | t->constants[payload].bits << 8 | 1 << 16;
        *type_code = kAOTCDataType;
      } else {
        Describe(vm, t, &t->constants[payload], tensor);
        value->v_handle = tensor;
        *type_code = kAOTCDLTensorHandle;
      }
      return word + 1;
  }
}

void *AOTCVM_Allocate(AOTCVM *vm, uint64_t size) {
  size_t free = (size_t)(vm->high - vm->low), slack = (uintptr_t)vm->high % ALIGNMENT;

  if (size <= free && slack + Up((size_t)size, ALIGNMENT) <= free) {
    vm->high -= slack + Up((size_t)size, ALIGNMENT);
    return vm->high;
  }
  return vm->allocate != NULL && size <= SIZE_MAX ? vm->allocate(vm->context, (size_t)size) : NULL;
}

aotc_error_t AOTCVM_ReadInteger(const DLTensor *tensor, int64_t *out) {
  const uint8_t *data = (const uint8_t *)tensor->data + tensor->byte_offset;
  uint32_t bytes = tensor->dtype.bits / 8u, i;
  uint64_t value = 0;
  int32_t axis;

  for (axis = 0; axis < tensor->ndim; ++axis) {
    if (tensor->shape[axis] != 1) return kAOTCVMErrorWrongType;
  }
  if (bytes < 1 || bytes > 8 || tensor->dtype.lanes != 1) return kAOTCVMErrorWrongType;
  if (tensor->dtype.code != kDLInt && tensor->dtype.code != kDLUInt && tensor->dtype.code != kDLBool) {
    return kAOTCVMErrorWrongType;
  }
  for (i = 0; i < bytes; ++i) value |= (uint64_t)data[i] << 8 * i;
  if (tensor->dtype.code == kDLInt && (data[bytes - 1] & 0x80u) != 0 && bytes < 8) value |= ~UINT64_C(0) << 8 * bytes;
  *out = (int64_t)value;
  return kAOTCErrorNone;
}

/* A tensor that lies in the scratch memory of one call, kept beyond it. */
static aotc_error_t Keep(AOTCVM *vm, AOTCVMValue *value, const uint8_t *begin, const uint8_t *end) {
  const uint8_t *at = (const uint8_t *)value->value.v_handle;
  DLTensor *kept;

  if (value->type_code != kAOTCDLTensorHandle || at < begin || at >= end) return kAOTCErrorNone;
  kept = (DLTensor *)AOTCVM_Allocate(vm, sizeof(DLTensor));
  if (kept == NULL) return kAOTCErrorOutOfMemory;
  *kept = *(const DLTensor *)(const void *)at;
  value->value.v_handle = kept;
  return kAOTCErrorNone;
}

static aotc_error_t CallPacked(AOTCVM *vm, const Tables *t, AOTCVMValue *registers, const uint16_t *word) {
  uint32_t n = (uint32_t)*word >> 8, i;
  AOTCValue *values = (AOTCValue *)(void *)vm->low;
  DLTensor *tensors = (DLTensor *)(void *)(values + n);
  int32_t *codes = (int32_t *)(void *)(tensors + n);
  size_t size = n * (sizeof(AOTCValue) + sizeof(DLTensor)) + Up(n * sizeof(int32_t), 8);
  const uint16_t *operand = word + 3;
  const char *name = t->text + t->names[word[1]];
  AOTCVMValue result;
  aotc_error_t status;

  if (size > (size_t)(vm->high - vm->low)) return kAOTCErrorOutOfMemory;
  for (i = 0; i < n; ++i) operand = Read(vm, t, registers, operand, &values[i], &codes[i], &tensors[i]);
  result.value.v_int64 = 0;
  result.type_code = kAOTCNull;
  vm->low += size;
  status = vm->functions[word[1]](values, codes, (int32_t)n, &result.value, &result.type_code,
                                  name[0] == 'v' && name[1] == 'm' && name[2] == '.' ? vm : vm->resource_handle);
  if (status == kAOTCErrorNone && word[2] != VOID) {
    status = Keep(vm, &result, (uint8_t *)values, (uint8_t *)codes);
    registers[word[2]] = result;
  }
  vm->low -= size;
  return status;
}

/* Makes room for a call of `function`; its registers hold nothing. */
static AOTCVMValue *Enter(AOTCVM *vm, const Function *function, const Frame *caller) {
  Frame *frame = (Frame *)(void *)vm->low;
  AOTCVMValue *registers = (AOTCVMValue *)(void *)(vm->low + Up(sizeof(Frame), 8));
  size_t size = Up(sizeof(Frame), 8) + function->registers * sizeof(AOTCVMValue);
  uint32_t i;

  if (size > (size_t)(vm->high - vm->low)) return NULL;
  *frame = *caller;
  for (i = 0; i < function->registers; ++i) {
    registers[i].value.v_int64 = 0;
    registers[i].type_code = kAOTCNull;
  }
  vm->low += size;
  return registers;
}

static aotc_error_t CallOwn(AOTCVM *vm, const Tables *t, AOTCVMValue **registers, const uint16_t *word,
                            uint32_t *function, uint32_t here) {
  uint32_t n = (uint32_t)*word >> 8, callee = vm->callees[word[1]], i;
  const uint16_t *operand = word + 3;
  AOTCVMValue *inputs;
  Frame caller;

  caller.low = vm->low;
  caller.registers = *registers;
  caller.function = *function;
  caller.instruction = here;
  inputs = Enter(vm, &t->functions[callee], &caller);
  if (inputs == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < n; ++i) {
    DLTensor tensor;
    aotc_error_t status;
    operand = Read(vm, t, *registers, operand, &inputs[i].value, &inputs[i].type_code, &tensor);
    status = Keep(vm, &inputs[i], (const uint8_t *)&tensor, (const uint8_t *)(&tensor + 1));
    if (status != kAOTCErrorNone) return status;
  }
  *registers = inputs;
  *function = callee;
  return kAOTCErrorNone;
}

static aotc_error_t Holds(const AOTCVMValue *value, int64_t *out) {
  if (value->type_code == kAOTCDLTensorHandle) return AOTCVM_ReadInteger((const DLTensor *)value->value.v_handle, out);
  *out = value->value.v_int64;
  return value->type_code == kAOTCInt ? kAOTCErrorNone : kAOTCVMErrorWrongType;
}

static aotc_error_t Run(AOTCVM *vm, const Tables *t, AOTCVMValue *registers, uint32_t function, AOTCVMValue *result) {
  const uint8_t *bottom = vm->low;
  uint32_t here = t->functions[function].start, jumps = vm->most_jumps;

  for (;;) {
    const uint16_t *word = t->words + t->offsets[here];
    uint32_t code = *word & 0xFFu, at = here, in = function;
    aotc_error_t status = kAOTCErrorNone;

    if (code == kCall && vm->callees[word[1]] == PACKED) {
      status = CallPacked(vm, t, registers, word);
      ++here;
    } else if (code == kRet) {
      AOTCVMValue returned = registers[word[1]];
      const Frame *frame;
      if (vm->low == bottom) {
        *result = returned;
        return kAOTCErrorNone;
      }
      frame = (const Frame *)(const void *)((const uint8_t *)registers - Up(sizeof(Frame), 8));
      vm->low = frame->low;
      registers = frame->registers;
      function = frame->function;
      here = frame->instruction;
      word = t->words + t->offsets[here];
      if (word[2] != VOID) registers[word[2]] = returned;
      ++here;
    } else if (vm->most_jumps != 0 && jumps-- == 0) {
      status = kAOTCVMErrorTooManyJumps;
    } else if (code == kCall) {
      status = CallOwn(vm, t, &registers, word, &function, here);
      if (status == kAOTCErrorNone) here = t->functions[function].start;
    } else if (code == kGoto) {
      here = (uint32_t)((int64_t)here + Distance(word + 1));
    } else {
      int64_t condition = 0;
      status = Holds(&registers[word[1]], &condition);
      here = condition != 0 ? here + 1 : (uint32_t)((int64_t)here + Distance(word + 2));
    }
    if (status != kAOTCErrorNone) {
      vm->function = in;
      vm->instruction = at;
      return status;
    }
  }
}

aotc_error_t AOTCVM_Find(const AOTCVM *vm, const char *name, uint32_t *function) {
  Tables t;
  uint32_t i;

  if (vm == NULL || name == NULL || function == NULL) return kAOTCErrorInvalidArgument;
  Locate(&t, vm->executable);
  for (i = 0; i < t.header->functions; ++i) {
    if (SameText(t.text + t.functions[i].name, name)) {
      *function = i;
      return kAOTCErrorNone;
    }
  }
  return kAOTCErrorUnknownFunction;
}

aotc_error_t AOTCVM_Call(AOTCVM *vm, uint32_t function, const AOTCVMValue *arguments, uint32_t num_arguments,
                         AOTCVMValue *result) {
  Tables t;
  AOTCVMValue *registers;
  Frame nobody = {NULL, NULL, 0, 0};
  aotc_error_t status;
  uint32_t i;

  if (vm == NULL || result == NULL || (arguments == NULL && num_arguments > 0)) return kAOTCErrorInvalidArgument;
  Locate(&t, vm->executable);
  if (function >= t.header->functions) return kAOTCErrorUnknownFunction;
  vm->function = function;
  vm->instruction = t.functions[function].start;
  if (num_arguments != t.functions[function].inputs) return kAOTCVMErrorWrongArguments;
  vm->low = vm->first;
  vm->high = vm->last;
  registers = Enter(vm, &t.functions[function], &nobody);
  if (registers == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < num_arguments; ++i) registers[i] = arguments[i];
  status = Run(vm, &t, registers, function, result);
  vm->low = vm->first;
  return status;
}
