// The C runtime for C++: models and tensors as objects, failures as exceptions. C++11, header only.
#ifndef AOTC_RUNTIME_HPP_
#define AOTC_RUNTIME_HPP_

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "aotc_runtime.h"

namespace aotc {

class Error : public std::runtime_error {
 public:
  explicit Error(aotc_error_t code) : std::runtime_error("aotc: status " + std::to_string(code)), code_(code) {}
  aotc_error_t code() const noexcept { return code_; }

 private:
  aotc_error_t code_;
};

inline void Check(aotc_error_t code) {
  if (code != kAOTCErrorNone) throw Error(code);
}

// A contiguous tensor on memory of the caller's.
class Tensor {
 public:
  Tensor(void *data, DLDataType dtype, std::vector<std::int64_t> shape)
      : data_(data), dtype_(dtype), shape_(std::move(shape)) {}

  // The structure that packed functions take; valid as long as this object.
  DLTensor view() const {
    DLDevice device = DLDevice();
    DLDataType dtype = dtype_;
    device.device_type = kDLCPU;
    return AOTCInitializeDLTensor(data_, &dtype, &device, const_cast<std::int64_t *>(shape_.data()),
                                  static_cast<std::int64_t>(shape_.size()));
  }

 private:
  void *data_;
  DLDataType dtype_;
  std::vector<std::int64_t> shape_;
};

// A packed model that is linked with the program.
class Model {
 public:
  explicit Model(const aotc_model_t &model) noexcept : model_(&model) {}

  std::size_t num_inputs() const noexcept { return model_->num_input_tensors; }
  std::size_t num_outputs() const noexcept { return model_->num_output_tensors; }
  const AOTCMetadata &metadata() const noexcept { return *model_->metadata; }

  // Runs once on workspace, weights and handle as the model needs them; throws Error with the status otherwise.
  void Run(const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, void *workspace = nullptr,
           const void *weights = nullptr, void *resource_handle = nullptr) const {
    std::vector<DLTensor> in, out;
    for (const Tensor &tensor : inputs) in.push_back(tensor.view());
    for (const Tensor &tensor : outputs) out.push_back(tensor.view());
    Check(AOTCRuntime_RunOn(model_, in.data(), static_cast<int>(in.size()), out.data(), static_cast<int>(out.size()),
                            workspace, weights, resource_handle));
  }

 private:
  const aotc_model_t *model_;
};

}  // namespace aotc

#endif  // AOTC_RUNTIME_HPP_
