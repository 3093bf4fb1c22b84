// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided/pool_pairs.h"

#include <algorithm>
#include <limits>

#include "tensor/walker.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/strided/pool_pairs.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/vector.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
bool pools_here() { return true; }

constexpr Tag<float> floats;
using Floats = hn::Vec<Tag<float>>;

HWY_INLINE Floats larger(Floats a, Floats b) {
  const auto numbers = hn::And(hn::Eq(a, a), hn::Eq(b, b));
  return hn::IfThenElse(numbers, ordered_max(a, b),
                        hn::Set(floats, std::numeric_limits<float>::quiet_NaN()));
}

// `count` windows side by side; x and `below` are their two lines of elements.
void pool_line(float* out, const float* x, const float* below, int64_t count) {
  constexpr int64_t lanes = lane_count<float>;
  for (int64_t i = 0; i < count; i += lanes) {
    const int64_t some = std::min(lanes, count - i);
    const float *const from = x + 2 * i, *const from_below = below + 2 * i;
    if (some == lanes) {
      const auto low = larger(hn::LoadU(floats, from), hn::LoadU(floats, from_below));
      const auto high =
          larger(hn::LoadU(floats, from + lanes), hn::LoadU(floats, from_below + lanes));
      hn::StoreU(larger(hn::ConcatEven(floats, high, low), hn::ConcatOdd(floats, high, low)),
                 floats, out + i);
      continue;
    }
    const auto first = hn::FirstN(floats, static_cast<size_t>(std::min(2 * some, lanes)));
    const auto low =
        larger(hn::MaskedLoad(first, floats, from), hn::MaskedLoad(first, floats, from_below));
    auto high = low;
    if (2 * some > lanes) {
      const auto rest = hn::FirstN(floats, static_cast<size_t>(2 * some - lanes));
      high = larger(hn::MaskedLoad(rest, floats, from + lanes),
                    hn::MaskedLoad(rest, floats, from_below + lanes));
    }
    hn::BlendedStore(larger(hn::ConcatEven(floats, high, low), hn::ConcatOdd(floats, high, low)),
                     hn::FirstN(floats, static_cast<size_t>(some)), floats, out + i);
  }
}
#else
bool pools_here() { return false; }
void pool_line(float*, const float*, const float*, int64_t) {}
#endif

void pool_here(float* out, const float* x, const Layout& windows, int64_t second, int64_t first,
               int64_t count) {
  const int last = windows.shape.rank() - 1;
  const int64_t length = windows.shape[last];
  const Layout lines{Shape(windows.shape.data(), last), Strides(windows.strides.data(), last), 0};
  int64_t at = first % length;
  for (Walker walker(lines, first / length); count > 0; walker.next(), at = 0) {
    const int64_t some = std::min(length - at, count);
    const float* const from = x + walker.position() + 2 * at;
    pool_line(out, from, from + second, some);
    out += some;
    count -= some;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
namespace {

HWY_EXPORT(pools_here);
HWY_EXPORT(pool_here);

}  // namespace

bool pools_pairs() { return HWY_DYNAMIC_DISPATCH(pools_here)(); }

void pool_pairs(float* out, const float* x, const Layout& windows, int64_t second, int64_t first,
                int64_t count) {
  HWY_DYNAMIC_DISPATCH(pool_here)(out, x, windows, second, first, count);
}

}  // namespace mt::cpu
#endif
