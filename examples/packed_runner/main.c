/* A packed model behind the C runtime: reads one spectrogram from standard input, prints the word that was spoken. */
#include <stdio.h>

#include "aotc_runtime.h"
#include "network.h"

int main(void) {
  static const char *const labels[AOTC_NETWORK_OUTPUT_0_LENGTH] = {"silence", "unknown", "yes", "no"};
  static AOTC_NETWORK_INPUT_0_TYPE features[AOTC_NETWORK_INPUT_0_LENGTH];
  static AOTC_NETWORK_OUTPUT_0_TYPE scores[AOTC_NETWORK_OUTPUT_0_LENGTH];
  int64_t input_shape[] = AOTC_NETWORK_INPUT_0_SHAPE;
  int64_t output_shape[] = AOTC_NETWORK_OUTPUT_0_SHAPE;
  DLDataType int8 = {kDLInt, 8, 1};
  DLContext cpu = {kDLCPU, 0};
  DLTensor inputs[1], outputs[1];
  aotc_error_t status;
  int best = 0, i;

  if (fread(features, sizeof features, 1, stdin) != 1) return 1;
  inputs[0] = AOTCInitializeDLTensor(features, &int8, &cpu, input_shape, AOTC_NETWORK_INPUT_0_NDIM);
  outputs[0] = AOTCInitializeDLTensor(scores, &int8, &cpu, output_shape, AOTC_NETWORK_OUTPUT_0_NDIM);

  /* The descriptor is an object, not a pointer; the runtime hands on the inputs and then the outputs. */
  status = AOTCRuntime_Run(&aotc_network_model, inputs, 1, outputs, 1);
  if (status != kAOTCErrorNone) {
    fprintf(stderr, "error %d\n", (int)status);
    return 2;
  }
  for (i = 1; i < AOTC_NETWORK_OUTPUT_0_LENGTH; ++i) {
    if (scores[i] > scores[best]) best = i;
  }
  printf("%s\n", labels[best]);
  return 0;
}
