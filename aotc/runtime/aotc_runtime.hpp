// The C runtime for C++: models and tensors as objects, failures as exceptions. C++11, header only.
#ifndef AOTC_RUNTIME_HPP_
#define AOTC_RUNTIME_HPP_

#include <cstddef>
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

// Elements of one array of another's, without a copy.
template <typename T>
class Span {
 public:
  Span(const T *data, std::size_t size) noexcept : data_(data), size_(data == nullptr ? 0 : size) {}

  const T *begin() const noexcept { return data_; }
  const T *end() const noexcept { return size_ == 0 ? data_ : data_ + size_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // Throws Error behind the end.
  const T &operator[](std::size_t index) const {
    if (index >= size_) throw Error(kAOTCErrorInvalidArgument);
    return data_[index];
  }

 private:
  const T *data_;
  std::size_t size_;
};

// What is known of an input, an output, or the scratch memory of an operator.
class ParameterInfo {
 public:
  explicit ParameterInfo(const AOTCParameterInfo &info) noexcept : info_(&info) {}

  std::string name() const { return info_->relay_name_hint; }
  std::string identifier() const { return info_->tir_name_hint; }
  Span<std::int64_t> shape() const noexcept {
    return Span<std::int64_t>(info_->shape, static_cast<std::size_t>(info_->ndim));
  }
  DLDataType dtype() const noexcept { return info_->dtype; }
  std::size_t bytes() const { return static_cast<std::size_t>(AOTCParameterInfo_GetBytes(info_)); }

 private:
  const AOTCParameterInfo *info_;
};

// What is known of the entry or of an operator.
class FunctionInfo {
 public:
  explicit FunctionInfo(const AOTCFunctionInfo &info) noexcept : info_(&info) {}

  std::string name() const { return info_->function_name; }
  std::vector<ParameterInfo> inputs() const { return parameters(0, info_->num_inputs); }
  std::vector<ParameterInfo> outputs() const { return parameters(info_->num_inputs, info_->num_outputs); }
  std::int64_t workspace_bytes() const noexcept { return info_->workspace_size_bytes; }
  std::int64_t io_bytes() const noexcept { return info_->io_size_bytes; }
  std::int64_t constant_bytes() const noexcept { return info_->constant_size_bytes; }

 private:
  std::vector<ParameterInfo> parameters(std::int32_t first, std::int32_t count) const {
    std::vector<ParameterInfo> found;
    for (std::int32_t i = 0; i < count; ++i) found.emplace_back(info_->params[first + i]);
    return found;
  }

  const AOTCFunctionInfo *info_;
};

// What is known of a model: nothing of one that was compiled without metadata.
class Metadata {
 public:
  // Throws Error where they are of another version.
  explicit Metadata(const AOTCMetadata *metadata) : metadata_(metadata) {
    if (metadata != nullptr && metadata->version != AOTC_METADATA_VERSION) throw Error(kAOTCErrorWrongVersion);
  }

  explicit operator bool() const noexcept { return metadata_ != nullptr; }
  std::string name() const { return metadata_ == nullptr ? "" : metadata_->module_name; }
  // The entry, then the operators.
  std::vector<FunctionInfo> functions() const {
    std::vector<FunctionInfo> found;
    const std::size_t count = metadata_ == nullptr ? 0 : static_cast<std::size_t>(metadata_->num_functions);
    for (std::size_t i = 0; i < count; ++i) found.emplace_back(metadata_->functions[i]);
    return found;
  }
  std::vector<ParameterInfo> inputs() const { return sides(&FunctionInfo::inputs); }
  std::vector<ParameterInfo> outputs() const { return sides(&FunctionInfo::outputs); }

 private:
  std::vector<ParameterInfo> sides(std::vector<ParameterInfo> (FunctionInfo::*side)() const) const {
    if (metadata_ == nullptr || metadata_->num_functions == 0) return std::vector<ParameterInfo>();
    return (FunctionInfo(metadata_->functions[0]).*side)();
  }

  const AOTCMetadata *metadata_;
};

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
  Metadata metadata() const { return Metadata(model_->metadata); }

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
    inputs_ = sides(model_.metadata().inputs());
    outputs_ = sides(model_.metadata().outputs());
  }

  // Copies as many bytes as the input has from `data`; throws Error where there is no such input.
  void set_input(const std::string &name, const void *data) { copy(find(inputs_, name), data); }
  void set_input(std::size_t index, const void *data) { copy(at(inputs_, index), data); }

  // The memory of an input, for an application that fills it itself, or of an output.
  void *input(const std::string &name) { return find(inputs_, name).memory.data(); }
  const void *output(const std::string &name) { return find(outputs_, name).memory.data(); }

  void run() { model_.Run(tensors(inputs_), tensors(outputs_), workspace_, weights_, resource_handle_); }

  // Copies an output of the last run to `data`; throws Error where there is no such output.
  void get_output(const std::string &name, void *data) { copy_out(find(outputs_, name), data); }
  void get_output(std::size_t index, void *data) { copy_out(at(outputs_, index), data); }

 private:
  struct Buffer {
    ParameterInfo info;
    std::vector<unsigned char> memory;
  };
  typedef std::vector<Buffer> Buffers;

  static Buffers sides(const std::vector<ParameterInfo> &infos) {
    Buffers found;
    for (const ParameterInfo &info : infos) found.push_back({info, std::vector<unsigned char>(info.bytes())});
    return found;
  }
  static std::vector<Tensor> tensors(Buffers &buffers) {
    std::vector<Tensor> found;
    for (Buffer &buffer : buffers) {
      const Span<std::int64_t> shape = buffer.info.shape();
      found.emplace_back(buffer.memory.data(), buffer.info.dtype(),
                         std::vector<std::int64_t>(shape.begin(), shape.end()));
    }
    return found;
  }
  static void copy(Buffer &to, const void *data) {
    if (!to.memory.empty()) std::memcpy(to.memory.data(), data, to.memory.size());
  }
  static void copy_out(const Buffer &from, void *data) {
    if (!from.memory.empty()) std::memcpy(data, from.memory.data(), from.memory.size());
  }
  static Buffer &at(Buffers &buffers, std::size_t index) {
    if (index >= buffers.size()) throw Error(kAOTCErrorInvalidArgument);
    return buffers[index];
  }
  // An output may have the name of an input.
  static Buffer &find(Buffers &buffers, const std::string &name) {
    for (Buffer &buffer : buffers) {
      if (buffer.info.name() == name) return buffer;
    }
    throw Error(kAOTCErrorInvalidArgument);
  }

  Model model_;
  Buffers inputs_, outputs_;
  void *workspace_;
  const void *weights_;
  void *resource_handle_;
};

}  // namespace aotc

#endif  // AOTC_RUNTIME_HPP_
