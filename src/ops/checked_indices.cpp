// SPDX-License-Identifier: Apache-2.0
#include "ops/checked_indices.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/before_work.h"
#include "base/error.h"
#include "graph/evaluate.h"
#include "graph/history.h"
#include "graph/modes.h"
#include "graph/trace_log.h"
#include "ops/kernel.h"
#include "ops/ops.h"

namespace mt {
namespace {

// The largest position that an operator's result can hold whatever its inputs; -1 when unknown.
int64_t known_bound(const Tensor& indices) {
  const Op& op = *indices->op;
  if (indices->ready()) return -1;
  if (op.kind == OpKind::iota) return indices.size() - 1;
  const Inputs inputs = inputs_of(indices);
  if (inputs.empty()) return -1;
  switch (op.kind) {
    case OpKind::view: return known_bound(inputs[0]);
    case OpKind::cast: return indices.dtype() == Dtype::int64 ? known_bound(inputs[0]) : -1;
    case OpKind::call:
      if (is_kernel(op)) return -1;  // whatever its name is
      if (std::strcmp(op.name, "argsort") == 0) return inputs[0].shape().back() - 1;
      if (std::strcmp(op.name, "argmax") == 0 || std::strcmp(op.name, "argmin") == 0) {
        return inputs[0].shape()[1] - 1;
      }
      return -1;
    default: return -1;
  }
}

struct Bounds {
  int64_t low = std::numeric_limits<int64_t>::max(), high = std::numeric_limits<int64_t>::min();
};

// `ignored` counts as 0.
template <class T>
void scan(const T* data, const Layout& layout, int axis, T ignored, Bounds* bounds) {
  if (axis == layout.shape.rank()) {
    const T counted = *data == ignored ? T(0) : *data;
    int64_t value = counted < 0 || static_cast<uint64_t>(counted) <= uint64_t{INT64_MAX}
                        ? static_cast<int64_t>(counted)
                        : INT64_MAX;
    bounds->low = std::min(bounds->low, value);
    bounds->high = std::max(bounds->high, value);
    return;
  }
  int64_t count = layout.shape[axis], stride = layout.strides[axis];
  if (axis + 1 < layout.shape.rank()) {
    for (int64_t i = 0; i < count; ++i) scan(data + i * stride, layout, axis + 1, ignored, bounds);
    return;
  }
  T low = *data == ignored ? T(0) : *data, high = low;
  for (int64_t i = 0; i < count; ++i) {
    T value = data[i * stride];
    value = value == ignored ? T(0) : value;
    low = value < low ? value : low;
    high = value > high ? value : high;
  }
  const Layout scalar;
  scan(&low, scalar, 0, T(0), bounds);
  scan(&high, scalar, 0, T(0), bounds);
}

// On a device whose memory the host cannot read, the extremes are computed there.
Bounds bounds_on_device(const Tensor& indices, int64_t ignored) {
  GradientMode no_history(false);
  Tensor counted = indices;
  if (ignored != 0) {
    const Tensor zero = integer_number(0, indices.device());
    counted = where(equal(indices, integer_number(ignored, indices.device())), zero, indices);
  }
  Tensor extremes[2] = {cast(min(counted, {}, false), Dtype::int64),
                        cast(max(counted, {}, false), Dtype::int64)};
  evaluate(extremes, 2);
  Bounds bounds;
  read_element(extremes[0], &bounds.low);
  read_element(extremes[1], &bounds.high);
  // More than an int64 holds.
  if (indices.dtype() == Dtype::uint64 && bounds.high < 0) bounds.high = INT64_MAX;
  return bounds;
}

// What is read again and again, once.
Layout without_repetition(const Layout& layout) {
  Layout once;
  for (int d = 0; d < layout.shape.rank(); ++d) {
    if (layout.strides[d] == 0) continue;
    once.shape.push_back(layout.shape[d]);
    once.strides.push_back(layout.strides[d]);
  }
  return once;
}

Bounds bounds_of(const Tensor& indices, int64_t ignored) {
  if (!indices.device().host_memory) return bounds_on_device(indices, ignored);
  Bounds bounds;
  Layout layout = collapse(without_repetition({indices.shape(), indices->strides, 0}));
  const void* data = indices->data();
  auto as = [&](auto zero) {
    using T = decltype(zero);
    const T skipped = std::in_range<T>(ignored) ? static_cast<T>(ignored) : zero;
    scan(static_cast<const T*>(data), layout, 0, skipped, &bounds);
  };
  switch (indices.dtype()) {
    case Dtype::uint8: as(uint8_t{}); break;
    case Dtype::uint16: as(uint16_t{}); break;
    case Dtype::uint32: as(uint32_t{}); break;
    case Dtype::uint64: as(uint64_t{}); break;
    case Dtype::int8: as(int8_t{}); break;
    case Dtype::int16: as(int16_t{}); break;
    case Dtype::int32: as(int32_t{}); break;
    default: as(int64_t{});
  }
  return bounds;
}

// Whether they are seen at once to lie in [low, high], where low is at most 0: differences have
// signs, which vectors gather.
bool lie_within(const Tensor& indices, int64_t low, int64_t high) {
  if (indices.dtype() != Dtype::int64 || !indices.device().host_memory ||
      !is_contiguous({indices.shape(), indices->strides, 0}))
    return false;
  using Vector [[gnu::vector_size(16)]] = uint64_t;
  const char* data = static_cast<const char*>(indices->data());
  const auto least = static_cast<uint64_t>(low), most = static_cast<uint64_t>(high);
  const auto signs_of = [&](auto index) {
    std::memcpy(&index, data, sizeof index);
    data += sizeof index;
    return (index - least) | (most - index);
  };
  // One after the other in the source, or gcc would keep them in memory.
  Vector a = {}, b = {}, c = {}, d = {};
  constexpr int64_t together = 8;
  int64_t at = 0;
  for (; at + together <= indices.size(); at += together) {
    a |= signs_of(a);
    b |= signs_of(b);
    c |= signs_of(c);
    d |= signs_of(d);
  }
  const Vector all = a | b | c | d;
  uint64_t sign = all[0] | all[1];
  for (; at < indices.size(); ++at) sign |= signs_of(sign);
  return sign >> 63 == 0;
}

// The value from outside a trace that `indices` are or see, perhaps as other integers; null when
// the trace computes them.
Tensor outside_of_trace(const Tensor& indices) {
  Tensor source = indices;
  while (source->op->kind == OpKind::cast && !source->ready() &&
         is_integer(source->inputs[0].dtype())) {
    source = source->inputs[0];
  }
  return source->ready() || (source->base && source->base->ready()) ? source : Tensor();
}

}  // namespace

// Indices that are read before anybody who waits for this thread would have noticed.
constexpr int64_t read_at_once = 1 << 13;

void check_indices(const Tensor& indices, int axis, const Shape& shape, const char* name,
                   bool from_end, int64_t ignored) {
  const int64_t size = shape[axis], low = from_end ? -size : 0;
  if (indices.size() > read_at_once) before_work();
  if (lie_within(indices, low, size - 1)) return;
  const Bounds bounds = bounds_of(indices, ignored);
  if (bounds.low >= low && bounds.high < size) return;
  fail(Code::index, "%s: index %lld is outside axis %d of %s, which has size %lld", name,
       static_cast<long long>(bounds.high >= size ? bounds.high : bounds.low), axis,
       to_string(shape).c_str(), static_cast<long long>(size));
}

Tensor checked_indices(const Tensor& indices, int axis, const Shape& shape, const char* name,
                       bool from_end, int64_t ignored) {
  if (!is_integer(indices.dtype())) {
    fail(Code::dtype, "%s: indices must be integers, got %s", name, name_of(indices.dtype()));
  }
  evaluate_if_foreign(indices, current_thread());
  const int64_t size = shape[axis], bound = known_bound(indices);
  if (indices.size() > 0 && size == 0) {
    fail(Code::index, "%s: axis %d of %s is empty, so there is nothing to index", name, axis,
         to_string(shape).c_str());
  }
  bool known = bound >= 0 && bound < size;
  bool host = indices.device().host_memory;
  bool readable = !TraceLog::current() || (host && indices->ready());
  if (indices.size() > 0 && !known && readable) {
    if (!indices->ready()) evaluate(indices);
    check_indices(indices, axis, shape, name, from_end, ignored);
  }
  if (TraceLog* log = TraceLog::current(); log && indices.size() > 0 && !known) {
    Tensor source = outside_of_trace(indices);
    if (source && source.device().host_memory) {
      log->checks.push_back({source, axis, shape, name, from_end, ignored});
    }
  }
  return cast(indices, Dtype::int64);
}

}  // namespace mt
