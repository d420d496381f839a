/* Vector table and reset: variables get their first values, then main runs. A vendor's SDK brings its own. */
#include <stdint.h>

extern uint32_t stack_top[], data_source[], data_begin[], data_end[], bss_begin[], bss_end[];

int main(void);
void reset(void);

static void fault(void)
{
    for (;;) {
    }
}

typedef void (*vector_t)(void);

__attribute__((section(".vectors"), used)) static const vector_t vectors[16] = {
    (vector_t)(uintptr_t)stack_top, reset, fault, fault, 0, 0, 0, 0, 0, 0, 0, fault, 0, 0, fault, fault,
};

void reset(void)
{
    const uint32_t *from = data_source;
    for (uint32_t *to = data_begin; to < data_end; to++) {
        *to = *from++;
    }
    for (volatile uint32_t *to = bss_begin; to < (volatile uint32_t *)bss_end; to++) {
        *to = 0;
    }
    (void)main();
    fault();
}
