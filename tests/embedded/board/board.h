/* What a program on an emulated board may use: the host's console and files, and measuring. */
#ifndef BOARD_H_
#define BOARD_H_

#include <stddef.h>
#include <stdint.h>

/* --- the host, through semihosting; paths are relative to the emulator's folder --- */

typedef enum { BOARD_READ = 1 /* "rb" */, BOARD_WRITE = 5 /* "wb" */ } board_mode_t;

void board_print(const char *text);
/* Prints "name=value" on a line of its own. */
void board_report(const char *name, uint32_t value);
/* A file; ends the program where it cannot be opened. */
intptr_t board_open(const char *path, board_mode_t mode);
/* Both end the program unless all `size` bytes were moved. */
void board_read(intptr_t file, void *to, size_t size);
void board_write(intptr_t file, const void *from, size_t size);
/* Ends the program; the emulator exits with `status`. */
void board_exit(int status) __attribute__((noreturn));

/* --- measuring --- */

/* Calls `job` once and returns how many bytes of stack were written to below where it called `board_mark`, or below
 * itself if it never did. What the emulator's plugin counts is the instructions of this call. */
uint32_t board_measure_stack(void (*job)(void));
static inline void board_mark(void);
/* The most bytes the heap ever had. */
uint32_t board_heap_peak(void);

extern uint32_t *board_marked;

static inline uint32_t *board_stack_pointer(void)
{
    uint32_t *pointer;
#if defined(__riscv)
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
#else
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#endif
    return pointer;
}

static inline void board_mark(void)
{
    board_marked = board_stack_pointer();
}

#endif /* BOARD_H_ */
