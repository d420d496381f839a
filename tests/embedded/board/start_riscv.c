/* Machine-mode reset of QEMU's `virt` board. */
#include "board.h"

extern uint32_t board_data_source[], board_data_begin[], board_data_end[], board_bss_begin[], board_bss_end[];

int main(void);
void board_main(void) __attribute__((noreturn));
void board_fault(void) __attribute__((aligned(4)));

void board_fault(void)
{
    board_print("board: fault\n");
    board_exit(3);
}

void board_main(void)
{
    const uint32_t *from = board_data_source;
    for (volatile uint32_t *to = board_data_begin; to < (volatile uint32_t *)board_data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = board_bss_begin; to < (volatile uint32_t *)board_bss_end; to++) {
        *to = 0u;
    }
    board_exit(main());
}

__asm__(".section .vectors, \"ax\"\n"
        ".globl board_reset\n"
        "board_reset:\n"
        ".option push\n"
        ".option norelax\n"
        "la gp, __global_pointer$\n"
        ".option pop\n"
        "la sp, board_stack_top\n"
        "la t0, board_fault\n"
        ".option push\n"
        ".option arch, +zicsr\n"
        "csrw mtvec, t0\n"
#if defined(__riscv_flen)
        "li t0, 0x2000\n" /* mstatus.FS: the FPU is on */
        "csrs mstatus, t0\n"
#endif
        ".option pop\n"
        "j board_main\n"
        ".previous\n");
