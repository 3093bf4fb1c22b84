// SPDX-License-Identifier: Apache-2.0
// The element-wise operators as an enumeration, with what the table says of each.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tensor/dtype.h"

namespace mt {

enum class Elementwise : uint8_t {
#define UNARY(name, domain, result, value, gradient) name,
#define BINARY(name, domain, result, value, gradient_a, gradient_b) name,
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
  count,
};

enum class Domain : uint8_t { number, real, integer, bits, boolean, any };

struct ElementwiseInfo {
  const char* name;
  Domain domain;
  int arity;
  bool boolean_result;
};
const ElementwiseInfo& info(Elementwise code);

// The types arithmetic is done in. Narrow types are loaded into these and rounded or wrapped back
// after every operator, so that fused and eager runs agree: bool and integers to 16 bits and int32
// compute as i32, uint32 as i64, 16-bit floats as f32. A bool is the i32 0 or 1.
enum class Compute : uint8_t { f32, f64, i32, i64, u64 };

constexpr Compute compute_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float16:
    case Dtype::bfloat16:
    case Dtype::float32: return Compute::f32;
    case Dtype::float64: return Compute::f64;
    case Dtype::uint32:
    case Dtype::int64: return Compute::i64;
    case Dtype::uint64: return Compute::u64;
    default: return Compute::i32;
  }
}
constexpr size_t size_of(Compute compute) {
  return compute == Compute::f32 || compute == Compute::i32 ? 4 : 8;
}
// Whether a value of `dtype` needs rounding or wrapping after each operator in its compute type.
constexpr bool needs_rounding(Dtype dtype) {
  return dtype != Dtype::boolean && size_of(dtype) != size_of(compute_of(dtype));
}
// Whether operators of a domain have values in the compute type whose numbers are T.
template <class T>
constexpr bool has_values(Domain domain) {
  switch (domain) {
    case Domain::real: return std::is_floating_point_v<T>;
    case Domain::integer:
    case Domain::bits: return std::is_integral_v<T>;
    case Domain::boolean: return std::is_same_v<T, int32_t>;
    default: return true;
  }
}

}  // namespace mt
