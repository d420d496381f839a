// B8: the C++ wrapper. E3: inputs and outputs by name. E27: metadata of another version. E28: metadata as objects.
#include "aotc_runtime.hpp"

#include "check.h"

static int32_t Run(void *args, void *, int32_t num_args, void *, void *, void *) {
  AOTCValue *values = static_cast<AOTCValue *>(args);
  DLTensor *x = static_cast<DLTensor *>(values[0].v_handle), *y = static_cast<DLTensor *>(values[1].v_handle);
  if (num_args != 2 || x->ndim != 1 || x->shape[0] != 3) return kAOTCErrorCheckFailed;
  for (int i = 0; i < 3; ++i) static_cast<float *>(y->data)[i] = static_cast<float *>(x->data)[i] + 1;
  return 0;
}

static const std::int64_t shape[] = {3};
static const AOTCParameterInfo params[] = {{"x:0", "x_0", shape, 1, {kDLFloat, 32, 1}},
                                           {"y", "y", shape, 1, {kDLFloat, 32, 1}}};
static const AOTCFunctionInfo functions[] = {{"run", params, 1, 1, 0, 24, 0}};
static const AOTCMetadata metadata = {AOTC_METADATA_VERSION, functions, "t", 1};
static const aotc_model_t model = {Run, 1, 1, 0, &metadata, nullptr};

static const AOTCMetadata later = {AOTC_METADATA_VERSION + 1, functions, "t", 1};
static const aotc_model_t newer = {Run, 1, 1, 0, &later, nullptr};

static int Refused(aotc::Executor &executor, const char *input, const char *output) {
  float values[3] = {0, 0, 0};
  try {
    if (input != nullptr) executor.set_input(input, values);
    if (output != nullptr) executor.get_output(output, values);
  } catch (const aotc::Error &error) {
    return error.code();
  }
  return 0;
}

static void ByName() {
  float x[3] = {1, 2, 3}, y[3] = {0, 0, 0};
  aotc::Executor executor(model), other(model);
  executor.set_input("x:0", x);
  executor.run();
  executor.get_output("y", y);
  CHECK(y[0] == 2 && y[2] == 4);
  static_cast<float *>(executor.input("x:0"))[0] = 10;
  executor.run();
  CHECK(static_cast<const float *>(executor.output("y"))[0] == 11);
  executor.set_input(0, x);
  executor.run();
  executor.get_output(0, y);
  CHECK(y[0] == 2);
  other.run();
  other.get_output("y", y);
  CHECK(y[0] == 1);
  CHECK(Refused(executor, "x:0", "y") == 0);
  CHECK(Refused(executor, "y", nullptr) == kAOTCErrorInvalidArgument);
  CHECK(Refused(executor, nullptr, "x:0") == kAOTCErrorInvalidArgument);
  CHECK(Refused(executor, "x", nullptr) == kAOTCErrorInvalidArgument);
  int code = 0;
  try {
    executor.set_input(1, x);
  } catch (const aotc::Error &error) {
    code = error.code();
  }
  CHECK(code == kAOTCErrorInvalidArgument);
  try {
    aotc::Executor of_another_version(newer);
    code = 0;
  } catch (const aotc::Error &error) {
    code = error.code();
  }
  CHECK(code == kAOTCErrorWrongVersion);
}

static void AsObjects() {
  const std::int64_t sizes[] = {2, 3};
  const AOTCParameterInfo given[] = {{"a:0", "a_0", sizes, 2, {kDLInt, 8, 1}},
                                     {"b", "b", nullptr, 0, {kDLFloat, 32, 1}},
                                     {"c", "c", sizes + 1, 1, {kDLFloat, 32, 1}}};
  const AOTCFunctionInfo two[] = {{"run", given, 2, 1, 64, 22, 12}, {"op", given + 1, 1, 1, 0, 16, 0}};
  const AOTCMetadata both = {AOTC_METADATA_VERSION, two, "net", 2};
  const aotc_model_t full = {Run, 2, 1, 0, &both, nullptr}, without = {Run, 2, 1, 0, nullptr, nullptr};

  const aotc::Metadata found = aotc::Model(full).metadata();
  CHECK(found && found.name() == "net" && found.functions().size() == 2);
  const aotc::FunctionInfo entry = found.functions()[0], op = found.functions()[1];
  CHECK(entry.name() == "run" && op.name() == "op");
  CHECK(entry.workspace_bytes() == 64 && entry.io_bytes() == 22 && entry.constant_bytes() == 12);
  CHECK(entry.inputs().size() == 2 && entry.outputs().size() == 1 && op.outputs()[0].name() == "c");
  CHECK(found.inputs()[1].name() == "b" && found.outputs()[0].name() == "c");
  const aotc::ParameterInfo a = found.inputs()[0];
  CHECK(a.name() == "a:0" && a.identifier() == "a_0" && a.dtype().code == kDLInt && a.bytes() == 6);
  std::int64_t elements = 1;
  for (std::int64_t extent : a.shape()) elements *= extent;
  CHECK(elements == 6 && a.shape().size() == 2 && a.shape()[1] == 3);
  CHECK(found.inputs()[1].shape().empty() && found.inputs()[1].bytes() == 4);
  int code = 0;
  try {
    (void)a.shape()[2];
  } catch (const aotc::Error &error) {
    code = error.code();
  }
  CHECK(code == kAOTCErrorInvalidArgument);
  const aotc::Metadata none = aotc::Model(without).metadata();
  CHECK(!none && none.name().empty() && none.functions().empty() && none.inputs().empty());
}

int main() {
  ByName();
  AsObjects();
  float x[3] = {1, 2, 3}, y[3];
  DLDataType f32 = {kDLFloat, 32, 1};
  aotc::Model wrapped(model);
  CHECK(wrapped.num_inputs() == 1 && wrapped.num_outputs() == 1);
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
