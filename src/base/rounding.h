// SPDX-License-Identifier: Apache-2.0
// Whole numbers, divided or rounded up.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mt {

template <class T>
constexpr T divide_up(T x, std::type_identity_t<T> y) {
  return (x + y - 1) / y;
}
// To a multiple of y.
template <class T>
constexpr T round_up(T x, std::type_identity_t<T> y) {
  return divide_up(x, y) * y;
}

constexpr int64_t cache_line = 64;  // bytes

}  // namespace mt
