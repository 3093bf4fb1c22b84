// SPDX-License-Identifier: Apache-2.0
// The interpreter's switch over the element-wise table, in a file of its own because it takes
// longer to compile than all else together.
#include "backends/cuda/device/operators.h"

namespace mt::cuda {
namespace {

template <class T>
__device__ Value operate(uint8_t code, Value first, Value second) {
  using V = Mathematical<T>;
  [[maybe_unused]] V a(unpack<T>(first)), b(unpack<T>(second));
  switch (static_cast<Elementwise>(code)) {
#define UNARY(name, domain, result, value, gradient)                               \
  case Elementwise::name:                                                          \
    if constexpr (has_values<T>(Domain::domain)) return pack(table::name##_of(a)); \
    break;
#define BINARY(name, domain, result, value, gradient_a, gradient_b)                   \
  case Elementwise::name:                                                             \
    if constexpr (has_values<T>(Domain::domain)) return pack(table::name##_of(a, b)); \
    break;
#include "ops/elementwise.def"
#undef UNARY
#undef BINARY
    default: break;
  }
  return 0;
}

}  // namespace

__device__ Value operate(Compute type, uint8_t code, Value a, Value b) {
  return with_compute(type, [&](auto x) { return operate<decltype(x)>(code, a, b); });
}

}  // namespace mt::cuda
