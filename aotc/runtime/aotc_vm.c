/* The machine that runs executables of bytecode, whose check is aotc_vm_check.c. */

#include "aotc_vm_format.h"

static size_t Up(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

int AOTCVM_SameText(const char *a, const char *b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

static const void *Take(const uint8_t **at, uint32_t count, size_t size) {
  const uint8_t *table = *at;
  *at += Up(count * size, 8);
  return table;
}

int AOTCVM_IsOurs(const Header *header) {
  static const char magic[] = {'A', 'O', 'T', 'C', 'V', 'M'};
  size_t i;

  for (i = 0; i < sizeof magic; ++i) {
    if (header->magic[i] != (uint8_t)magic[i]) return 0;
  }
  return header->version == VERSION;
}

void AOTCVM_Locate(Tables *t, const void *executable) {
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

uint32_t AOTCVM_OwnFunction(const Tables *t, uint32_t name) {
  uint32_t i;
  for (i = 0; i < t->header->functions; ++i) {
    if (AOTCVM_SameText(t->text + t->functions[i].name, t->text + t->names[name])) return i;
  }
  return PACKED;
}

aotc_error_t AOTCVM_Start(AOTCVM *vm, const void *executable, const AOTCPackedFunction *functions, void *memory,
                          size_t memory_size) {
  Tables t;
  size_t skipped = (size_t)(-(uintptr_t)memory % ALIGNMENT), used;
  uint32_t i;

  if (vm == NULL || executable == NULL || memory == NULL) return kAOTCErrorInvalidArgument;
  if (!AOTCVM_IsOurs((const Header *)executable)) return kAOTCVMErrorBadExecutable;
  AOTCVM_Locate(&t, executable);
  if (functions == NULL && t.header->names > 0) return kAOTCErrorInvalidArgument;
  used = skipped + Up((size_t)t.header->names * 2, 8) + ALIGNMENT;
  if ((uint64_t)used + t.header->workspace > memory_size) return kAOTCErrorOutOfMemory;
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
    const char *name = t.text + t.names[i];
    uint32_t callee = AOTCVM_OwnFunction(&t, i);
    if (callee == PACKED && functions[i] == NULL) return kAOTCErrorUnknownFunction;
    if (callee == PACKED && name[0] == 'v' && name[1] == 'm' && name[2] == '.') callee = MACHINE;
    vm->callees[i] = (uint16_t)callee;
  }
  return kAOTCErrorNone;
}

/* --- values --- */

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
  uint32_t payload = *word & PAYLOAD, i;
  uint64_t wide = 0;

  *type_code = kAOTCInt;
  switch (*word >> 13) {
    case kRegister:
      *value = registers[payload].value;
      *type_code = registers[payload].type_code;
      break;
    case kImmediate:
      value->v_int64 = (int32_t)(payload ^ 0x1000u) - 0x1000;
      break;
    case kLong:
      for (i = 4; i > 0; --i) wide = wide << 16 | word[i];
      value->v_int64 = (int64_t)wide;
      word += 4;
      break;
    case kState:
      value->v_int64 = 0;
      value->v_handle = vm;
      *type_code = kAOTCOpaqueHandle;
      break;
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
  }
  return word + 1;
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
  const uint8_t *data = (const uint8_t *)tensor->data + (size_t)tensor->byte_offset;
  uint32_t bytes = tensor->dtype.bits / 8u, code = tensor->dtype.code;
  uint64_t value = 0;
  int32_t axis;

  for (axis = 0; axis < tensor->ndim; ++axis) {
    if (tensor->shape[axis] != 1) return kAOTCVMErrorWrongType;
  }
  if (bytes < 1 || bytes > 8 || tensor->dtype.lanes != 1) return kAOTCVMErrorWrongType;
  if (code != kDLInt && code != kDLUInt && code != kDLBool) return kAOTCVMErrorWrongType;
  if (code == kDLInt && (data[bytes - 1] & 0x80u) != 0) value = ~UINT64_C(0);
  while (bytes-- > 0) value = value << 8 | data[bytes];
  *out = (int64_t)value;
  return kAOTCErrorNone;
}

/* A tensor that lies in the scratch memory of one call, kept beyond it. */
static aotc_error_t Keep(AOTCVM *vm, AOTCVMValue *value, const void *begin, const void *end) {
  uintptr_t at = (uintptr_t)value->value.v_handle;
  DLTensor *kept;

  if (value->type_code != kAOTCDLTensorHandle || at < (uintptr_t)begin || at >= (uintptr_t)end) return kAOTCErrorNone;
  kept = (DLTensor *)AOTCVM_Allocate(vm, sizeof(DLTensor));
  if (kept == NULL) return kAOTCErrorOutOfMemory;
  *kept = *(const DLTensor *)value->value.v_handle;
  value->value.v_handle = kept;
  return kAOTCErrorNone;
}

static aotc_error_t Holds(const AOTCVMValue *value, int64_t *out) {
  if (value->type_code == kAOTCDLTensorHandle) return AOTCVM_ReadInteger((const DLTensor *)value->value.v_handle, out);
  *out = value->value.v_int64;
  return value->type_code == kAOTCInt ? kAOTCErrorNone : kAOTCVMErrorWrongType;
}

/* --- calls --- */

/* What lies below the registers of a function, where those of its caller end. */
typedef struct {
  AOTCVMValue *registers; /* the caller's */
  uint32_t instruction;   /* its call */
} Frame;

static aotc_error_t CallPacked(AOTCVM *vm, const Tables *t, AOTCVMValue *registers, const uint16_t *word) {
  uint32_t n = (uint32_t)*word >> 8, i;
  AOTCValue *values = (AOTCValue *)(void *)vm->low;
  DLTensor *tensors = (DLTensor *)(void *)(values + n);
  int32_t *codes = (int32_t *)(void *)(tensors + n);
  size_t size = n * (sizeof(AOTCValue) + sizeof(DLTensor)) + Up(n * sizeof(int32_t), 8);
  const uint16_t *operand = word + 3;
  AOTCVMValue result;
  aotc_error_t status;

  if (size > (size_t)(vm->high - vm->low)) return kAOTCErrorOutOfMemory;
  for (i = 0; i < n; ++i) operand = Read(vm, t, registers, operand, &values[i], &codes[i], &tensors[i]);
  result.value.v_int64 = 0;
  result.type_code = kAOTCNull;
  vm->low += size;
  status = vm->functions[word[1]](values, codes, (int32_t)n, &result.value, &result.type_code,
                                  vm->callees[word[1]] == MACHINE ? vm : vm->resource_handle);
  if (status == kAOTCErrorNone && word[2] != VOID) {
    status = Keep(vm, &result, tensors, codes);
    registers[word[2]] = result;
  }
  vm->low -= size;
  return status;
}

/* Makes room for a call of `function`; its registers hold nothing. */
static AOTCVMValue *Enter(AOTCVM *vm, const Function *function, AOTCVMValue *caller, uint32_t instruction) {
  Frame *frame = (Frame *)(void *)vm->low;
  AOTCVMValue *registers = (AOTCVMValue *)(void *)(vm->low + Up(sizeof(Frame), 8));
  size_t size = Up(sizeof(Frame), 8) + function->registers * sizeof(AOTCVMValue);
  uint32_t i;

  if (size > (size_t)(vm->high - vm->low)) return NULL;
  frame->registers = caller;
  frame->instruction = instruction;
  for (i = 0; i < function->registers; ++i) {
    registers[i].value.v_int64 = 0;
    registers[i].type_code = kAOTCNull;
  }
  vm->low += size;
  return registers;
}

/* Enters the function that the call at `word` is of, and has its registers in *registers. */
static aotc_error_t CallOwn(AOTCVM *vm, const Tables *t, AOTCVMValue **registers, const uint16_t *word,
                            uint32_t here) {
  uint32_t n = (uint32_t)*word >> 8, i;
  AOTCVMValue *inputs = Enter(vm, &t->functions[vm->callees[word[1]]], *registers, here);
  const uint16_t *operand = word + 3;
  aotc_error_t status = kAOTCErrorNone;

  if (inputs == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < n && status == kAOTCErrorNone; ++i) {
    DLTensor tensor;
    operand = Read(vm, t, *registers, operand, &inputs[i].value, &inputs[i].type_code, &tensor);
    status = Keep(vm, &inputs[i], &tensor, &tensor + 1);
  }
  *registers = inputs;
  return status;
}

static aotc_error_t Run(AOTCVM *vm, const Tables *t, AOTCVMValue *registers, uint32_t here, AOTCVMValue *result) {
  uint32_t jumps = vm->most_jumps;

  for (;;) {
    const uint16_t *word = t->words + t->offsets[here];
    uint32_t code = *word & 0xFFu, next = here + 1;
    aotc_error_t status = kAOTCErrorNone;

    if (code == kCall && vm->callees[word[1]] >= MACHINE) { /* of no function of the executable */
      status = CallPacked(vm, t, registers, word);
    } else if (code == kRet) {
      const Frame *frame = (const Frame *)(const void *)((const uint8_t *)registers - Up(sizeof(Frame), 8));
      AOTCVMValue *into = result;
      if (frame->registers != NULL) {
        uint32_t dst = t->words[t->offsets[frame->instruction] + 2];
        into = dst == VOID ? NULL : &frame->registers[dst];
      }
      if (into != NULL) *into = registers[word[1]];
      vm->low = (uint8_t *)(uintptr_t)frame;
      next = frame->instruction + 1;
      registers = frame->registers;
      if (registers == NULL) return kAOTCErrorNone;
    } else if (vm->most_jumps != 0 && jumps-- == 0) {
      status = kAOTCVMErrorTooManyJumps;
    } else if (code == kCall) {
      next = t->functions[vm->callees[word[1]]].start;
      status = CallOwn(vm, t, &registers, word, here);
    } else if (code == kGoto) {
      next = here + Distance(word + 1);
    } else {
      int64_t condition = 0;
      status = Holds(&registers[word[1]], &condition);
      if (condition == 0) next = here + Distance(word + 2);
    }
    if (status != kAOTCErrorNone) {
      vm->instruction = here;
      for (vm->function = t->header->functions - 1; t->functions[vm->function].start > here;) --vm->function;
      return status;
    }
    here = next;
  }
}

aotc_error_t AOTCVM_Find(const AOTCVM *vm, const char *name, uint32_t *function) {
  Tables t;
  uint32_t i;

  if (vm == NULL || name == NULL || function == NULL) return kAOTCErrorInvalidArgument;
  AOTCVM_Locate(&t, vm->executable);
  for (i = 0; i < t.header->functions; ++i) {
    if (AOTCVM_SameText(t.text + t.functions[i].name, name)) {
      *function = i;
      return kAOTCErrorNone;
    }
  }
  return kAOTCErrorUnknownFunction;
}

aotc_error_t AOTCVM_Call(AOTCVM *vm, uint32_t function, const AOTCValue *values, const int32_t *type_codes,
                         uint32_t count, AOTCVMValue *result) {
  Tables t;
  AOTCVMValue *registers;
  uint32_t i;

  if (vm == NULL || result == NULL) return kAOTCErrorInvalidArgument;
  if (count > 0 && (values == NULL || type_codes == NULL)) return kAOTCErrorInvalidArgument;
  AOTCVM_Locate(&t, vm->executable);
  if (function >= t.header->functions) return kAOTCErrorUnknownFunction;
  vm->function = function;
  vm->instruction = t.functions[function].start;
  if (count != t.functions[function].inputs) return kAOTCVMErrorWrongArguments;
  vm->low = vm->first;
  vm->high = vm->last;
  registers = Enter(vm, &t.functions[function], NULL, 0);
  if (registers == NULL) return kAOTCErrorOutOfMemory;
  for (i = 0; i < count; ++i) {
    registers[i].value = values[i];
    registers[i].type_code = type_codes[i];
  }
  return Run(vm, &t, registers, vm->instruction, result);
}
