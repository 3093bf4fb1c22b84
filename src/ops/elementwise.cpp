// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"
#include "ops/elementwise_gradient.h"
#include "ops/ops.h"
#include "ops/power.h"
#include "ops/promotion.h"

namespace mt {
namespace {

constexpr ElementwiseInfo table[] = {
#define UNARY(name, domain, result, value, gradient) \
  {#name, Domain::domain, 1, Domain::result == Domain::boolean},
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  {#name, Domain::domain, 2, Domain::result == Domain::boolean},
#define same any
#include "ops/elementwise.def"
#undef same
#undef UNARY
#undef BINARY
};

#define ROW(row, differentiable)                                \
  {.name = #row,                                                \
   .kind = OpKind::elementwise,                                 \
   .code = static_cast<uint8_t>(Elementwise::row),              \
   .gradient = differentiable ? elementwise_gradient : nullptr, \
   .is_product = Elementwise::row == Elementwise::mul},
const Op ops[] = {
#define UNARY(name, domain, result, value, gradient) ROW(name, !is_none(#gradient))
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  ROW(name, !is_none(#gradient_a) || !is_none(#gradient_b))
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
};
#undef ROW

// Inlined, as nothing is left of it where the operator is known.
[[gnu::always_inline]] inline Dtype working_dtype(const ElementwiseInfo& info, Dtype dtype) {
  switch (info.domain) {
    case Domain::boolean: return Dtype::boolean;
    case Domain::real:
      if (!is_floating(dtype)) return Dtype::float32;
      if (size_of(dtype) == 2 && &info == &table[static_cast<int>(Elementwise::nextafter)]) {
        fail(Code::dtype, "%s: computes in float32, whose steps are not those of %s", info.name,
             name_of(dtype));
      }
      return dtype;
    case Domain::number:
      if (dtype == Dtype::boolean) {
        fail(Code::dtype, "%s: needs numbers, got bool; cast first", info.name);
      }
      return dtype;
    case Domain::integer:
    case Domain::bits:
      if (is_floating(dtype) || (dtype == Dtype::boolean && info.domain == Domain::integer)) {
        fail(Code::dtype, "%s: needs integers, got %s", info.name, name_of(dtype));
      }
      return dtype;
    case Domain::any: return dtype;
  }
  return dtype;
}

Tensor unary(Elementwise code, const Tensor& x) {
  if (code == Elementwise::bitwise_invert && x.dtype() == Dtype::boolean) {
    code = Elementwise::logical_not;  // the other bits of a bool stay 0
  }
  const ElementwiseInfo& row = info(code);
  const Op& op = ops[static_cast<int>(code)];
  Dtype dtype =
      working_dtype(row, x->is_plain_number && is_floating(x.dtype()) ? Dtype::float32 : x.dtype());
  Dtype result = row.boolean_result ? Dtype::boolean : dtype;
  if (!x->is_plain_number && x.dtype() == dtype) return record_same_shape(op, result, x);
  return record(op, result, x.shape(), {as_dtype(x, dtype, x.device())});
}

// A binary operator on operands that differ in shape or dtype, or are plain numbers.
[[gnu::noinline]] Tensor mixed(Elementwise code, const Tensor& a, const Tensor& b) {
  const ElementwiseInfo& row = info(code);
  const Op& op = ops[static_cast<int>(code)];
  const bool alike = a.shape() == b.shape();
  Dtype dtype = working_dtype(row, common_dtype(a, b, row.name));
  if (row.boolean_result && (is_beyond(a, dtype) || is_beyond(b, dtype))) {  // x < 300 of uint8
    dtype = dtype == Dtype::uint64 ? Dtype::float64 : Dtype::int64;
  }
  if (code == Elementwise::pow && is_integer(dtype) && b->is_plain_number) {
    auto exponent = static_cast<int64_t>(b->immediates.value[0]);
    if (exponent < 0) {
      fail(Code::invalid, "pow: %s to the power of %lld gives fractions; cast to a float first",
           name_of(dtype), static_cast<long long>(exponent));
    }
  }
  Device& device = a->is_plain_number ? b.device() : a.device();
  if (code == Elementwise::pow && b->is_plain_number && !a->is_plain_number) {
    const double exponent = is_floating(b.dtype())
                                ? __builtin_bit_cast(double, b->immediates.value[0])
                                : static_cast<double>(static_cast<int64_t>(b->immediates.value[0]));
    if (Tensor y = power_of_number(as_dtype(a, dtype, device), exponent)) return y;
  }
  return record(op, row.boolean_result ? Dtype::boolean : dtype,
                alike ? a.shape() : broadcast(a.shape(), b.shape(), row.name),
                {as_dtype(a, dtype, device, row.name), as_dtype(b, dtype, device, row.name)});
}

inline Tensor binary(Elementwise code, const Tensor& a, const Tensor& b) {
  const ElementwiseInfo& row = info(code);
  if (a->is_plain_number || b->is_plain_number || a.dtype() != b.dtype() ||
      &a.device() != &b.device() || !(a.shape() == b.shape()) ||
      working_dtype(row, a.dtype()) != a.dtype()) {
    return mixed(code, a, b);
  }
  return record_same_shape(ops[static_cast<int>(code)],
                           row.boolean_result ? Dtype::boolean : a.dtype(), a, b);
}

}  // namespace

const ElementwiseInfo& info(Elementwise code) { return table[static_cast<int>(code)]; }

#define UNARY(name, domain, result, value, gradient) \
  Tensor name(const Tensor& x) { return unary(Elementwise::name, x); }
#define BINARY(name, domain, result, value, gradient_a, gradient_b) \
  Tensor name(const Tensor& a, const Tensor& b) { return binary(Elementwise::name, a, b); }
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY

}  // namespace mt
