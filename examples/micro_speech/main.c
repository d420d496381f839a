/* Reads one spectrogram from standard input, writes the four scores to standard output. */
#include <stdio.h>

#include "micro_speech.h"

int main(void) {
  static int8_t features[1960];
  int8_t scores[4];
  if (fread(features, 1, sizeof features, stdin) != sizeof features) return 1;
  if (aotc_micro_speech_run(features, scores) != 0) return 2;
  return fwrite(scores, 1, sizeof scores, stdout) == sizeof scores ? 0 : 3;
}
