// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tensor.h that make tensors.
#include "api/guard.h"
#include "backends/backend.h"
#include "backends/devices.h"
#include "base/before_work.h"
#include "graph/trace_log.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

Tensor filled(const Shape& shape, double value, Dtype dtype, Device& device, const char* name) {
  check_shape(shape, size_of(dtype), name);
  return full(shape, value, dtype, device);
}

mt_tensor* give_filled(const char* name, const int64_t* sizes, size_t ndim, double value,
                       mt_dtype type, const char* device) {
  return give(name, [&] {
    return filled(shape(sizes, ndim), value, dtype(type), find_device(device), name);
  });
}

mt_tensor* give_filled_like(const char* name, mt_tensor* x, double value) {
  return give(name, [&] {
    Tensor like = api::value(x);
    return filled(like.shape(), value, like.dtype(), like.device(), name);
  });
}

size_t byte_size(const Shape& shape, Dtype type, const char* name) {
  check_shape(shape, size_of(type), name);
  return static_cast<size_t>(element_count(shape)) * size_of(type);
}

constexpr size_t copied_at_once = 1 << 16;  // bytes, before anybody would have waited for long

Tensor copy_in(const void* data, const Shape& shape, Dtype type, Device& device) {
  size_t bytes = byte_size(shape, type, "from_data");
  if (bytes) required(data, "data");
  if (bytes > copied_at_once || !device.host_memory) before_work();
  Ref<Storage> storage = Storage::allocate(device, bytes);
  if (!storage) fail_for_memory("from_data", device, bytes);
  if (bytes) device.backend->copy_from_host(storage->data(), data, bytes);
  return make_leaf(std::move(storage), type, contiguous_layout(shape));
}

// `lent` is the caller's reference to the memory.
Tensor borrow(const char* name, void* data, const Shape& shape, Dtype type, Device& device,
              void (*done)(void*), void* user, Ref<Storage>* lent) {
  size_t bytes = byte_size(shape, type, name);
  if (bytes) required(data, "data");
  if (reinterpret_cast<uintptr_t>(data) % size_of(type) != 0) {
    fail(Code::invalid, "%s: the memory is not aligned for %s", name, name_of(type));
  }
  *lent = Storage::borrow(device, data, bytes, done, user);
  return make_leaf(*lent, type, contiguous_layout(shape));
}

}  // namespace

mt_tensor* mt_zeros(const int64_t* sizes, size_t ndim, mt_dtype type, const char* device) {
  return give_filled("zeros", sizes, ndim, 0, type, device);
}
mt_tensor* mt_ones(const int64_t* sizes, size_t ndim, mt_dtype type, const char* device) {
  return give_filled("ones", sizes, ndim, 1, type, device);
}
mt_tensor* mt_full(const int64_t* sizes, size_t ndim, double value, mt_dtype type,
                   const char* device) {
  return give_filled("full", sizes, ndim, value, type, device);
}
mt_tensor* mt_zeros_like(mt_tensor* x) { return give_filled_like("zeros_like", x, 0); }
mt_tensor* mt_ones_like(mt_tensor* x) { return give_filled_like("ones_like", x, 1); }
mt_tensor* mt_full_like(mt_tensor* x, double value) {
  return give_filled_like("full_like", x, value);
}

mt_tensor* mt_number(double value) {
  return give("number", [&] { return number(value, default_device()); });
}
mt_tensor* mt_whole_number(int64_t value) {
  return give("whole_number", [&] { return integer_number(value, default_device()); });
}

mt_tensor* mt_arange(double start, double stop, double step, mt_dtype type, const char* device) {
  return give("arange",
              [&] { return arange(start, stop, step, dtype(type), find_device(device)); });
}
mt_tensor* mt_linspace(double start, double stop, int64_t count, mt_dtype type,
                       const char* device) {
  return give("linspace",
              [&] { return linspace(start, stop, count, dtype(type), find_device(device)); });
}
mt_tensor* mt_eye(int64_t rows, int64_t columns, int64_t k, mt_dtype type, const char* device) {
  return give("eye", [&] { return eye(rows, columns, k, dtype(type), find_device(device)); });
}
mt_tensor* mt_one_hot(mt_tensor* indices, int64_t classes, mt_dtype type) {
  return give("one_hot", [&] { return one_hot(value(indices), classes, dtype(type)); });
}

mt_tensor* mt_from_data(const void* data, const int64_t* sizes, size_t ndim, mt_dtype type,
                        const char* device) {
  return give("from_data",
              [&] { return copy_in(data, shape(sizes, ndim), dtype(type), find_device(device)); });
}

mt_tensor* mt_wrap(void* data, const int64_t* sizes, size_t ndim, mt_dtype type, const char* device,
                   void (*done)(void* user), void* user) {
  Ref<Storage> lent;
  mt_tensor* handle = give("wrap", [&] {
    return borrow("wrap", data, shape(sizes, ndim), dtype(type), find_device(device), done, user,
                  &lent);
  });
  if (!handle && lent) lent->disown();
  return handle;
}

mt_tensor* mt_wrap_mutable(void* data, const int64_t* sizes, size_t ndim, mt_dtype type,
                           const char* device, void (*done)(void* user), void* user) {
  Ref<Storage> lent;
  mt_tensor* handle = give("wrap_mutable", [&] {
    if (TraceLog::current()) {
      fail(Code::trace, "wrap_mutable: memory that changes cannot be part of a trace");
    }
    return borrow("wrap_mutable", data, shape(sizes, ndim), dtype(type), find_device(device), done,
                  user, &lent);
  });
  if (!handle && lent) lent->disown();
  if (handle) handle->rewritten = true;
  return handle;
}
