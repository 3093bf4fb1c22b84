// SPDX-License-Identifier: Apache-2.0
/// @file whole_number.hpp
/// Integers of any C++ type where the library has int64_t. See mtorch.hpp.
#ifndef MTORCH_WHOLE_NUMBER_HPP_
#define MTORCH_WHOLE_NUMBER_HPP_

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "error.hpp"
#include "tensor.h"

namespace mtorch {

/// An integer of at most 64 bits, not bool.
template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= sizeof(int64_t);

/// @cond
namespace detail {

// Whether T has the value. Of characters too, which std::in_range() refuses: + makes integers.
template <WholeNumber T, WholeNumber U>
constexpr bool has(U value) {
  using Limits = std::numeric_limits<T>;
  return std::cmp_less_equal(+Limits::min(), +value) && std::cmp_less_equal(+value, +Limits::max());
}

// The value as a T, which must have it; as bool, whether it is not 0.
template <std::integral T>
T read_as(int64_t value) {
  if constexpr (WholeNumber<T>) {
    using Limits = std::numeric_limits<T>;
    if (!has<T>(value)) {
      throw Error(MT_EINVAL, "item: " + std::to_string(value) + " is not in the type's range [" +
                                 std::to_string(+Limits::min()) + ", " +
                                 std::to_string(+Limits::max()) + "]");
    }
  }
  return static_cast<T>(value);
}

template <WholeNumber T>
mt_tensor* whole_number(T value) {
  if (has<int64_t>(value)) return mt_whole_number(static_cast<int64_t>(value));
  return mt_from_data(&value, nullptr, 0, MT_U64, nullptr);
}

}  // namespace detail
/// @endcond

/// One size or axis within braces, of any integer type: {values.size(), 3}.
struct Dim {
  /// MT_EINVAL for a number that int64_t has not.
  template <class T>
  requires(std::convertible_to<T, int64_t> && !std::floating_point<T>) Dim(T number)
      : value(static_cast<int64_t>(number)) {
    if constexpr (WholeNumber<T>) {
      if (detail::has<int64_t>(number)) return;
      throw Error(MT_EINVAL, "a size or axis cannot be " + std::to_string(+number));
    }
  }
  int64_t value;  ///< as C has it
};

}  // namespace mtorch

#endif
