// SPDX-License-Identifier: Apache-2.0
// Tensors from bytes in host memory, and back.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/host_array.h"

namespace mt {

struct NamedTensor {
  std::string name;
  Tensor value;
};

// A value with a copy of `data`, which is row-major and contiguous.
Tensor from_host(const void* data, Dtype dtype, const Shape& shape, Device& device);

// Their elements, row-major and contiguous; all computed together.
std::vector<HostArray> to_host(const std::vector<NamedTensor>& tensors);

// A place for a value's bytes: host memory to be filled, then taken as a tensor.
class HostBuffer {
 public:
  HostBuffer(const char* what, Dtype dtype, const Shape& shape, Device& device);
  void* data() { return data_; }
  size_t bytes() const { return bytes_; }
  // The tensor with these elements; the buffer is spent.
  Tensor take();

 private:
  Dtype dtype_;
  Shape shape_;
  size_t bytes_;
  Ref<Storage> storage_;
  std::unique_ptr<char[]> copy_;
  void* data_;
};

}  // namespace mt
