/* Workspace allocators over static memory, behind two hooks that an application can replace. */

#include "aotc_runtime.h"

static size_t RoundUp(size_t size, size_t step) { return (size + step - 1) / step * step; }

/* Bytes to skip from `memory` to an aligned address. */
static size_t Misalignment(const uint8_t *memory) {
  const uintptr_t last = (uintptr_t)memory + AOTC_MEMORY_ALIGNMENT - 1;
  return (size_t)(AOTC_MEMORY_ALIGNMENT - 1) - (size_t)(last % AOTC_MEMORY_ALIGNMENT);
}

static int IsMainMemory(DLDevice device) { return device.device_type == kDLCPU && device.device_id == 0; }

/* --- pages --- */

typedef struct {
  AOTCMemoryManager interface;
  uint8_t *pages;
  size_t page_size_log2;
  size_t num_pages;
  /* For each page: the length in pages of the allocation that begins there; 0 where none does. The manager's own place
   * in the memory is rounded up, so this array follows the structure. */
  size_t *length;
} PageManager;

static aotc_error_t PageAllocate(AOTCMemoryManager *interface, size_t num_bytes, DLDevice device, void **out_ptr) {
  PageManager *manager = (PageManager *)(void *)interface;
  size_t page_size = (size_t)1 << manager->page_size_log2;
  size_t needed, free_pages = 0, page = 0;

  if (out_ptr == NULL || num_bytes == 0) return kAOTCErrorInvalidArgument;
  *out_ptr = NULL;
  if (!IsMainMemory(device)) return kAOTCErrorWrongDevice;
  needed = num_bytes / page_size + (num_bytes % page_size != 0);
  if (needed > manager->num_pages) return kAOTCErrorOutOfMemory;
  while (page < manager->num_pages) {
    if (manager->length[page] != 0) {
      page += manager->length[page];
      free_pages = 0;
      continue;
    }
    ++page;
    if (++free_pages == needed) {
      manager->length[page - needed] = needed;
      *out_ptr = manager->pages + ((page - needed) << manager->page_size_log2);
      return kAOTCErrorNone;
    }
  }
  return kAOTCErrorOutOfMemory;
}

static aotc_error_t PageFree(AOTCMemoryManager *interface, void *ptr, DLDevice device) {
  PageManager *manager = (PageManager *)(void *)interface;
  size_t page;

  if (!IsMainMemory(device)) return kAOTCErrorWrongDevice;
  for (page = 0; page < manager->num_pages; page += manager->length[page] != 0 ? manager->length[page] : 1) {
    if (manager->length[page] != 0 && ptr == manager->pages + (page << manager->page_size_log2)) {
      manager->length[page] = 0;
      return kAOTCErrorNone;
    }
  }
  return kAOTCErrorNotAllocated;
}

aotc_error_t AOTCMemoryManagerCreate(AOTCMemoryManager **manager, uint8_t *memory, size_t num_bytes,
                                     size_t page_size_log2) {
  PageManager *made;
  size_t skipped, header, page, page_size;

  if (manager == NULL || memory == NULL) return kAOTCErrorInvalidArgument;
  *manager = NULL;
  if (page_size_log2 >= sizeof(size_t) * 8 || ((size_t)1 << page_size_log2) < AOTC_MEMORY_ALIGNMENT) {
    return kAOTCErrorInvalidArgument;
  }
  page_size = (size_t)1 << page_size_log2;
  skipped = Misalignment(memory);
  header = RoundUp(sizeof(PageManager), AOTC_MEMORY_ALIGNMENT);
  page = num_bytes / (page_size + sizeof(size_t)); /* at most: there is more in the memory than pages and lengths */
  while (page > 0 && skipped + header + RoundUp(page * sizeof(size_t), AOTC_MEMORY_ALIGNMENT) + page * page_size >
                         num_bytes) {
    --page;
  }
  if (page == 0) return kAOTCErrorOutOfMemory;
  made = (PageManager *)(void *)(memory + skipped);
  made->interface.Allocate = PageAllocate;
  made->interface.Free = PageFree;
  made->page_size_log2 = page_size_log2;
  made->num_pages = page;
  made->length = (size_t *)(void *)(memory + skipped + header);
  made->pages = memory + skipped + header + RoundUp(page * sizeof(size_t), AOTC_MEMORY_ALIGNMENT);
  while (page > 0) made->length[--page] = 0;
  *manager = &made->interface;
  return kAOTCErrorNone;
}

/* --- a stack --- */

typedef struct {
  AOTCMemoryManager interface;
  uint8_t *base;
  size_t size;
  size_t used;  /* bytes from base to the first free one */
  size_t latest; /* offset of the latest allocation's record; meaningless while used is 0 */
} StackManager;

/* In front of each allocation: what to go back to. */
typedef struct {
  size_t used;
  size_t latest;
} StackRecord;

static aotc_error_t StackAllocate(AOTCMemoryManager *interface, size_t num_bytes, DLDevice device, void **out_ptr) {
  StackManager *manager = (StackManager *)(void *)interface;
  size_t header = RoundUp(sizeof(StackRecord), AOTC_MEMORY_ALIGNMENT);
  size_t left = manager->size - manager->used;
  /* Both are multiples of the alignment, and counted in it: so no number of bytes is too large. */
  size_t needed = header / AOTC_MEMORY_ALIGNMENT + num_bytes / AOTC_MEMORY_ALIGNMENT +
                  (num_bytes % AOTC_MEMORY_ALIGNMENT != 0);
  StackRecord *record;

  if (out_ptr == NULL || num_bytes == 0) return kAOTCErrorInvalidArgument;
  *out_ptr = NULL;
  if (!IsMainMemory(device)) return kAOTCErrorWrongDevice;
  if (needed > left / AOTC_MEMORY_ALIGNMENT) return kAOTCErrorOutOfMemory;
  record = (StackRecord *)(void *)(manager->base + manager->used);
  record->used = manager->used;
  record->latest = manager->latest;
  manager->latest = manager->used;
  manager->used += needed * AOTC_MEMORY_ALIGNMENT;
  *out_ptr = manager->base + manager->latest + header;
  return kAOTCErrorNone;
}

static aotc_error_t StackFree(AOTCMemoryManager *interface, void *ptr, DLDevice device) {
  StackManager *manager = (StackManager *)(void *)interface;
  const StackRecord *record;

  if (!IsMainMemory(device)) return kAOTCErrorWrongDevice;
  if (manager->used == 0) return kAOTCErrorNotAllocated;
  if (ptr != manager->base + manager->latest + RoundUp(sizeof(StackRecord), AOTC_MEMORY_ALIGNMENT)) {
    return kAOTCErrorFreeOutOfOrder;
  }
  record = (const StackRecord *)(const void *)(manager->base + manager->latest);
  manager->used = record->used;
  manager->latest = record->latest;
  return kAOTCErrorNone;
}

aotc_error_t AOTCStackMemoryManagerCreate(AOTCMemoryManager **manager, uint8_t *memory, size_t num_bytes) {
  StackManager *made;
  size_t skipped, header = RoundUp(sizeof(StackManager), AOTC_MEMORY_ALIGNMENT);

  if (manager == NULL || memory == NULL) return kAOTCErrorInvalidArgument;
  *manager = NULL;
  skipped = Misalignment(memory);
  if (num_bytes < skipped + header) return kAOTCErrorOutOfMemory;
  made = (StackManager *)(void *)(memory + skipped);
  made->interface.Allocate = StackAllocate;
  made->interface.Free = StackFree;
  made->base = memory + skipped + header;
  made->size = (num_bytes - skipped - header) / AOTC_MEMORY_ALIGNMENT * AOTC_MEMORY_ALIGNMENT;
  made->used = 0;
  made->latest = 0;
  *manager = &made->interface;
  return kAOTCErrorNone;
}

/* --- the default hooks --- */

#ifndef AOTC_CUSTOM_PLATFORM_MEMORY

#if (AOTC_MEMORY_NUM_PAGES) > 0

/* Room for the managers' own tables, so that all AOTC_MEMORY_NUM_PAGES pages can be handed out. */
#define TABLE_BYTES ((size_t)(AOTC_MEMORY_NUM_PAGES) * sizeof(size_t) + 8 * AOTC_MEMORY_ALIGNMENT)

static uint8_t g_memory[((size_t)(AOTC_MEMORY_NUM_PAGES) << (AOTC_MEMORY_PAGE_SIZE_LOG2)) + TABLE_BYTES];
static AOTCMemoryManager *g_manager = NULL;

static aotc_error_t Start(void) {
  if (g_manager != NULL) return kAOTCErrorNone;
#ifdef AOTC_MEMORY_LIFO
  return AOTCStackMemoryManagerCreate(&g_manager, g_memory, sizeof(g_memory));
#else
  return AOTCMemoryManagerCreate(&g_manager, g_memory, sizeof(g_memory), AOTC_MEMORY_PAGE_SIZE_LOG2);
#endif
}

aotc_error_t AOTCPlatformMemoryAllocate(size_t num_bytes, DLDevice device, void **out_ptr) {
  aotc_error_t status = Start();
  return status != kAOTCErrorNone ? status : g_manager->Allocate(g_manager, num_bytes, device, out_ptr);
}

aotc_error_t AOTCPlatformMemoryFree(void *ptr, DLDevice device) {
  aotc_error_t status = Start();
  return status != kAOTCErrorNone ? status : g_manager->Free(g_manager, ptr, device);
}

#else

aotc_error_t AOTCPlatformMemoryAllocate(size_t num_bytes, DLDevice device, void **out_ptr) {
  (void)num_bytes;
  (void)device;
  if (out_ptr != NULL) *out_ptr = NULL;
  return kAOTCErrorOutOfMemory;
}

aotc_error_t AOTCPlatformMemoryFree(void *ptr, DLDevice device) {
  (void)ptr;
  (void)device;
  return kAOTCErrorNotAllocated;
}

#endif

#endif /* AOTC_CUSTOM_PLATFORM_MEMORY */

void *AOTCBackendAllocWorkspace(int device_type, int device_id, uint64_t nbytes, int dtype_code_hint,
                                int dtype_bits_hint) {
  DLDevice device;
  void *ptr = NULL;

  (void)dtype_code_hint;
  (void)dtype_bits_hint;
  device.device_type = device_type;
  device.device_id = device_id;
  if (nbytes > SIZE_MAX) return NULL;
  return AOTCPlatformMemoryAllocate((size_t)nbytes, device, &ptr) == kAOTCErrorNone ? ptr : NULL;
}

int AOTCBackendFreeWorkspace(int device_type, int device_id, void *ptr) {
  DLDevice device;

  device.device_type = device_type;
  device.device_id = device_id;
  return AOTCPlatformMemoryFree(ptr, device);
}
