/* D13: packed functions by name; the model's own table before the registry. */
#include "aotc_runtime.h"
#include "check.h"

static int32_t One(void *a, void *b, int32_t n, void *c, void *d, void *e) {
  (void)a, (void)b, (void)n, (void)c, (void)d, (void)e;
  return 1;
}
static int32_t Count(void *a, void *b, int32_t n, void *c, void *d, void *e) {
  (void)a, (void)b, (void)c, (void)d, (void)e;
  return n;
}

static const AOTCFunctionEntry own[] = {{"f", One}, {NULL, NULL}};
static const aotc_model_t model = {One, 0, 0, 0, NULL, own};
static char names[AOTC_MAX_GLOBAL_FUNCTIONS + 1][8];

int main(void) {
  AOTCPackedFunction f;
  int i;

  CHECK(AOTCCallPacked(own, "f", NULL, NULL, 7, NULL, NULL, NULL) == 1);
  CHECK(AOTCCallPacked(own, "g", NULL, NULL, 7, NULL, NULL, NULL) == kAOTCErrorUnknownFunction);
  CHECK(AOTCFuncRegisterGlobal("g", One) == kAOTCErrorNone);
  CHECK(AOTCFuncRegisterGlobal("g", Count) == kAOTCErrorNone); /* replaces */
  CHECK(AOTCCallPacked(own, "g", NULL, NULL, 7, NULL, NULL, NULL) == 7);
  CHECK(AOTCFuncRegisterGlobal("f", Count) == kAOTCErrorNone);
  CHECK(AOTCCallPacked(own, "f", NULL, NULL, 7, NULL, NULL, NULL) == 1);
  CHECK(AOTCCallPacked(NULL, "f", NULL, NULL, 7, NULL, NULL, NULL) == 7);
  CHECK(AOTCFuncGetGlobal("g", &f) == kAOTCErrorNone && f == Count);
  CHECK(AOTCFuncGetGlobal("gg", &f) == kAOTCErrorUnknownFunction);
  CHECK(AOTCFuncRegisterGlobal(NULL, Count) == kAOTCErrorInvalidArgument);
  CHECK(AOTCFuncRegisterGlobal("h", NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCFuncGetGlobal(NULL, &f) == kAOTCErrorInvalidArgument);
  CHECK(AOTCFuncGetGlobal("g", NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCModel_GetFunction(NULL, "f", &f) == kAOTCErrorInvalidArgument);
  CHECK(AOTCModel_GetFunction(&model, NULL, &f) == kAOTCErrorInvalidArgument);
  CHECK(AOTCModel_GetFunction(&model, "f", NULL) == kAOTCErrorInvalidArgument);
  CHECK(AOTCModel_GetFunction(&model, "f", &f) == kAOTCErrorNone && f == One);
  for (i = 2; i < AOTC_MAX_GLOBAL_FUNCTIONS; ++i) {
    sprintf(names[i], "n%d", i);
    CHECK(AOTCFuncRegisterGlobal(names[i], One) == kAOTCErrorNone);
  }
  CHECK(AOTCFuncRegisterGlobal("one more", One) == kAOTCErrorRegistryFull);
  CHECK(AOTCFuncRegisterGlobal("g", One) == kAOTCErrorNone);
  return 0;
}
