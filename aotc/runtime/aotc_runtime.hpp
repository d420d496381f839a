// The C runtime for C++: models and tensors as objects, failures as exceptions. C++11, header only.
#ifndef AOTC_RUNTIME_HPP_
#define AOTC_RUNTIME_HPP_

#include <cstdint>
#include <cstring>
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
  // Throws Error where they are of another version.
  const AOTCMetadata &metadata() const {
    const AOTCMetadata *found = model_->metadata;
    if (found != nullptr && found->version != AOTC_METADATA_VERSION) throw Error(kAOTCErrorWrongVersion);
    return *found;
  }

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

// A packed model with buffers of its own, by the names of its metadata: set_input, run, get_output. Workspace, weights
// and handle are as for Run. One thread at a time; models without metadata have no names.
class Executor {
 public:
  explicit Executor(const aotc_model_t &model, void *workspace = nullptr, const void *weights = nullptr,
                    void *resource_handle = nullptr)
      : model_(model), workspace_(workspace), weights_(weights), resource_handle_(resource_handle) {
    const AOTCMetadata &metadata = model_.metadata();
    const AOTCParameterInfo *info = nullptr;
    for (std::int32_t i = 0; (info = AOTCMetadata_GetParameter(&metadata, i)) != nullptr; ++i) {
      memory_.emplace_back(static_cast<std::size_t>(AOTCParameterInfo_GetBytes(info)));
    }
  }

  // Copies as many bytes as the input has from `data`; throws Error where there is no such input.
  void set_input(const std::string &name, const void *data) { copy(buffer(name, false), data); }
  void set_input(std::size_t index, const void *data) { copy(buffer(index, false), data); }

  // The memory of an input, for an application that fills it itself, or of an output.
  void *input(const std::string &name) { return buffer(name, false).data(); }
  const void *output(const std::string &name) { return buffer(name, true).data(); }

  void run() {
    std::vector<Tensor> sides[2];
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const AOTCParameterInfo &info = *AOTCMetadata_GetParameter(&model_.metadata(), static_cast<std::int32_t>(i));
      std::vector<std::int64_t> shape(info.shape, info.shape + info.ndim);
      sides[i < model_.num_inputs() ? 0 : 1].emplace_back(memory_[i].data(), info.dtype, shape);
    }
    model_.Run(sides[0], sides[1], workspace_, weights_, resource_handle_);
  }

  // Copies an output of the last run to `data`; throws Error where there is no such output.
  void get_output(const std::string &name, void *data) { copy_out(buffer(name, true), data); }
  void get_output(std::size_t index, void *data) { copy_out(buffer(index, true), data); }

 private:
  typedef std::vector<unsigned char> Memory;

  static void copy(Memory &to, const void *data) {
    if (!to.empty()) std::memcpy(to.data(), data, to.size());
  }
  static void copy_out(const Memory &from, void *data) {
    if (!from.empty()) std::memcpy(data, from.data(), from.size());
  }
  Memory &buffer(std::size_t index, bool output) {
    if (index >= (output ? model_.num_outputs() : model_.num_inputs())) throw Error(kAOTCErrorInvalidArgument);
    return memory_.at(index + (output ? model_.num_inputs() : 0));
  }
  Memory &buffer(const std::string &name, bool output) {
    // An output may have the name of an input, so that all positions of its side are looked at.
    std::int32_t first = output ? static_cast<std::int32_t>(model_.num_inputs()) : 0;
    std::size_t count = output ? model_.num_outputs() : model_.num_inputs();
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t position = first + static_cast<std::int32_t>(i);
      const AOTCParameterInfo *info = AOTCMetadata_GetParameter(&model_.metadata(), position);
      if (info != nullptr && name == info->relay_name_hint) return buffer(i, output);
    }
    throw Error(kAOTCErrorInvalidArgument);
  }

  Model model_;
  std::vector<Memory> memory_;
  void *workspace_;
  const void *weights_;
  void *resource_handle_;
};

}  // namespace aotc

#endif  // AOTC_RUNTIME_HPP_
