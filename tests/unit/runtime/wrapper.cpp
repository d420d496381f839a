// B8: the C++ wrapper.
#include "aotc_runtime.hpp"

#include "check.h"

static int32_t Run(void *args, void *, int32_t num_args, void *, void *, void *) {
  AOTCValue *values = static_cast<AOTCValue *>(args);
  DLTensor *x = static_cast<DLTensor *>(values[0].v_handle), *y = static_cast<DLTensor *>(values[1].v_handle);
  if (num_args != 2 || x->ndim != 1 || x->shape[0] != 3) return kAOTCErrorCheckFailed;
  for (int i = 0; i < 3; ++i) static_cast<float *>(y->data)[i] = static_cast<float *>(x->data)[i] + 1;
  return 0;
}

static const AOTCMetadata metadata = {AOTC_METADATA_VERSION, nullptr, "t", 0};
static const aotc_model_t model = {Run, 1, 1, 0, &metadata, nullptr};

int main() {
  float x[3] = {1, 2, 3}, y[3];
  DLDataType f32 = {kDLFloat, 32, 1};
  aotc::Model wrapped(model);
  CHECK(wrapped.num_inputs() == 1 && wrapped.num_outputs() == 1 && wrapped.metadata().version == 1);
  wrapped.Run({aotc::Tensor(x, f32, {3})}, {aotc::Tensor(y, f32, {3})});
  CHECK(y[2] == 4);
  int code = 0;
  try {
    wrapped.Run({aotc::Tensor(x, f32, {3, 1})}, {aotc::Tensor(y, f32, {3})});
  } catch (const aotc::Error &error) {
    code = error.code();
  }
  CHECK(code == kAOTCErrorCheckFailed);
  return 0;
}
