/* Keyword spotting on a BBC micro:bit (Nordic nRF51822: Cortex-M0, 256 KiB of flash, 16 KiB of RAM).
 *
 * Says over the serial port what it hears in two recordings. In a product the features come from a microphone. */
#include <stdint.h>

#include "micro_speech.h"
#include "samples.h"

/* Everything about the model's memory is known when compiling. */
_Static_assert(AOTC_MICRO_SPEECH_WORKSPACE_SIZE + AOTC_MICRO_SPEECH_IO_SIZE <= 12 * 1024, "leave RAM for the rest");
_Static_assert(AOTC_MICRO_SPEECH_INPUT_0_LENGTH == sizeof yes, "the recordings are for another model");

#define UART(offset) (*(volatile uint32_t *)(0x40002000u + (offset)))

static void uart_start(void)
{
    UART(0x50C) = 24;        /* PSELTXD: the pin that goes to the USB interface */
    UART(0x524) = 0x1D7E000; /* BAUDRATE: 115200 */
    UART(0x500) = 4;         /* ENABLE */
    UART(0x008) = 1;         /* TASKS_STARTTX */
}

static void print(const char *text)
{
    for (; *text != '\0'; text++) {
        UART(0x11C) = 0; /* EVENTS_TXDRDY */
        UART(0x51C) = (uint32_t)*text;
        while (UART(0x11C) == 0) {
        }
    }
}

static const char *listen(const int8_t *features)
{
    static const char *const labels[AOTC_MICRO_SPEECH_OUTPUT_0_LENGTH] = {"silence", "unknown", "yes", "no"};
    int8_t scores[AOTC_MICRO_SPEECH_OUTPUT_0_LENGTH];
    if (aotc_micro_speech_run(features, scores) != 0) {
        return "error";
    }
    int best = 0;
    for (int i = 1; i < AOTC_MICRO_SPEECH_OUTPUT_0_LENGTH; i++) {
        best = scores[i] > scores[best] ? i : best;
    }
    return labels[best];
}

int main(void)
{
    uart_start();
    print("the recording of yes: ");
    print(listen(yes));
    print("\r\nthe recording of no: ");
    print(listen(no));
    print("\r\n");
    for (;;) {
        __asm__ volatile("wfi");
    }
}
