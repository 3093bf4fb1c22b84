// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/normalize.h"

#include <cmath>

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/normalize.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/row_passes.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <bool centred>
void normalize(void* out, const Input* in, int64_t rows, int64_t columns) {
  const int64_t ahead = ahead_of_row(in[normalization::x]);
  auto number = [&](int k) { return *static_cast<const float*>(in[k].data); };
  const float square_of = number(normalization::square_of);
  const float epsilon = number(normalization::epsilon);
  // Only if there is another cache to prefetch them to and time for it, which longer vectors leave
  // where a mean is taken.
  const bool fetches_results = (centred || HWY_TARGET == HWY_AVX2) && small_first_cache;
  const bool keeps = in[normalization::deviations].data;
  const size_t count = static_cast<size_t>(columns);
  float* y = static_cast<float*>(out);
  for (int64_t r = 0; r < rows; ++r, y += columns) {
    const float* x = row_of(in[normalization::x], r);
    float mean = 0, squares;
    if constexpr (centred) {
      mean = sum_of<Term::itself>({x, nullptr}, count, 0) / number(normalization::mean_of);
      row_of(in[normalization::mean], 0)[r] = mean;
      float* const kept = keeps ? row_of(in[normalization::deviations], r) : nullptr;
      squares = keeps ? sum_of<Term::kept_deviation>({x, &mean, kept}, count, ahead)
                      : sum_of<Term::deviation>({x, &mean, nullptr}, count, ahead);
      if (keeps) x = kept, mean = 0;  // the deviations may overwrite x
    } else {
      squares = sum_of<Term::square>({x, nullptr}, count, ahead);
    }
    const float scale = 1 / std::sqrt(squares / square_of + epsilon);
    row_of(in[normalization::scale], 0)[r] = scale;
    const float* weight = row_of(in[normalization::weight], r);
    const float* bias = centred ? row_of(in[normalization::bias], r) : nullptr;
    const Vector<float> center(mean), factor(scale);
    each_vector(count, y, fetches_results ? ahead : 0, [&](auto&& load) HWY_ATTR {
      if constexpr (!centred) return load(x) * factor * load(weight);
      return (load(x) - center) * factor * load(weight) + load(bias);
    });
  }
}

Operator normalize_of(bool centred, Compute type) {
  if (is_baseline || type != Compute::f32) return nullptr;  // small rather than fast
  return centred ? &normalize<true> : &normalize<false>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(normalize_of);
Operator normalize_operator(bool centred, Compute type) {
  return HWY_DYNAMIC_DISPATCH(normalize_of)(centred, type);
}
}  // namespace mt::cpu
#endif
