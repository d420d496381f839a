/* What looks at an executable before it runs: the check of every number in it, and the functions behind its names. */

#include "aotc_vm_format.h"

static uint32_t EndWord(const Tables *t, uint32_t instruction) {
  return instruction + 1 < t->header->instructions ? t->offsets[instruction + 1] : t->header->words;
}

static uint32_t EndOf(const Tables *t, uint32_t function) {
  return function + 1 < t->header->functions ? t->functions[function + 1].start : t->header->instructions;
}

/* Whether the bytes begin as an executable does, and the tables that the header counts fill them. */
static int CheckHeader(const void *executable, size_t size) {
  static const uint8_t widths[] = {sizeof(Function), 4, sizeof(Constant), 4, 8, 2, 1};
  const uint8_t *bytes = (const uint8_t *)executable;
  const Header *h = (const Header *)executable;
  const uint32_t *counts = (const uint32_t *)(const void *)(bytes + offsetof(Header, functions));
  uint64_t end = sizeof(Header);
  uint32_t i;

  if (bytes == NULL || (uintptr_t)bytes % 8 != 0 || size < sizeof(Header)) return 0;
  if (!AOTCVM_IsOurs(h)) return 0;
  for (i = 0; i < sizeof widths; ++i) end += ((uint64_t)counts[i] * widths[i] + 7) & ~UINT64_C(7);
  end = ((end + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1)) + h->data;
  return h->size == size && end == size;
}

/* The CRC-32 of all that follows the checksum, half a byte after the other. */
static uint32_t Checksum(const uint8_t *bytes, const uint8_t *end) {
  static const uint32_t rows[16] = {
      UINT32_C(0x00000000), UINT32_C(0x1DB71064), UINT32_C(0x3B6E20C8), UINT32_C(0x26D930AC),
      UINT32_C(0x76DC4190), UINT32_C(0x6B6B51F4), UINT32_C(0x4DB26158), UINT32_C(0x5005713C),
      UINT32_C(0xEDB88320), UINT32_C(0xF00F9344), UINT32_C(0xD6D6A3E8), UINT32_C(0xCB61B38C),
      UINT32_C(0x9B64C2B0), UINT32_C(0x86D3D2D4), UINT32_C(0xA00AE278), UINT32_C(0xBDBDF21C)};
  uint32_t sum = UINT32_MAX;

  for (; bytes < end; ++bytes) {
    sum ^= *bytes;
    sum = sum >> 4 ^ rows[sum & 15u];
    sum = sum >> 4 ^ rows[sum & 15u];
  }
  return ~sum;
}

static int CheckSum(const uint8_t *bytes, size_t size) {
  return ((const Header *)(const void *)bytes)->checksum == Checksum(bytes + offsetof(Header, size), bytes + size);
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

static int CheckInstruction(const Tables *t, uint32_t function, uint32_t here, const uint16_t *callees) {
  const Function *f = &t->functions[function];
  const uint16_t *word = t->words + t->offsets[here], *end = t->words + EndWord(t, here);
  uint32_t code = *word & 0xFFu, operands = (uint32_t)*word >> 8, last = EndOf(t, function), n = (uint32_t)(end - word);
  int64_t target = here;

  if (code == kCall) {
    if (n < 3 || word[1] >= t->header->names || (word[2] != VOID && word[2] >= f->registers)) return 0;
    if (callees[word[1]] < MACHINE && t->functions[callees[word[1]]].inputs != operands) return 0;
    return here + 1 < last && CheckOperands(t, f, word + 3, end, operands);
  }
  if (operands != 0 || (code != kGoto && word[1] >= f->registers)) return 0;
  if (code == kRet) return n == 2;
  if (code == kGoto && n == 3) {
    target += (int32_t)Distance(word + 1);
  } else if (code == kIf && n == 4 && here + 1 < last) {
    target += (int32_t)Distance(word + 2);
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
  return h->names < PACKED && h->functions < MACHINE;
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
    if (f->start != here || EndOf(t, i) <= here) return 0;
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
  AOTCVM_Locate(&t, executable);
  return CheckNames(&t) ? t.header->names : 0;
}

aotc_error_t AOTCVM_Link(const void *executable, size_t size, const AOTCFunctionEntry *table,
                         AOTCPackedFunction *functions, uint32_t count, uint32_t *unknown) {
  Tables t;
  uint32_t i;

  if (functions == NULL || unknown == NULL) return kAOTCErrorInvalidArgument;
  if (!CheckHeader(executable, size)) return kAOTCVMErrorBadExecutable;
  AOTCVM_Locate(&t, executable);
  if (!CheckNames(&t)) return kAOTCVMErrorBadExecutable;
  if (count < t.header->names) return kAOTCErrorInvalidArgument;
  for (i = 0; i < t.header->names; ++i) {
    const char *name = t.text + t.names[i];
    const AOTCFunctionEntry *entry = table;

    functions[i] = NULL;
    if (AOTCVM_OwnFunction(&t, i) != PACKED) continue;
    while (entry != NULL && entry->name != NULL && !AOTCVM_SameText(entry->name, name)) ++entry;
    if (entry == NULL || entry->name == NULL) {
      for (entry = AOTCVM_Builtins; entry->name != NULL && !AOTCVM_SameText(entry->name, name);) ++entry;
    }
    functions[i] = entry->function;
    if (entry->name == NULL && AOTCFuncGetGlobal(name, &functions[i]) != kAOTCErrorNone) {
      *unknown = i;
      return kAOTCErrorUnknownFunction;
    }
  }
  return kAOTCErrorNone;
}

aotc_error_t AOTCVM_Open(AOTCVM *vm, const void *executable, size_t size, const AOTCPackedFunction *functions,
                         void *memory, size_t memory_size) {
  Tables t;
  aotc_error_t status;

  if (!CheckHeader(executable, size)) return kAOTCVMErrorBadExecutable;
  AOTCVM_Locate(&t, executable);
  if (!CheckSum((const uint8_t *)executable, size) || !CheckNames(&t)) return kAOTCVMErrorBadExecutable;
  status = AOTCVM_Start(vm, executable, functions, memory, memory_size);
  if (status != kAOTCErrorNone) return status;
  return CheckAll(&t, vm->callees) ? kAOTCErrorNone : kAOTCVMErrorBadExecutable;
}
