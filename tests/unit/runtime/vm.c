/* vm run FILE FUNCTION ARG..: an argument is an integer, or a shape as 3x5 for a tensor of zeros (float). Prints what
 *    is returned, or the status and where it came from.
 * vm each FILE SIZE: which of the executables in the file, each of SIZE bytes, the check refuses.
 * vm damage FILE SEED: every byte of the file changed to 3 others, and every prefix: refused, failed or run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aotc_vm.h"
#include "check.h"

static int32_t Empty(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  (void)args, (void)codes, (void)n, (void)value, (void)code, (void)handle;
  return 0;
}

/* Sums the elements of a float tensor that it gets, to see what reaches packed functions. */
static int32_t Sum(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  const DLTensor *x = (const DLTensor *)((const AOTCValue *)args)[0].v_handle;
  float sum = 0;
  int64_t size = 1;
  int i;
  if (n != 1 || ((const int32_t *)codes)[0] != kAOTCDLTensorHandle || x->dtype.code != kDLFloat) return -1;
  if (x->dtype.bits != 32) return -1;
  CHECK(handle == NULL);
  for (i = 0; i < x->ndim; ++i) size *= x->shape[i];
  for (i = 0; i < size; ++i) sum += ((const float *)x->data)[i];
  ((AOTCValue *)value)->v_int64 = (int64_t)sum;
  *(int32_t *)code = kAOTCInt;
  return 0;
}

/* G23: what an application's function does with the machine that it is given: memory until the next call, as
 * alloc_storage has it, filled, and the statistics of that. */
static int32_t Scratch(void *args, void *codes, int32_t n, void *value, void *code, void *handle) {
  AOTCValue *values = (AOTCValue *)args;
  AOTCVM *vm = (AOTCVM *)values[1].v_handle;
  uint8_t *memory;
  CHECK(handle == NULL && n == 2 && ((const int32_t *)codes)[1] == kAOTCOpaqueHandle);
  CHECK(vm->most_jumps == 100000 && vm->resource_handle == NULL);
  memory = (uint8_t *)AOTCVM_Allocate(vm, (uint64_t)values[0].v_int64);
  if (memory == NULL) return -6;
  memset(memory, 0xff, (size_t)values[0].v_int64);
  ((AOTCValue *)value)->v_int64 = vm->statistics.allocations * 1000 + (int64_t)vm->statistics.bytes;
  *(int32_t *)code = kAOTCInt;
  return 0;
}

static const AOTCFunctionEntry g_table[] = {{"empty", Empty}, {"scratch", Scratch}, {"sum", Sum}, {NULL, NULL}};

enum { kMemory = 65536 };

/* In memory of its own size, so that reading on is seen. */
static aotc_error_t Open(AOTCVM *vm, const uint8_t *blob, size_t size, AOTCPackedFunction **functions, void *memory,
                         uint32_t *unknown) {
  uint32_t count = AOTCVM_NumNames(blob, size);
  aotc_error_t status;
  *functions = (AOTCPackedFunction *)malloc((count + 1) * sizeof(AOTCPackedFunction));
  status = AOTCVM_Link(blob, size, g_table, *functions, count, unknown);
  return status != 0 ? status : AOTCVM_Open(vm, blob, size, *functions, memory, kMemory);
}

static uint8_t *Load(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  uint8_t *blob;
  CHECK(file != NULL);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  blob = (uint8_t *)malloc(*size);
  CHECK(fread(blob, 1, *size, file) == *size);
  fclose(file);
  return blob;
}

static void Print(const AOTCVMValue *value) {
  const int64_t *shape = (const int64_t *)value->value.v_handle;
  const DLTensor *tensor = (const DLTensor *)value->value.v_handle;
  int64_t i, size;
  switch (value->type_code) {
    case kAOTCInt:
      printf("%" PRId64 "\n", value->value.v_int64);
      break;
    case kAOTCShape:
      for (i = 0; i < shape[0]; ++i) printf("%s%" PRId64, i > 0 ? "x" : "shape ", shape[i + 1]);
      printf("\n");
      break;
    case kAOTCDLTensorHandle:
      size = tensor->dtype.bits / 8;
      for (i = 0; i < tensor->ndim; ++i) {
        printf("%s%" PRId64, i > 0 ? "x" : "tensor ", tensor->shape[i]);
        size *= tensor->shape[i];
      }
      printf(" ");
      for (i = 0; i < size; ++i) printf("%02x", ((const uint8_t *)tensor->data)[i]);
      printf("\n");
      break;
    default:
      printf("code %d\n", value->type_code);
  }
}

static int Run(int argc, char **argv) {
  static float zeros[4096];
  static int64_t shapes[8][8];
  static DLTensor tensors[8];
  AOTCValue arguments[8];
  int32_t codes[8];
  AOTCVMValue result;
  AOTCPackedFunction *functions;
  AOTCVM vm;
  size_t size;
  uint8_t *blob = Load(argv[2], &size);
  void *memory = malloc(kMemory);
  uint32_t function, unknown = 0;
  aotc_error_t status = Open(&vm, blob, size, &functions, memory, &unknown);
  int i;
  if (status != 0) {
    printf("refused %d %u\n", status, unknown);
  } else if ((status = AOTCVM_Find(&vm, argv[3], &function)) != 0) {
    printf("no function %d\n", status);
  } else {
    vm.most_jumps = 100000;
    for (i = 4; i < argc; ++i) {
      DLTensor *tensor = &tensors[i - 4];
      codes[i - 4] = kAOTCInt;
      arguments[i - 4].v_int64 = strtoll(argv[i], NULL, 10);
      if (strchr(argv[i], 'x') != NULL) {
        char *at = argv[i];
        memset(tensor, 0, sizeof *tensor);
        tensor->data = zeros;
        tensor->device.device_type = kDLCPU;
        tensor->dtype.code = kDLFloat;
        tensor->dtype.bits = 32;
        tensor->dtype.lanes = 1;
        tensor->shape = shapes[i - 4];
        for (; *at != '\0'; at += *at == 'x') tensor->shape[tensor->ndim++] = strtoll(at, &at, 10);
        arguments[i - 4].v_handle = tensor;
        codes[i - 4] = kAOTCDLTensorHandle;
      }
    }
    status = AOTCVM_Call(&vm, function, arguments, codes, (uint32_t)(argc - 4), &result);
    if (status != 0) {
      printf("failed %d %u %u\n", status, vm.function, vm.instruction);
    } else {
      Print(&result);
    }
  }
  free(functions);
  free(memory);
  free(blob);
  return 0;
}

/* E27: nor is a table believed that is linked with a machine of another version. */
static void AnotherVersion(const char *path) {
  size_t size;
  uint8_t *blob = Load(path, &size);
  AOTCPackedFunction functions[64] = {Empty};
  void *memory = malloc(kMemory);
  AOTCVM vm;
  int i;
  for (i = 0; i < 64; ++i) functions[i] = Empty;
  CHECK(AOTCVM_Start(&vm, blob, functions, memory, kMemory) == 0);
  ++blob[6];
  CHECK(AOTCVM_Start(&vm, blob, functions, memory, kMemory) == kAOTCVMErrorBadExecutable);
  CHECK(AOTCVM_Open(&vm, blob, size, functions, memory, kMemory) == kAOTCVMErrorBadExecutable);
  CHECK(AOTCVM_NumNames(blob, size) == 0);
  free(memory);
  free(blob);
}

/* 0 refused, 1 failed, 2 run to the end. */
static int Try(const uint8_t *bytes, size_t size, void *memory) {
  uint8_t *blob = (uint8_t *)malloc(size > 0 ? size : 1);
  AOTCPackedFunction *functions;
  AOTCValue arguments[4];
  int32_t codes[4];
  AOTCVMValue result;
  AOTCVM vm;
  uint32_t function = 0, unknown, n;
  int found = 0;
  float zeros[15] = {0};
  int64_t shape[2] = {3, 5};
  DLTensor tensor = {zeros, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  memcpy(blob, bytes, size);
  if (Open(&vm, blob, size, &functions, memory, &unknown) == 0) {
    found = 2;
    for (function = 0;; ++function) { /* with every number of arguments, and arguments of wrong types */
      aotc_error_t status = kAOTCVMErrorWrongArguments;
      for (n = 0; n <= 4 && status == kAOTCVMErrorWrongArguments; ++n) {
        int types;
        for (types = 0; types < 3; ++types) {
          uint32_t i;
          for (i = 0; i < n; ++i) {
            arguments[i].v_int64 = 2;
            codes[i] = kAOTCInt;
            if (types == 2 || (types == 0 && i == 0)) {
              arguments[i].v_handle = &tensor;
              codes[i] = kAOTCDLTensorHandle;
            }
          }
          vm.most_jumps = 100;
          status = AOTCVM_Call(&vm, function, arguments, codes, n, &result);
          if (status == kAOTCErrorUnknownFunction || status == kAOTCVMErrorWrongArguments) break;
          if (types == 0 && status != 0) found = 1;
        }
      }
      if (status == kAOTCErrorUnknownFunction) break;
    }
  }
  free(functions);
  free(blob);
  return found;
}

/* Give bytes that were changed the checksum that they have. */
static void Seal(uint8_t *blob, size_t size) {
  uint32_t sum = UINT32_MAX;
  size_t i;
  int k;
  for (i = 12; i < size; ++i) {
    sum ^= blob[i];
    for (k = 0; k < 8; ++k) sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0xEDB88320) : 0);
  }
  for (k = 0; k < 4; ++k) blob[8 + k] = (uint8_t)(~sum >> 8 * k);
}

static int Damage(const char *path, unsigned seed) {
  size_t size, i;
  uint8_t *blob = Load(path, &size);
  void *memory = malloc(kMemory);
  long found[3] = {0, 0, 0};
  uint8_t sum[4];
  int k;
  memcpy(sum, blob + 8, sizeof sum);
  for (i = 0; i < size; ++i) {
    uint8_t old = blob[i];
    for (k = 0; k < 3; ++k) {
      seed = seed * 1103515245u + 12345u;
      blob[i] = (uint8_t)(k == 0 ? old ^ 1u << (seed >> 16) % 8 : k == 1 ? old ^ 0xFFu : seed >> 16);
      CHECK(blob[i] == old || Try(blob, size, memory) == 0);
      if (i >= 12) Seal(blob, size);
      ++found[Try(blob, size, memory)];
      if (i >= 12) memcpy(blob + 8, sum, sizeof sum);
    }
    blob[i] = old;
    CHECK(Try(blob, i, memory) == 0);
  }
  AnotherVersion(path);
  printf("%ld refused %ld failed %ld run\n", found[0], found[1], found[2]);
  free(memory);
  free(blob);
  return 0;
}

/* A 0 for each of the executables of `size` bytes in a file that the check refuses, else a 1. */
static int Each(const char *path, size_t size) {
  size_t all, at;
  uint8_t *blobs = Load(path, &all);
  void *memory = malloc(kMemory);
  AOTCPackedFunction *functions = (AOTCPackedFunction *)malloc((1 << 16) * sizeof(AOTCPackedFunction));
  AOTCVM vm;
  int i;
  for (i = 0; i < 1 << 16; ++i) functions[i] = Empty;
  for (at = 0; at < all; at += size) {
    uint8_t *blob = (uint8_t *)malloc(size);
    memcpy(blob, blobs + at, size);
    putchar(AOTCVM_Open(&vm, blob, size, functions, memory, kMemory) == kAOTCVMErrorBadExecutable ? '0' : '1');
    free(blob);
  }
  free(functions);
  free(memory);
  free(blobs);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "each") == 0) return Each(argv[2], (size_t)atol(argv[3]));
  if (argc >= 4 && strcmp(argv[1], "run") == 0) return Run(argc, argv);
  if (argc == 4 && strcmp(argv[1], "damage") == 0) return Damage(argv[2], (unsigned)atoi(argv[3]));
  return 2;
}
