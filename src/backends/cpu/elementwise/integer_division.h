// SPDX-License-Identifier: Apache-2.0
// A fragment of vector_math.h: floor_divide and remainder of integers. No instruction set here
// divides vectors of integers, and dividing them one by one takes ten times as long as floats.

// Divides integers as floats, if they are small compared with those that a float of their width
// holds exactly. A quotient that is no integer is further from one than the rounding error of the
// division, so its floor is exact, and so is the remainder.
template <class T>
struct AsFloat {
  using V = Vector<std::conditional_t<sizeof(T) == 4, float, double>>;
  using Pattern = typename Bits<V>::Lane;
  static constexpr Pattern half = Pattern{1} << (mantissa_bits<V> - 1);
  static HWY_INLINE Bits<V> pattern(Vector<T> x) {
    return Bits<V>(hn::BitCast(Tag<Pattern>(), x.raw));
  }
  static HWY_INLINE bool serves(Vector<T> a, Vector<T> b) {
    const Bits<V> offset(std::is_signed_v<T> ? half : 0);
    const Bits<V> outside(std::is_signed_v<T> ? ~(2 * half - 1) : ~(half - 1));
    return !any((((pattern(a) + offset) | (pattern(b) + offset)) & outside) != Bits<V>(0));
  }
  static HWY_INLINE V from(Vector<T> x) {
    return from_bits<V>(pattern(x) + bits(rounder<V>())) - rounder<V>();
  }
  static HWY_INLINE Vector<T> to(V x) {
    return Vector<T>(hn::BitCast(Tag<T>(), (bits(x + rounder<V>()) - bits(rounder<V>())).raw));
  }
  template <bool rest>
  static HWY_INLINE Vector<T> divide(Vector<T> a, Vector<T> b) {
    V x = from(a), y = from(b);
    V quotient = floor(x / y);
    Vector<T> result = to(rest ? fma(-quotient, y, x) : quotient);
    return select(b == Vector<T>(0), Vector<T>(0), result);
  }
};
template <bool rest, class T>
HWY_INLINE Vector<T> divide_integers(Vector<T> a, Vector<T> b) {
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  if (HWY_LIKELY(AsFloat<T>::serves(a, b))) return AsFloat<T>::template divide<rest>(a, b);
  if constexpr (sizeof(T) == 4) {
    // As 64-bit integers, half of the lanes at a time.
    constexpr Tag<int64_t> wide;
    constexpr hn::Half<Tag<T>> narrow;
    constexpr hn::RebindToUnsigned<decltype(narrow)> pattern;
    auto divide = [&](auto x, auto y) HWY_ATTR {
      auto quotient = AsFloat<int64_t>::divide<rest>(Vector<int64_t>(hn::PromoteTo(wide, x)),
                                                     Vector<int64_t>(hn::PromoteTo(wide, y)));
      auto low = hn::TruncateTo(pattern, hn::BitCast(Tag<uint64_t>(), quotient.raw));
      return hn::BitCast(narrow, low);
    };
    auto low = divide(hn::LowerHalf(narrow, a.raw), hn::LowerHalf(narrow, b.raw));
    auto high = divide(hn::UpperHalf(narrow, a.raw), hn::UpperHalf(narrow, b.raw));
    return Vector<T>(hn::Combine(Tag<T>(), high, low));
  }
#endif
  auto divide = [](T x, T y) HWY_ATTR {
    return rest ? integer::remainder(x, y) : integer::floor_divide(x, y);
  };
  return each_lane(divide, a, b);
}
#define MT_DIVISION(T)                                          \
  HWY_INLINE Vector<T> floor_divide(Vector<T> a, Vector<T> b) { \
    return divide_integers<false>(a, b);                        \
  }                                                             \
  HWY_INLINE Vector<T> remainder(Vector<T> a, Vector<T> b) { return divide_integers<true>(a, b); }
MT_DIVISION(int32_t)
MT_DIVISION(int64_t)
MT_DIVISION(uint64_t)
#undef MT_DIVISION
