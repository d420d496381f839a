/* What the C library asks of a board. The heap is what lies between the variables and the stack. */
#include "board.h"

extern char board_heap_begin[], board_stack_limit[];
static uintptr_t heap_size, heap_peak;

uint32_t board_heap_peak(void)
{
    return (uint32_t)heap_peak;
}

/* newlib calls it _sbrk, picolibc sbrk. */
void *_sbrk(ptrdiff_t bytes);
void *sbrk(ptrdiff_t bytes) __attribute__((alias("_sbrk")));

void *_sbrk(ptrdiff_t bytes)
{
    char *const old = board_heap_begin + heap_size;
    if (old + bytes > board_stack_limit) {
        return (void *)-1;
    }
    heap_size += (uintptr_t)bytes;
    heap_peak = heap_size > heap_peak ? heap_size : heap_peak;
    return old;
}
