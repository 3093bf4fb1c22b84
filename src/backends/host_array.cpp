// SPDX-License-Identifier: Apache-2.0
#include "backends/host_array.h"

#include "backends/backend.h"
#include "backends/devices.h"
#include "backends/host.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/ops.h"
#include "tensor/first_byte.h"

namespace mt {
namespace {

// An array of x's elements in order, to be filled.
HostArray contiguous_array(const Tensor& x) {
  const size_t bytes = x->bytes();
  Ref<Storage> storage = Storage::allocate(find_device("cpu"), bytes);
  if (!storage) fail(Code::memory, "copy to host: out of memory: %zu bytes on the host", bytes);
  void* data = storage->data();
  return {std::move(storage), {data, x.dtype(), contiguous_layout(x.shape())}};
}

void gather(const HostArray& from, void* to) {
  const NaiveArray& array = from.array;
  host::gather(to, from.data(), size_of(array.dtype), array.layout);
}

}  // namespace

const void* HostArray::data() const {
  return static_cast<const char*>(array.data) + first_byte(array);
}
size_t HostArray::bytes() const { return static_cast<size_t>(array.size()) * size_of(array.dtype); }

HostArray host_array(const Tensor& x) {
  evaluate(x);
  if (x.device().host_memory) return {x->storage, {x->storage->data(), x.dtype(), x->layout()}};
  Tensor source = x;
  if (!is_contiguous(x->layout())) {
    GradientMode no_history(false);
    evaluate(source = copy(x));
  }
  HostArray host = contiguous_array(source);
  source.device().backend->copy_to_host(host.array.data, source->data(), host.bytes());
  return host;
}

HostArray contiguous_host_array(const Tensor& x) {
  HostArray host = host_array(x);
  if (is_contiguous(host.array.layout)) return host;
  HostArray result = contiguous_array(x);
  gather(host, result.array.data);
  return result;
}

void copy_to_host(const Tensor& x, void* buffer) { gather(host_array(x), buffer); }

}  // namespace mt
