// SPDX-License-Identifier: Apache-2.0
#include "fusion/values.h"

#include <cmath>
#include <cstring>

#include "backends/backend.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt::testing {

Value value_of(const Tensor& tensor) {
  evaluate(tensor);
  Value value{tensor.shape(), tensor.dtype(), {}};
  size_t size = size_of(tensor.dtype());
  value.bytes.resize(static_cast<size_t>(tensor.size()) * size);
  if (!tensor.device().host_memory) {
    GradientMode no_history(false);
    Tensor packed = copy(tensor);
    evaluate(packed);
    tensor.device().backend->copy_to_host(value.bytes.data(), packed->data(), value.bytes.size());
    return value;
  }
  NaiveArray array{tensor->storage->data(), tensor.dtype(), tensor->layout()};
  for (int64_t i = 0; i < tensor.size(); ++i) {
    std::memcpy(
        value.bytes.data() + static_cast<size_t>(i) * size,
        static_cast<const char*>(array.data) + array.position(i) * static_cast<int64_t>(size),
        size);
  }
  return value;
}

std::vector<Value> values_of(const std::vector<Tensor>& tensors) {
  std::vector<Value> values;
  for (const Tensor& tensor : tensors) values.push_back(value_of(tensor));
  return values;
}

namespace {

template <class Differs>
std::string compare(const std::vector<Value>& a, const std::vector<Value>& b, Differs&& differs) {
  if (a.size() != b.size())
    return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " results";
  for (size_t r = 0; r < a.size(); ++r) {
    if (!(a[r].shape == b[r].shape) || a[r].dtype != b[r].dtype) {
      return "result " + std::to_string(r) + " is " + name_of(a[r].dtype) +
             mt::to_string(a[r].shape) + " and " + name_of(b[r].dtype) + mt::to_string(b[r].shape);
    }
    NaiveArray x{const_cast<char*>(a[r].bytes.data()), a[r].dtype, contiguous_layout(a[r].shape)};
    NaiveArray y{const_cast<char*>(b[r].bytes.data()), b[r].dtype, contiguous_layout(b[r].shape)};
    double magnitude = 0;
    for (int64_t i = 0; i < x.size() && is_floating(x.dtype); ++i) {
      if (std::isfinite(y.number(i))) magnitude = std::max(magnitude, std::fabs(y.number(i)));
    }
    for (int64_t i = 0; i < x.size(); ++i) {
      size_t size = size_of(x.dtype), at = static_cast<size_t>(i) * size;
      if (std::memcmp(a[r].bytes.data() + at, b[r].bytes.data() + at, size) == 0) continue;
      double u = x.number(i), v = y.number(i);
      if (is_floating(x.dtype) && u != u && v != v) continue;
      if (!differs(x.dtype, u, v, magnitude)) continue;
      char text[160];
      std::snprintf(text, sizeof text, "result %zu of %zu, %s%s, element %lld: %.17g and %.17g", r,
                    a.size(), name_of(x.dtype), mt::to_string(a[r].shape).c_str(),
                    static_cast<long long>(i), u, v);
      return text;
    }
  }
  return "";
}

}  // namespace

std::string difference(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a == b) return "";
  return compare(a, b, [](Dtype, double, double, double) { return true; });
}

std::string rough_difference(const std::vector<Value>& a, const std::vector<Value>& b) {
  return compare(a, b, [](Dtype dtype, double u, double v, double magnitude) {
    const double tolerance = dtype == Dtype::bfloat16  ? 0x1p-6
                             : dtype == Dtype::float16 ? 0x1p-9
                                                       : 0x1p-14;
    return !is_floating(dtype) || !(std::fabs(u - v) <= tolerance * magnitude);
  });
}

std::string distance(const Graph& graph, const std::vector<Value>& a, const std::vector<Value>& b) {
  bool halves = false;  // one that rounds the other way is a large error from then on
  for (const Source& source : graph.sources) halves |= is_half(source.dtype);
  for (const Step& step : graph.steps) halves |= step.code == cast_step;
  // Gradients that vanish are differences of large ones.
  const double least = graph.order > 0 ? 1 : 0.1;
  return compare(a, b, [halves, least](Dtype dtype, double u, double v, double magnitude) {
    if (!is_floating(dtype)) return true;
    double tolerance = halves ? 0.1 : 2e-4;
    return !(std::fabs(u - v) <= tolerance * (std::max(std::fabs(v), magnitude) + least));
  });
}

}  // namespace mt::testing
