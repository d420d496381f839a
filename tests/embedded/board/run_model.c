/* Runs a model on every case of inputs.bin and writes outputs.bin. The rig defines
 *
 *     MODEL_HEADER   "kws.h"
 *     MODEL(x)       the name of what the header calls aotc_kws_x
 *     INTERFACE_C | INTERFACE_MICRO | INTERFACE_PACKED
 *     INPUT_SIZE, OUTPUT_SIZE in bytes, CASES
 *     INPUT_SHAPE, OUTPUT_SHAPE and INPUT_DTYPE, OUTPUT_DTYPE as initialisers, for packed models
 *     MACRO(x)       AOTC_KWS_x, and PUSH, the entry, of models that take their input by rows */
#include "board.h"

#include MODEL_HEADER

static uint64_t input[(INPUT_SIZE + 7) / 8];
static uint64_t output[(OUTPUT_SIZE + 7) / 8];
static int32_t status;

#if defined(PUSH)

/* Hands the input over, as many rows at once as may come. */
static void run(void)
{
    const unsigned char *rows = (const unsigned char *)input;
    board_mark();
    for (int32_t left = MACRO(INPUT_0_NUM_ROWS), count; left > 0; left -= count) {
        count = left < MACRO(INPUT_0_ROWS) ? left : MACRO(INPUT_0_ROWS);
        status = PUSH((const void *)rows, count, (void *)output);
        rows += count * MACRO(INPUT_0_ROW_SIZE);
    }
    status -= 1;
}

#elif defined(INTERFACE_C)

static void run(void)
{
    board_mark();
    status = MODEL(run)((const void *)input, (void *)output);
}

#elif defined(INTERFACE_MICRO)

static void *inputs[1] = {input}, *outputs[1] = {output};

static void run(void)
{
    board_mark();
    status = MODEL(run_micro)(inputs, outputs, NULL);
}

#else

static int64_t input_shape[] = INPUT_SHAPE, output_shape[] = OUTPUT_SHAPE;
static DLTensor tensors[2] = {
    {input, {1, 0}, sizeof input_shape / sizeof input_shape[0], INPUT_DTYPE, input_shape, NULL, 0},
    {output, {1, 0}, sizeof output_shape / sizeof output_shape[0], OUTPUT_DTYPE, output_shape, NULL, 0},
};
static AOTCValue values[2];
static int32_t codes[2] = {7, 7};

static void run(void)
{
    values[0].v_handle = &tensors[0];
    values[1].v_handle = &tensors[1];
    board_mark();
    status = MODEL(run_packed)(values, codes, 2, NULL, NULL, NULL);
}

#endif

int main(void)
{
    const intptr_t in = board_open("inputs.bin", BOARD_READ);
    const intptr_t out = board_open("outputs.bin", BOARD_WRITE);
    uint32_t stack = 0;
    for (int i = 0; i < CASES; i++) {
        board_read(in, input, INPUT_SIZE);
        const uint32_t used = board_measure_stack(run);
        stack = used > stack ? used : stack;
        if (status != 0) {
            board_report("minus status", (uint32_t)-status);
            return 1;
        }
        board_write(out, output, OUTPUT_SIZE);
    }
    board_report("stack", stack);
    board_report("heap", board_heap_peak());
    return 0;
}
