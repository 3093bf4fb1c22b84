// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/normalize_gradient.h"

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/normalize_gradient.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/row_passes.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

// x is dy, y the deviations.
template <>
struct Row<Term::weighted_product, float> {
  const float *x, *y, *weight;
  float scale;
  float *weight_total, *bias_total;
};
template <class Lanes>
HWY_INLINE hn::Vec<Tag<float>> term_of(const Row<Term::weighted_product, float>& row, Lanes lanes) {
  const auto dy = lanes.load(row.x), deviation = lanes.load(row.y);
  lanes.store(lanes.load(row.bias_total) + dy, row.bias_total);
  const auto normal = deviation * hn::Set(Tag<float>(), row.scale);
  lanes.store(lanes.load(row.weight_total) + normal * dy, row.weight_total);
  return dy * lanes.load(row.weight) * deviation;
}

template <>
struct Row<Term::kept_slope, float> {
  const float *x, *y, *weight;
  float scale, factor, number;
  float* kept;
};
template <class Lanes>
HWY_INLINE hn::Vec<Tag<float>> term_of(const Row<Term::kept_slope, float>& row, Lanes lanes) {
  constexpr Tag<float> d;
  const auto along = hn::Set(d, row.factor) * lanes.load(row.y) * hn::Set(d, row.number);
  const auto slope = along + lanes.load(row.x) * lanes.load(row.weight) * hn::Set(d, row.scale);
  lanes.store(slope, row.kept);
  return slope;
}

template <class T>
void norm_products(void* out, const Input* in, int64_t rows, int64_t columns) {
  namespace of = norm_products;
  for (int64_t r = 0; r < rows; ++r) {
    auto row = [&](int k) { return row_of(in[k], r); };
    static_cast<float*>(out)[r] = sum_of<Term::weighted_product>(
        {row(norm_operands::dy), row(norm_operands::deviations), row(norm_operands::weight),
         *row(norm_operands::scale), row(of::weight_total), row(of::bias_total)},
        static_cast<size_t>(columns), ahead_of_row(in[norm_operands::dy]));
  }
}
template <class T>
void norm_slopes(void* out, const Input* in, int64_t rows, int64_t columns) {
  namespace of = norm_slopes;
  float* y = static_cast<float*>(out);
  for (int64_t r = 0; r < rows; ++r, y += columns) {
    auto row = [&](int k) { return row_of(in[k], r); };
    row_of(in[of::sum], 0)[r] = sum_of<Term::kept_slope, false>(
        {row(norm_operands::dy), row(norm_operands::deviations), row(norm_operands::weight),
         *row(norm_operands::scale), *row(of::factor), *row(of::number), y},
        static_cast<size_t>(columns), 0);
  }
}

Operator norm_products_of(Compute type) {
  if (is_baseline || type != Compute::f32) return nullptr;  // small rather than fast
  return &norm_products<float>;
}
Operator norm_slopes_of(Compute type) {
  return is_baseline || type != Compute::f32 ? nullptr : &norm_slopes<float>;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(norm_products_of);
HWY_EXPORT(norm_slopes_of);
Operator norm_products_operator(Compute type) {
  return HWY_DYNAMIC_DISPATCH(norm_products_of)(type);
}
Operator norm_slopes_operator(Compute type) { return HWY_DYNAMIC_DISPATCH(norm_slopes_of)(type); }
}  // namespace mt::cpu
#endif
