// SPDX-License-Identifier: Apache-2.0
#include "ops/naive.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/half.h"
#include "ops/naive_math.h"
#include "ops/philox.h"
#include "ops/reduction.h"
#include "tensor/walker.h"

namespace mt {

int64_t NaiveArray::position(int64_t element) const {
  return layout.offset + locate(layout, element);
}

namespace {

template <class T>
T& at(const NaiveArray& array, int64_t element) {
  return static_cast<T*>(array.data)[array.position(element)];
}

// Calls f with a value of the array's C++ type; 16-bit floats are handled by the callers.
template <class F>
auto with_type(Dtype dtype, F&& f) {
  switch (dtype) {
    case Dtype::boolean: return f(uint8_t{});
    case Dtype::uint8: return f(uint8_t{});
    case Dtype::uint16: return f(uint16_t{});
    case Dtype::uint32: return f(uint32_t{});
    case Dtype::uint64: return f(uint64_t{});
    case Dtype::int8: return f(int8_t{});
    case Dtype::int16: return f(int16_t{});
    case Dtype::int32: return f(int32_t{});
    case Dtype::int64: return f(int64_t{});
    case Dtype::float16:
    case Dtype::bfloat16: return f(uint16_t{});
    case Dtype::float32: return f(float{});
    default: return f(double{});
  }
}

template <class T>
T saturated(double value) {
  if (value != value) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(value);
}

}  // namespace

double NaiveArray::number(int64_t element) const {
  if (dtype == Dtype::float16) return float16_to_float(at<uint16_t>(*this, element));
  if (dtype == Dtype::bfloat16) return bfloat16_to_float(at<uint16_t>(*this, element));
  return with_type(
      dtype, [&](auto zero) { return static_cast<double>(at<decltype(zero)>(*this, element)); });
}

int64_t NaiveArray::integer(int64_t element) const {
  if (is_floating(dtype)) return saturated<int64_t>(number(element));
  return with_type(
      dtype, [&](auto zero) { return static_cast<int64_t>(at<decltype(zero)>(*this, element)); });
}

void NaiveArray::set_number(int64_t element, double value) const {
  if (dtype == Dtype::float16) {
    at<uint16_t>(*this, element) = float_to_float16(static_cast<float>(value));
  } else if (dtype == Dtype::bfloat16) {
    at<uint16_t>(*this, element) = float_to_bfloat16(static_cast<float>(value));
  } else if (dtype == Dtype::boolean) {
    at<uint8_t>(*this, element) = value != 0;
  } else {
    with_type(dtype, [&](auto zero) {
      using T = decltype(zero);
      if constexpr (std::is_floating_point_v<T>) {
        at<T>(*this, element) = static_cast<T>(value);
      } else {
        at<T>(*this, element) = saturated<T>(value);
      }
    });
  }
}

void NaiveArray::set_integer(int64_t element, int64_t value) const {
  if (is_floating(dtype)) return set_number(element, static_cast<double>(value));
  if (dtype == Dtype::boolean) value = value != 0;
  with_type(dtype, [&](auto zero) {
    at<decltype(zero)>(*this, element) = static_cast<decltype(zero)>(value);
  });
}

void move_element(const NaiveArray& to, int64_t i, const NaiveArray& from, int64_t j) {
  assert(to.dtype == from.dtype);
  const auto size = static_cast<int64_t>(size_of(to.dtype));
  std::memcpy(static_cast<char*>(to.data) + to.position(i) * size,
              static_cast<const char*>(from.data) + from.position(j) * size, size);
}

bool comes_before(const NaiveArray& x, int64_t i, const NaiveArray& y, int64_t j) {
  if (is_floating(x.dtype)) {
    double a = x.number(i), b = y.number(j);
    return a < b || (a == a && b != b);
  }
  int64_t a = x.integer(i), b = y.integer(j);
  return x.dtype == Dtype::uint64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
}

void fill(const NaiveArray& y, const Immediates& number) {
  for (int64_t i = 0; i < y.size(); ++i) {
    if (is_floating(y.dtype)) {
      y.set_number(i, __builtin_bit_cast(double, number.value[0]));
    } else {
      y.set_integer(i, static_cast<int64_t>(number.value[0]));
    }
  }
}

namespace {

NaiveArray broadcast_to(const NaiveArray& array, const Shape& shape) {
  return {array.data, array.dtype, expand(array.layout, shape)};
}

void random_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  for (int64_t i = 0; i < y.size(); ++i) {
    uint64_t element = static_cast<uint64_t>(i);
    if (y.dtype == Dtype::float64) {
      y.set_number(i,
                   philox_uniform64(call.immediates.value[0], call.immediates.value[1], element));
    } else if (y.dtype == Dtype::float32) {
      y.set_number(i,
                   philox_uniform32(call.immediates.value[0], call.immediates.value[1], element));
    } else {
      y.set_integer(i, philox_bits(call.immediates.value[0], call.immediates.value[1], element));
    }
  }
}

void elementwise_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  bool floating = is_floating(call.inputs[0].dtype);
  NaiveArray a = broadcast_to(call.inputs[0], y.layout.shape);
  NaiveArray b = broadcast_to(call.inputs.back(), y.layout.shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    if (floating && y.dtype != Dtype::boolean) {
      y.set_number(i, naive_elementwise(call.op.code, a.number(i), b.number(i), y.dtype));
    } else if (floating) {
      y.set_integer(i, naive_comparison(call.op.code, a.number(i), b.number(i)));
    } else {
      y.set_integer(i, naive_elementwise(call.op.code, a.integer(i), b.integer(i), a.dtype));
    }
  }
}

void select_value(const NaiveCall& call) {
  const NaiveArray& y = call.output;
  NaiveArray condition = broadcast_to(call.inputs[0], y.layout.shape);
  NaiveArray a = broadcast_to(call.inputs[1], y.layout.shape);
  NaiveArray b = broadcast_to(call.inputs[2], y.layout.shape);
  for (int64_t i = 0; i < y.size(); ++i) move_element(y, i, condition.integer(i) ? a : b, i);
}

void cast_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  for (int64_t i = 0; i < y.size(); ++i) {
    if (y.dtype == Dtype::boolean) {
      y.set_integer(i, is_floating(x.dtype) ? x.number(i) != 0 : x.integer(i) != 0);
    } else if (is_floating(x.dtype)) {
      y.set_number(i, x.number(i));
    } else if (x.dtype == Dtype::uint64 && is_floating(y.dtype)) {
      y.set_number(i, static_cast<double>(static_cast<uint64_t>(x.integer(i))));
    } else {
      y.set_integer(i, x.integer(i));
    }
  }
}

void reduce_value(const NaiveCall& call) {
  const NaiveArray &x = call.inputs[0], &y = call.output;
  Dims order;  // the kept dimensions, then the reduced ones
  auto is_axis = [&](int d) {
    return std::find(call.attributes.begin(), call.attributes.end(), d) != call.attributes.end();
  };
  for (int d = 0; d < x.layout.shape.rank(); ++d) {
    if (!is_axis(d)) order.push_back(d);
  }
  for (int64_t axis : call.attributes) order.push_back(axis);
  NaiveArray rows{x.data, x.dtype, permute(x.layout, order)};
  int64_t count = y.size() ? x.size() / y.size() : 0;
  Reduction reduction = static_cast<Reduction>(call.op.code);
  for (int64_t i = 0; i < y.size(); ++i) {
    if (is_floating(x.dtype)) {
      double result = reduction == Reduction::sum    ? 0
                      : reduction == Reduction::prod ? 1
                                                     : rows.number(i * count);
      for (int64_t j = i * count; j < (i + 1) * count; ++j) {
        double value = rows.number(j);
        switch (reduction) {
          case Reduction::sum: result += value; break;
          case Reduction::prod: result *= value; break;
          case Reduction::max: result = value > result || value != value ? value : result; break;
          case Reduction::min: result = value < result || value != value ? value : result; break;
        }
      }
      y.set_number(i, result);
    } else {
      bool is_u64 = x.dtype == Dtype::uint64;
      auto less = [&](int64_t a, int64_t b) {
        return is_u64 ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
      };
      uint64_t result = reduction == Reduction::sum ? 0
                        : reduction == Reduction::prod
                            ? 1
                            : static_cast<uint64_t>(rows.integer(i * count));
      for (int64_t j = i * count; j < (i + 1) * count; ++j) {
        int64_t value = rows.integer(j), so_far = static_cast<int64_t>(result);
        switch (reduction) {
          case Reduction::sum: result += static_cast<uint64_t>(value); break;
          case Reduction::prod: result *= static_cast<uint64_t>(value); break;
          case Reduction::max:
            result = static_cast<uint64_t>(less(so_far, value) ? value : so_far);
            break;
          case Reduction::min:
            result = static_cast<uint64_t>(less(value, so_far) ? value : so_far);
            break;
        }
      }
      y.set_integer(i, static_cast<int64_t>(result));
    }
  }
}

void contract_value(const NaiveCall& call) {
  const NaiveArray &a = call.inputs[0], &b = call.inputs[1], &y = call.output;
  auto extent = [](const Shape& shape, int64_t first, int64_t count) {
    int64_t result = 1;
    for (int64_t d = first; d < first + count; ++d) result *= shape[static_cast<int>(d)];
    return result;
  };
  const Attributes& counts = call.attributes;
  int64_t batch = extent(a.layout.shape, 0, counts[0]);
  int64_t m = extent(a.layout.shape, counts[0], counts[1]);
  int64_t k = extent(a.layout.shape, counts[0] + counts[1], counts[3]);
  int64_t n = extent(b.layout.shape, counts[0], counts[2]);
  for (int64_t i = 0; i < batch * m * n; ++i) {
    int64_t row = i / n, column = i / (m * n) * n + i % n;
    if (is_floating(y.dtype)) {
      double sum = 0;
      for (int64_t j = 0; j < k; ++j) sum += a.number(row * k + j) * b.number(column * k + j);
      y.set_number(i, sum);
    } else {
      uint64_t sum = 0;
      for (int64_t j = 0; j < k; ++j) {
        sum += static_cast<uint64_t>(a.integer(row * k + j)) *
               static_cast<uint64_t>(b.integer(column * k + j));
      }
      y.set_integer(i, static_cast<int64_t>(sum));
    }
  }
}

}  // namespace

void naive_value(const NaiveCall& call) {
  switch (call.op.kind) {
    case OpKind::constant: return fill(call.output, call.immediates);
    case OpKind::iota:
      for (int64_t i = 0; i < call.output.size(); ++i) call.output.set_integer(i, i);
      return;
    case OpKind::random: return random_value(call);
    case OpKind::elementwise: return elementwise_value(call);
    case OpKind::select: return select_value(call);
    case OpKind::cast: return cast_value(call);
    case OpKind::reduce: return reduce_value(call);
    case OpKind::contract: return contract_value(call);
    default:
      if (!call.op.value) fail(Code::unsupported, "%s has no naive value", call.op.name);
      call.op.value(call);
  }
}

}  // namespace mt
