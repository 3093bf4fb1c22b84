// SPDX-License-Identifier: Apache-2.0
#include "ops/ops.h"
#include "tensor/error.h"

namespace mt {
namespace {

const Op constant_op{"constant", OpKind::constant};
const Op iota_op{"iota", OpKind::iota};

}  // namespace

// A constant's immediate is the bits of a double for floating dtypes, else of an int64.
Tensor full(const Shape& shape, double value, Dtype dtype, Device& device) {
  if (!is_floating(dtype)) {
    // Converting a double that int64 cannot hold is undefined, so it saturates here.
    int64_t integer = value != value            ? 0
                      : value >= 9.2233720368547758e18 ? INT64_MAX
                      : value <= -9.2233720368547758e18
                          ? INT64_MIN
                          : static_cast<int64_t>(value);
    if (dtype == Dtype::boolean) integer = value != 0;
    return full_integer(shape, integer, dtype, device);
  }
  Immediates immediates{{__builtin_bit_cast(uint64_t, value), 0}};
  return record_source(constant_op, dtype, shape, device, {}, immediates);
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
  result->weak = true;
  return result;
}

Tensor integer_number(int64_t value, Device& device) {
  Tensor result = full_integer({}, value, Dtype::int64, device);
  result->weak = true;
  return result;
}

Tensor zeros_like(const Tensor& x) { return full(x.shape(), 0, x.dtype(), x.device()); }
Tensor ones_like(const Tensor& x) { return full(x.shape(), 1, x.dtype(), x.device()); }

}  // namespace mt
