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
    const float sum = sum_of<Term::kept_exponential>({x.x, &largest, kept}, count, ahead);
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
