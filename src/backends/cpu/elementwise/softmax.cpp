// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/softmax.h"

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/softmax.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/row_passes.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// Whether the exponentials of all differences from a row's largest number are normal, but for a
// remainder of less than a vector; false where that takes as long to find out as to test each.
HWY_INLINE bool has_normal_exponentials(const float* x, size_t count, float largest) {
  if constexpr (!tests_normal<Term::kept_exponential, float>) {
    return false;
  } else {
    constexpr Tag<float> d;
    constexpr size_t lanes = lane_count<float>, chains = row_lanes / lanes;
    hn::Vec<Tag<float>> least[chains];
    HWY_UNROLL(unrolled)
    for (size_t k = 0; k < chains; ++k) least[k] = hn::Set(d, largest);
    size_t at = 0;
    for (; at + row_lanes <= count; at += row_lanes) {
      HWY_UNROLL(unrolled)
      for (size_t k = 0; k < chains; ++k) {
        least[k] = hn::Min(least[k], hn::LoadU(d, x + at + k * lanes));
      }
    }
    for (; at + lanes <= count; at += lanes) least[0] = hn::Min(least[0], hn::LoadU(d, x + at));
    halve_vectors<Minimum, chains / 2>(least);
    // Not where one is NaN, or both are infinite.
    return largest - halve<Minimum>(d, least[0]) <= normal_exp_reach;
  }
}

template <class T>
void softmax(void* out, const Input* in, int64_t rows, int64_t columns) {
  const int64_t ahead = ahead_of_row(in[shares::x]);
  const size_t count = static_cast<size_t>(columns);
  float* y = static_cast<float*>(out);
  for (int64_t r = 0; r < rows; ++r, y += columns) {
    const Row<Term::itself, float> x{row_of(in[shares::x], r), nullptr};
    float largest;
    reduce_together<Maximum, Term::itself, float, 1>(&largest, &x, count, 0);
    // The exponentials may overwrite x, and their shares may overwrite them.
    float* const kept = in[shares::exponentials].data ? row_of(in[shares::exponentials], r) : y;
    const float sum = sum_of<Term::kept_exponential>({x.x, &largest, kept}, count, ahead,
                                                     has_normal_exponentials(x.x, count, largest));
    const float inverse = 1 / sum;
    row_of(in[shares::largest], 0)[r] = largest;
    row_of(in[shares::sum], 0)[r] = sum;
    row_of(in[shares::inverse], 0)[r] = inverse;
    const Vector<float> factor(inverse);
    each_vector(count, y, ahead, [&](auto&& load) HWY_ATTR { return load(kept) * factor; });
  }
}

Operator softmax_of(Compute type) {
  if (is_baseline || type != Compute::f32) return nullptr;  // small rather than fast
  return &softmax<float>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(softmax_of);
Operator softmax_operator(Compute type) { return HWY_DYNAMIC_DISPATCH(softmax_of)(type); }
}  // namespace mt::cpu
#endif
