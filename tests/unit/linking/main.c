/* Three models in one program, in turns; cases.h holds what goes in and what has to come out.
 * Returns 0, or the number of the first call that was wrong. C and C++. */
#include <stdint.h>

#include "again.h"
#include "cases.h"
#include "quantised.h"
#include "sine.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static int run_sine(void)
{
    static float output[AOTC_SINE_OUTPUT_0_LENGTH];
    if (aotc_sine_run(sine_input, output) != 0) {
        return 0;
    }
    for (int i = 0; i < LENGTH(sine_output); i++) {
        const float difference = output[i] - sine_output[i];
        if (difference > 1e-5f || difference < -1e-5f) {
            return 0;
        }
    }
    return 1;
}

static int run_quantised(int32_t (*run)(const int8_t *, int8_t *))
{
    static int8_t output[AOTC_QUANTISED_OUTPUT_0_LENGTH];
    if (run(quantised_input, output) != 0) {
        return 0;
    }
    for (int i = 0; i < LENGTH(quantised_output); i++) {
        if (output[i] != quantised_output[i]) {
            return 0;
        }
    }
    return 1;
}

int main(void)
{
    for (int round = 0; round < 6; round += 3) {
        if (!run_sine()) {
            return round + 1;
        }
        if (!run_quantised(aotc_quantised_run)) {
            return round + 2;
        }
        if (!run_quantised(aotc_again_model.run_func)) { /* through the descriptor */
            return round + 3;
        }
    }
    return aotc_quantised_model.num_input_tensors == 1u && aotc_again_run != aotc_quantised_run ? 0 : 7;
}
