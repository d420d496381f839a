/* Semihosting and measuring. */
#include "board.h"

/* Semihosting: an operation and its arguments, handed to the debugger, which is the emulator. */
#if defined(__riscv)
static intptr_t host(intptr_t operation, const void *arguments)
{
    register intptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = arguments;
    /* The emulator recognises the uncompressed instructions around ebreak, all in one page. */
    __asm__ volatile(".option push\n"
                     ".option norvc\n"
                     ".balign 16\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}
#else
static intptr_t host(intptr_t operation, const void *arguments)
{
    register intptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}
#endif

enum { HOST_OPEN = 1, HOST_PRINT = 4, HOST_WRITE = 5, HOST_READ = 6, HOST_EXIT = 0x20 };

void board_print(const char *text)
{
    (void)host(HOST_PRINT, text);
}

void board_report(const char *name, uint32_t value)
{
    char digits[12];
    char *first = &digits[sizeof digits - 2];
    first[0] = '\n';
    first[1] = '\0';
    do {
        *--first = (char)('0' + value % 10u);
        value /= 10u;
    } while (value != 0u);
    board_print(name);
    board_print("=");
    board_print(first);
}

static void fail(const char *what)
{
    board_print("board: ");
    board_print(what);
    board_print("\n");
    board_exit(2);
}

intptr_t board_open(const char *path, board_mode_t mode)
{
    uintptr_t length = 0;
    while (path[length] != '\0') {
        length++;
    }
    const uintptr_t arguments[3] = {(uintptr_t)path, (uintptr_t)mode, length};
    const intptr_t file = host(HOST_OPEN, arguments);
    if (file == -1) {
        fail("cannot open a file");
    }
    return file;
}

/* Both operations return how many bytes are left. */
static void transfer(intptr_t operation, intptr_t file, const void *data, size_t size)
{
    const uintptr_t arguments[3] = {(uintptr_t)file, (uintptr_t)data, size};
    if (host(operation, arguments) != 0) {
        fail("a file ends early");
    }
}

void board_read(intptr_t file, void *to, size_t size)
{
    transfer(HOST_READ, file, to, size);
}

void board_write(intptr_t file, const void *from, size_t size)
{
    transfer(HOST_WRITE, file, from, size);
}

void board_exit(int status)
{
    const uintptr_t arguments[2] = {0x20026u /* the application has ended */, (uintptr_t)status};
    for (;;) {
        (void)host(HOST_EXIT, arguments);
    }
}

/* Marks for the plugin. */
__attribute__((noinline, used)) void board_count_begin(void)
{
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline, used)) void board_count_end(void)
{
    __asm__ volatile("" ::: "memory");
}

extern uint32_t board_stack_limit[];

#define PAINT 0xC5A55A3Cu

uint32_t *board_marked;

__attribute__((noinline)) uint32_t board_measure_stack(void (*job)(void))
{
    board_marked = board_stack_pointer();
    uint32_t *const top = board_marked;
    volatile uint32_t *word;
    for (word = board_stack_limit; word < top; word++) {
        *word = PAINT;
    }
    board_count_begin();
    job();
    board_count_end();
    for (word = board_stack_limit; word < top && *word == PAINT; word++) {
    }
    if (word == board_stack_limit) {
        fail("stack overflow");
    }
    return word < board_marked ? (uint32_t)((uintptr_t)board_marked - (uintptr_t)word) : 0u;
}
