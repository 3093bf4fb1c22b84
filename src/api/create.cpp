// SPDX-License-Identifier: Apache-2.0
// The C functions of mtorch/tensor.h that make tensors.
#include <cmath>
#include <cstring>
#include <limits>

#include "api/guard.h"
#include "backends/backend.h"
#include "graph/trace_log.h"
#include "ops/ops.h"

using namespace mt;
using namespace mt::api;

namespace {

// A number as an integer of `dtype`, saturated; a uint64 as its bits.
int64_t to_integer(double value, Dtype dtype) {
  if (std::isnan(value)) return 0;
  int bits = static_cast<int>(size_of(dtype)) * 8;
  bool is_signed = is_signed_integer(dtype);
  double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (value <= low) return is_signed ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  if (value >= end) {
    uint64_t all = ~uint64_t{0};
    return static_cast<int64_t>(all >> (is_signed ? 65 - bits : 64 - bits));
  }
  if (dtype == Dtype::uint64) return static_cast<int64_t>(static_cast<uint64_t>(value));
  return static_cast<int64_t>(value);
}

Tensor filled(const Shape& shape, double value, Dtype dtype, Device& device, const char* name) {
  check_shape(shape, size_of(dtype), name);
  if (is_floating(dtype)) return full(shape, value, dtype, device);
  int64_t integer = dtype == Dtype::boolean ? value != 0 : to_integer(value, dtype);
  return full_integer(shape, integer, dtype, device);
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

bool is_whole(double value) { return value == std::trunc(value) && std::fabs(value) < 0x1p62; }

Tensor range(double start, double stop, double step, Dtype type, Device& device) {
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step) || step == 0) {
    fail(Code::invalid, "arange: from %g to %g by %g: the numbers must be finite, the step not 0",
         start, stop, step);
  }
  double count = std::ceil((stop - start) / step);
  if (count > 0x1p62) fail(Code::shape, "arange: %g elements are too many", count);
  Shape shape{count > 0 ? static_cast<int64_t>(count) : 0};
  check_shape(shape, size_of(Dtype::float64), "arange");
  Tensor index = iota(shape, Dtype::int64, device);
  if (!is_floating(type) && is_whole(start) && is_whole(step)) {
    Tensor first = integer_number(static_cast<int64_t>(start), device);
    return cast(index * integer_number(static_cast<int64_t>(step), device) + first, type);
  }
  return cast(cast(index, Dtype::float64) * step + start, type);
}

Tensor spread(double start, double stop, int64_t count, Dtype type, Device& device) {
  if (!is_floating(type)) fail(Code::dtype, "linspace: needs a float, got %s", name_of(type));
  if (count < 0) {
    fail(Code::shape, "linspace: %lld elements are too few", static_cast<long long>(count));
  }
  check_shape({count}, size_of(Dtype::float64), "linspace");
  Tensor index = cast(iota({count}, Dtype::int64, device), Dtype::float64);
  double intervals = count > 1 ? static_cast<double>(count - 1) : 1;
  return cast(index * (stop - start) / intervals + start, type);
}

Tensor identity(int64_t rows, int64_t columns, int64_t k, Dtype type, Device& device) {
  check_shape({rows, columns}, size_of(type), "eye");
  Tensor row = iota({rows, 1}, Dtype::int64, device),
         column = iota({columns}, Dtype::int64, device);
  return cast(equal(row + integer_number(k, device), column), type);
}

Tensor one_hot(const Tensor& indices, int64_t classes, Dtype type) {
  if (!is_integer(indices.dtype())) {
    fail(Code::dtype, "one_hot: needs integers, got %s", name_of(indices.dtype()));
  }
  if (indices.rank() == max_rank) {
    fail(Code::shape, "one_hot: %s has %d dimensions already", to_string(indices.shape()).c_str(),
         max_rank);
  }
  check_shape({classes}, size_of(type), "one_hot");
  Tensor position = iota({classes}, Dtype::int64, indices.device());
  return cast(equal(cast(unsqueeze(indices, indices.rank()), Dtype::int64), position), type);
}

size_t byte_size(const Shape& shape, Dtype type, const char* name) {
  check_shape(shape, size_of(type), name);
  return static_cast<size_t>(element_count(shape)) * size_of(type);
}

Tensor copy_in(const void* data, const Shape& shape, Dtype type, Device& device) {
  size_t bytes = byte_size(shape, type, "from_data");
  if (bytes) required(data, "data");
  Ref<Storage> storage = Storage::allocate(device, bytes);
  if (!storage) {
    fail(Code::memory, "from_data: out of memory: %zu bytes on %s could not be had", bytes,
         device.name.c_str());
  }
  if (bytes) device.backend->copy_from_host(storage->data(), data, bytes);
  return make_leaf(std::move(storage), type, contiguous_layout(shape));
}

Tensor borrow(const char* name, void* data, const Shape& shape, Dtype type, Device& device,
              void (*done)(void*), void* user) {
  size_t bytes = byte_size(shape, type, name);
  if (bytes) required(data, "data");
  if (reinterpret_cast<uintptr_t>(data) % size_of(type) != 0) {
    fail(Code::invalid, "%s: the memory is not aligned for %s", name, name_of(type));
  }
  return make_leaf(Storage::borrow(device, data, bytes, done, user), type,
                   contiguous_layout(shape));
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
  return give("arange", [&] { return range(start, stop, step, dtype(type), find_device(device)); });
}
mt_tensor* mt_linspace(double start, double stop, int64_t count, mt_dtype type,
                       const char* device) {
  return give("linspace",
              [&] { return spread(start, stop, count, dtype(type), find_device(device)); });
}
mt_tensor* mt_eye(int64_t rows, int64_t columns, int64_t k, mt_dtype type, const char* device) {
  return give("eye", [&] { return identity(rows, columns, k, dtype(type), find_device(device)); });
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
  return give("wrap", [&] {
    return borrow("wrap", data, shape(sizes, ndim), dtype(type), find_device(device), done, user);
  });
}

mt_tensor* mt_wrap_mutable(void* data, const int64_t* sizes, size_t ndim, mt_dtype type,
                           const char* device, void (*done)(void* user), void* user) {
  mt_tensor* handle = give("wrap_mutable", [&] {
    if (TraceLog::current()) {
      fail(Code::trace, "wrap_mutable: memory that changes cannot be part of a trace");
    }
    return borrow("wrap_mutable", data, shape(sizes, ndim), dtype(type), find_device(device), done,
                  user);
  });
  if (handle) handle->rewritten = true;
  return handle;
}
