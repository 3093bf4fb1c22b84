// SPDX-License-Identifier: Apache-2.0
#include "io/host.h"

#include <new>

#include "backends/backend.h"
#include "backends/host.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/record.h"

namespace mt {
namespace {

std::unique_ptr<char[]> host_memory(const char* what, size_t bytes) {
  std::unique_ptr<char[]> memory(new (std::nothrow) char[bytes ? bytes : 1]);
  if (!memory) fail(Code::memory, "%s: out of memory: %zu bytes on the host", what, bytes);
  return memory;
}

}  // namespace

HostBuffer::HostBuffer(const char* what, Dtype dtype, const Shape& shape, Device& device)
    : dtype_(dtype), shape_(shape) {
  check_shape(shape, size_of(dtype), what);
  bytes_ = static_cast<size_t>(element_count(shape)) * size_of(dtype);
  storage_ = Storage::allocate(device, bytes_);
  if (!storage_) fail_for_memory(what, device, bytes_);
  if (!device.host_memory) copy_ = host_memory(what, bytes_);
  data_ = copy_ ? copy_.get() : storage_->data();
}

Tensor HostBuffer::take() {
  if (copy_) storage_->device().backend->copy_from_host(storage_->data(), copy_.get(), bytes_);
  copy_ = nullptr;
  return make_leaf(std::move(storage_), dtype_, contiguous_layout(shape_));
}

Tensor from_host(const void* data, Dtype dtype, const Shape& shape, Device& device) {
  HostBuffer buffer("from_data", dtype, shape, device);
  host::gather(buffer.data(), data, size_of(dtype), contiguous_layout(shape));
  return buffer.take();
}

std::vector<HostArray> to_host(const std::vector<NamedTensor>& tensors) {
  std::vector<Tensor> values;
  for (const NamedTensor& tensor : tensors) values.push_back(tensor.value);
  evaluate(values.data(), values.size());
  std::vector<HostArray> arrays;
  for (const Tensor& value : values) arrays.push_back(contiguous_host_array(value));
  return arrays;
}

}  // namespace mt
