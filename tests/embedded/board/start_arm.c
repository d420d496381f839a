/* Vector table and reset of every Cortex-M. */
#include "board.h"

extern uint32_t board_stack_top[], board_data_source[], board_data_begin[], board_data_end[], board_bss_begin[],
    board_bss_end[];

int main(void);
void board_reset(void) __attribute__((noreturn));

static void fault(void)
{
    board_print("board: fault\n");
    board_exit(3);
}

typedef void (*vector_t)(void);

__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    (vector_t)(uintptr_t)board_stack_top, board_reset, fault, fault, fault, fault, fault, fault, 0, 0, 0, fault,
    fault, 0, fault, fault,
};

void board_reset(void)
{
#if defined(__ARM_FP)
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: the FPU is on */
    __asm__ volatile("dsb\nisb" ::: "memory");
#endif
    const uint32_t *from = board_data_source;
    for (volatile uint32_t *to = board_data_begin; to < (volatile uint32_t *)board_data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = board_bss_begin; to < (volatile uint32_t *)board_bss_end; to++) {
        *to = 0u;
    }
    board_exit(main());
}
