// SPDX-License-Identifier: Apache-2.0
// What kernels use of the C++ standard library, for NVRTC, which brings none of it: each of its
// headers stands for this file.
#pragma once

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned;
using int64_t = long;
using uint64_t = unsigned long;
using size_t = unsigned long;
using uintptr_t = unsigned long;
// Words of the host compilers.
#define __extension__
#define __builtin_fma fma
#define INT64_MAX 0x7fffffffffffffffl

namespace std {

template <class T, class U>
constexpr bool is_same_v = false;
template <class T>
constexpr bool is_same_v<T, T> = true;
template <class T, class... U>
constexpr bool is_any_of = (is_same_v<T, U> || ...);
template <class T>
constexpr bool is_floating_point_v = is_any_of<T, float, double>;
template <class T>
constexpr bool is_integral_v = is_any_of<T, bool, char, signed char, unsigned char, short,
                                         unsigned short, int, unsigned, long, unsigned long>;
template <class T>
constexpr bool is_signed_v = T(-1) < T(0);
template <class T>
constexpr bool is_unsigned_v = !is_signed_v<T>;

template <bool condition, class T, class U>
struct conditional {
  using type = T;
};
template <class T, class U>
struct conditional<false, T, U> {
  using type = U;
};
template <bool condition, class T, class U>
using conditional_t = typename conditional<condition, T, U>::type;
template <class T>
using make_unsigned_t =
    conditional_t<sizeof(T) == 1, unsigned char,
                  conditional_t<sizeof(T) == 2, unsigned short,
                                conditional_t<sizeof(T) == 4, unsigned, unsigned long>>>;

template <class T>
struct numeric_limits {
  static constexpr bool has_infinity = is_floating_point_v<T>;
  static constexpr int digits = is_same_v<T, float>    ? 24
                                : is_same_v<T, double> ? 53
                                                       : int(sizeof(T)) * 8 - is_signed_v<T>;
  static constexpr T infinity() { return T(__builtin_bit_cast(double, 0x7ff0000000000000ul)); }
  static constexpr T quiet_NaN() { return T(__builtin_bit_cast(double, 0x7ff8000000000000ul)); }
  static constexpr T max() {
    if constexpr (is_same_v<T, float>)
      return 3.40282347e+38f;
    else if constexpr (is_same_v<T, double>)
      return 1.7976931348623157e+308;
    else
      return static_cast<T>(static_cast<make_unsigned_t<T>>(-1) >> is_signed_v<T>);
  }
  static constexpr T lowest() {
    if constexpr (is_floating_point_v<T>)
      return -max();
    else
      return static_cast<T>(-max() - T(is_signed_v<T>)) * T(is_signed_v<T>);
  }
  static constexpr T min() {
    if constexpr (is_same_v<T, float>)
      return 1.17549435e-38f;
    else if constexpr (is_same_v<T, double>)
      return 2.2250738585072014e-308;
    else
      return lowest();
  }
};

}  // namespace std
