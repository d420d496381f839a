/* B11 B12 B13: the two memory managers and the workspace functions on their default hooks (B10, B14). */
#include <string.h>

#include "aotc_runtime.h"
#include "check.h"

static const DLDevice cpu = {kDLCPU, 0};
static const DLDevice other = {2, 0};
static const DLDevice second = {kDLCPU, 1};

static int Aligned(const void *p) { return (uintptr_t)p % AOTC_MEMORY_ALIGNMENT == 0; }

static void TestPages(void) {
  static uint8_t memory[6 * 256 + 512];
  AOTCMemoryManager *m;
  void *p[8], *q;
  int n = 0;

  memset(memory, 0xff, sizeof memory); /* whatever is in it before */
  CHECK(AOTCMemoryManagerCreate(NULL, memory, sizeof memory, 8) == kAOTCErrorInvalidArgument);
  CHECK(AOTCMemoryManagerCreate(&m, NULL, sizeof memory, 8) == kAOTCErrorInvalidArgument);
  CHECK(AOTCMemoryManagerCreate(&m, memory, sizeof memory, 2) == kAOTCErrorInvalidArgument);
  CHECK(AOTCMemoryManagerCreate(&m, memory, sizeof memory, 64) == kAOTCErrorInvalidArgument);
  CHECK(AOTCMemoryManagerCreate(&m, memory, 100, 8) == kAOTCErrorOutOfMemory && m == NULL);
  CHECK(AOTCMemoryManagerCreate(&m, memory + 3, sizeof memory - 3, 8) == kAOTCErrorNone);
  while (n < 8 && m->Allocate(m, 256, cpu, &p[n]) == kAOTCErrorNone) {
    CHECK(Aligned(p[n]) && (uint8_t *)p[n] >= memory && (uint8_t *)p[n] + 256 <= memory + sizeof memory);
    memset(p[n], 0xff, 256); /* none of the manager's tables is in a page */
    ++n;
  }
  CHECK(n >= 6);
  CHECK(m->Allocate(m, 1, cpu, &q) == kAOTCErrorOutOfMemory && q == NULL);
  /* freed in any order, found again first fit, a run of pages as one */
  CHECK(m->Free(m, p[1], cpu) == kAOTCErrorNone);
  CHECK(m->Free(m, p[1], cpu) == kAOTCErrorNotAllocated);
  CHECK(m->Free(m, p[3], cpu) == kAOTCErrorNone);
  CHECK(m->Allocate(m, 257, cpu, &q) == kAOTCErrorOutOfMemory);
  CHECK(m->Free(m, p[2], cpu) == kAOTCErrorNone);
  CHECK(m->Allocate(m, 3 * 256, cpu, &q) == kAOTCErrorNone && q == p[1]);
  CHECK(m->Free(m, (uint8_t *)q + 256, cpu) == kAOTCErrorNotAllocated);
  CHECK(m->Free(m, q, other) == kAOTCErrorWrongDevice && m->Free(m, q, second) == kAOTCErrorWrongDevice);
  CHECK(m->Free(m, (uint8_t *)p[0] + n * 256, cpu) == kAOTCErrorNotAllocated);
  CHECK(m->Allocate(m, 1, other, &q) == kAOTCErrorWrongDevice && q == NULL);
  CHECK(m->Allocate(m, SIZE_MAX, cpu, &q) == kAOTCErrorOutOfMemory);
  CHECK(m->Allocate(m, 0, cpu, &q) == kAOTCErrorInvalidArgument);
  CHECK(m->Allocate(m, 1, cpu, NULL) == kAOTCErrorInvalidArgument);
}

static void TestStack(void) {
  static uint8_t memory[1024];
  AOTCMemoryManager *m;
  void *a, *b, *c;

  CHECK(AOTCStackMemoryManagerCreate(&m, memory + 1, sizeof memory - 1) == kAOTCErrorNone);
  CHECK(AOTCStackMemoryManagerCreate(NULL, memory, sizeof memory) == kAOTCErrorInvalidArgument);
  CHECK(AOTCStackMemoryManagerCreate(&m, NULL, sizeof memory) == kAOTCErrorInvalidArgument);
  CHECK(m->Free(m, memory, cpu) == kAOTCErrorNotAllocated);
  CHECK(m->Allocate(m, 100, cpu, &a) == kAOTCErrorNone && Aligned(a));
  CHECK(m->Allocate(m, 200, cpu, &b) == kAOTCErrorNone && Aligned(b) && (uint8_t *)b >= (uint8_t *)a + 100);
  memset(a, 0xff, 100);
  memset(b, 0xff, 200);
  CHECK(m->Allocate(m, 1024, cpu, &c) == kAOTCErrorOutOfMemory && c == NULL);
  CHECK(m->Allocate(m, SIZE_MAX, cpu, &c) == kAOTCErrorOutOfMemory);
  CHECK(m->Allocate(m, 0, cpu, &c) == kAOTCErrorInvalidArgument);
  CHECK(m->Allocate(m, 1, cpu, NULL) == kAOTCErrorInvalidArgument);
  CHECK(m->Allocate(m, 1, other, &c) == kAOTCErrorWrongDevice && c == NULL);
  CHECK(m->Free(m, a, cpu) == kAOTCErrorFreeOutOfOrder); /* and nothing is lost */
  CHECK(m->Free(m, b, cpu) == kAOTCErrorNone);
  CHECK(m->Free(m, b, cpu) == kAOTCErrorFreeOutOfOrder);
  CHECK(m->Allocate(m, 10, cpu, &c) == kAOTCErrorNone && c == b);
  CHECK(m->Free(m, c, cpu) == kAOTCErrorNone);
  CHECK(m->Free(m, a, cpu) == kAOTCErrorNone);
  CHECK(m->Free(m, a, cpu) == kAOTCErrorNotAllocated);
}

/* Each manager takes what it needs of its memory, which is a multiple of the alignment, and no byte more: the smallest
 * one has a page, or nothing, and a stack that is larger by a step takes a record's and an allocation's step. */
static void TestSizes(void) {
  static uint8_t memory[1024];
  uint8_t *at = memory + AOTC_MEMORY_ALIGNMENT - (uintptr_t)memory % AOTC_MEMORY_ALIGNMENT;
  AOTCMemoryManager *m;
  void *p, *q;
  size_t skipped, size;

  for (skipped = 0; skipped < AOTC_MEMORY_ALIGNMENT; skipped += 21) {
    uint8_t *begin = at + AOTC_MEMORY_ALIGNMENT - skipped;
    for (size = 0; AOTCMemoryManagerCreate(&m, begin, size, 8) == kAOTCErrorOutOfMemory; ++size) CHECK(m == NULL);
    CHECK((size - skipped) % AOTC_MEMORY_ALIGNMENT == 0 && size > 256);
    CHECK(m->Allocate(m, 256, cpu, &p) == kAOTCErrorNone && (uint8_t *)p + 256 == begin + size);
    CHECK(m->Allocate(m, 1, cpu, &q) == kAOTCErrorOutOfMemory);
    for (size = 0; AOTCStackMemoryManagerCreate(&m, begin, size) == kAOTCErrorOutOfMemory; ++size) CHECK(m == NULL);
    CHECK((size - skipped) % AOTC_MEMORY_ALIGNMENT == 0 && size > skipped);
    CHECK(m->Allocate(m, 1, cpu, &p) == kAOTCErrorOutOfMemory);
    size += 2 * AOTC_MEMORY_ALIGNMENT;
    CHECK(AOTCStackMemoryManagerCreate(&m, begin, size) == kAOTCErrorNone);
    CHECK(m->Allocate(m, AOTC_MEMORY_ALIGNMENT + 1, cpu, &p) == kAOTCErrorOutOfMemory);
    CHECK(m->Allocate(m, AOTC_MEMORY_ALIGNMENT, cpu, &p) == kAOTCErrorNone);
    CHECK((uint8_t *)p + AOTC_MEMORY_ALIGNMENT == begin + size);
    CHECK(m->Allocate(m, 1, cpu, &q) == kAOTCErrorOutOfMemory);
    CHECK(m->Free(m, p, cpu) == kAOTCErrorNone);
  }
}

static void TestWorkspace(void) {
  /* all AOTC_MEMORY_NUM_PAGES pages can be had, and not a byte more */
  size_t all = (size_t)AOTC_MEMORY_NUM_PAGES << AOTC_MEMORY_PAGE_SIZE_LOG2;
  uint8_t *p = AOTCBackendAllocWorkspace(kDLCPU, 0, all, kDLUInt, 8);
#if AOTC_MEMORY_NUM_PAGES > 0
  CHECK(p != NULL && Aligned(p));
  memset(p, 0xff, all);
  CHECK(AOTCBackendFreeWorkspace(kDLCPU, 0, p + 1) != 0);
  CHECK(AOTCBackendFreeWorkspace(kDLCPU, 0, p) == 0);
  CHECK(AOTCBackendFreeWorkspace(kDLCPU, 0, p) == kAOTCErrorNotAllocated);
  CHECK(AOTCBackendAllocWorkspace(2, 0, 16, kDLUInt, 8) == NULL);
#else
  void *given = &all;
  CHECK(p == NULL);
  CHECK(AOTCPlatformMemoryAllocate(1, cpu, &given) == kAOTCErrorOutOfMemory && given == NULL);
  CHECK(AOTCPlatformMemoryAllocate(1, cpu, NULL) == kAOTCErrorOutOfMemory);
  CHECK(AOTCBackendFreeWorkspace(kDLCPU, 0, &all) == kAOTCErrorNotAllocated);
#endif
  CHECK(AOTCBackendAllocWorkspace(kDLCPU, 0, 2 * all + 4096, kDLUInt, 8) == NULL);
}

int main(void) {
  TestPages();
  TestStack();
  TestSizes();
  TestWorkspace();
  return 0;
}
