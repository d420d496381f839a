/* Uses a known amount of everything the rig measures. */
#include <stdlib.h>

#include "board.h"

static volatile int sink;

static void use_stack(void)
{
    volatile char bytes[1000];
    board_mark();
    for (int i = 0; i < 1000; i++) {
        bytes[i] = 1;
    }
    sink = bytes[999];
}

__attribute__((noinline)) static int inner(int depth)
{
    volatile char bytes[1000];
    bytes[0] = (char)depth;
    return bytes[0];
}

static void call_inner(void)
{
    board_mark();
    sink = inner(1);
}

#if defined(OVERFLOW)
static void use_too_much(void)
{
    volatile char bytes[4096];
    for (int i = 0; i < 4096; i++) {
        bytes[i] = 1;
    }
    sink = bytes[0];
}
#endif

static void use_instructions(void)
{
    for (int i = 0; i < 100000; i++) {
        __asm__ volatile("nop");
    }
}

int main(void)
{
    board_report("own", board_measure_stack(use_stack));
    board_report("callee", board_measure_stack(call_inner));
    board_report("heap_before", board_heap_peak());
#if defined(COUNT)
    (void)board_measure_stack(use_instructions);
#else
    (void)use_instructions;
#endif
#if defined(ALLOCATE)
    void *volatile memory = malloc(100);
    free(memory);
#endif
    board_report("heap_after", board_heap_peak());
#if defined(OVERFLOW)
    (void)board_measure_stack(use_too_much);
#endif
#if defined(FAULT)
    __builtin_trap();
#endif
    return 0;
}
