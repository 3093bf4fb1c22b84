// SPDX-License-Identifier: Apache-2.0
#include "ops/promotion.h"

#include "base/error.h"
#include "ops/ops.h"

namespace mt {

bool is_beyond(const Tensor& x, Dtype dtype) {
  if (!x->is_plain_number || is_floating(x.dtype()) || !is_integer(dtype)) return false;
  auto value = static_cast<int64_t>(x->immediates.value[0]);
  int bits = 8 * static_cast<int>(size_of(dtype));
  if (is_unsigned(dtype)) return value < 0 || (bits < 64 && value >> bits != 0);
  return value >> (bits - 1) != value >> 63;
}

Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device, const char* operation) {
  if (!x->is_plain_number) return x.dtype() == dtype ? x : cast(x, dtype);
  if (is_floating(x.dtype())) {
    return full({}, __builtin_bit_cast(double, x->immediates.value[0]), dtype, device);
  }
  auto value = static_cast<int64_t>(x->immediates.value[0]);
  if (is_beyond(x, dtype)) {
    fail(Code::invalid, "%s: the number %lld does not fit into %s; cast the tensor first",
         operation, static_cast<long long>(value), name_of(dtype));
  }
  return full_integer({}, value, dtype, device);
}

Tensor as_dtype(const Tensor& x, Dtype dtype, Device& device) {
  return as_dtype(x, dtype, device, "assign");
}

Dtype common_dtype(const Tensor& a, const Tensor& b, const char* name) {
  if (!a->is_plain_number && !b->is_plain_number && a.dtype() == b.dtype()) return a.dtype();
  if (a->is_plain_number == b->is_plain_number) {
    return a->is_plain_number && is_floating(promote(a.dtype(), b.dtype(), name))
               ? Dtype::float32
               : promote(a.dtype(), b.dtype(), name);
  }
  const bool first = a->is_plain_number;
  const Dtype number = first ? a.dtype() : b.dtype(), other = first ? b.dtype() : a.dtype();
  if (is_floating(other)) return other;
  if (is_floating(number)) return Dtype::float32;
  return other == Dtype::boolean ? Dtype::int64 : other;
}

}  // namespace mt
