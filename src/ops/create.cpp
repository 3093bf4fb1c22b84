// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "ops/shared_numbers.h"

namespace mt {
namespace {

const Op constant_op{.name = "constant", .kind = OpKind::constant};
const Op iota_op{.name = "iota", .kind = OpKind::iota};

// A number as an integer of `dtype`, saturated; a uint64 as its bits.
int64_t to_integer(double value, Dtype dtype) {
  if (std::isnan(value)) return 0;
  int bits = static_cast<int>(size_of(dtype)) * 8;
  bool is_signed = is_signed_integer(dtype);
  double low = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  double end = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (value <= low) return is_signed ? std::numeric_limits<int64_t>::min() >> (64 - bits) : 0;
  if (value >= end)
    return static_cast<int64_t>(~uint64_t{0} >> (is_signed ? 65 - bits : 64 - bits));
  if (dtype == Dtype::uint64) return static_cast<int64_t>(static_cast<uint64_t>(value));
  return static_cast<int64_t>(value);
}

}  // namespace

// The bits of a double for floating dtypes, else of an int64.
Immediates constant_immediates(double value, Dtype dtype) {
  if (is_floating(dtype)) return Immediates{{__builtin_bit_cast(uint64_t, value), 0}};
  int64_t integer = dtype == Dtype::boolean ? value != 0 : to_integer(value, dtype);
  return Immediates{{static_cast<uint64_t>(integer), 0}};
}

Tensor full(const Shape& shape, double value, Dtype dtype, Device& device) {
  return record_source(constant_op, dtype, shape, device, {}, constant_immediates(value, dtype));
}

Tensor full_integer(const Shape& shape, int64_t value, Dtype dtype, Device& device) {
  if (is_floating(dtype)) return full(shape, static_cast<double>(value), dtype, device);
  if (dtype == Dtype::boolean) value = value != 0;
  return record_source(constant_op, dtype, shape, device, {},
                       Immediates{{static_cast<uint64_t>(value), 0}});
}

Tensor iota(const Shape& shape, Dtype dtype, Device& device) {
  return record_source(iota_op, dtype, shape, device);
}

Tensor number(double value, Device& device) {
  Tensor result = full({}, value, Dtype::float64, device);
  result->is_plain_number = true;
  return result;
}

Tensor number(double value, const Tensor& beside) {
  const bool has_type = !beside->is_plain_number && is_floating(beside.dtype());
  return has_type ? SharedNumbers::number(value, beside) : number(value, beside.device());
}

namespace {
thread_local SharedNumbers* shared_numbers = nullptr;
}

SharedNumbers::SharedNumbers() : outer_(shared_numbers) { shared_numbers = this; }
SharedNumbers::~SharedNumbers() { shared_numbers = outer_; }

Tensor SharedNumbers::number(double value, const Tensor& beside) {
  const Dtype dtype = beside.dtype();
  Device& device = beside.device();
  SharedNumbers* shared = shared_numbers;
  if (!shared) return full({}, value, dtype, device);
  const auto bits = __builtin_bit_cast(uint64_t, value);
  for (const Entry& entry : shared->entries_) {
    if (__builtin_bit_cast(uint64_t, entry.value) == bits && entry.number.dtype() == dtype &&
        &entry.number.device() == &device) {
      return entry.number;
    }
  }
  constexpr size_t most = 8;  // more take longer to look through
  Tensor number = full({}, value, dtype, device);
  if (shared->entries_.size() < most) shared->entries_.push_back({value, number});
  return number;
}

Tensor integer_number(int64_t value, Device& device) {
  Tensor result = full_integer({}, value, Dtype::int64, device);
  result->is_plain_number = true;
  return result;
}

Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return full(x.shape(), 1, x.dtype(), x.device()); }

}  // namespace mt
