// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/elementwise/moments.h"

#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/moments.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/operators.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class T>
struct Update {
  using V = Vector<T>;
  V mean_kept, mean_new, square_kept, square_new, correction, epsilon, weight_kept, rate;

  static HWY_INLINE T number(const Input& in) { return *static_cast<const T*>(in.data); }
  explicit HWY_INLINE Update(const Input* in)
      : mean_kept(number(in[moments::mean_kept])),
        mean_new(number(in[moments::mean_new])),
        square_kept(number(in[moments::square_kept])),
        square_new(number(in[moments::square_new])),
        correction(number(in[moments::correction])),
        epsilon(number(in[moments::epsilon])),
        weight_kept(number(in[moments::weight_kept])),
        rate(number(in[moments::rate])) {}

  // Updates a vector of weights, and the averages with it.
  HWY_INLINE V weight(V old, V gradient, V& mean, V& square) const {
    mean = mean * mean_kept + gradient * mean_new;
    square = square * square_kept + gradient * gradient * square_new;
    return old * weight_kept - mean / (sqrt(square) * correction + epsilon) * rate;
  }
};

template <class T>
void update(void* out, const Input* in, int64_t, int64_t columns) {
  constexpr size_t lanes = lane_count<T>, bytes = lanes * sizeof(T);
  constexpr int64_t ahead = 2048;  // in bytes, so that arrays from memory come in time
  const Update<T> update(in);
  auto begin = [&](int k) { return static_cast<const char*>(in[k].data); };
  auto result = [&](int k) { return static_cast<char*>(const_cast<void*>(in[k].data)); };
  const char *g = begin(moments::gradient), *w = begin(moments::weight_before);
  const char *m = begin(moments::mean_before), *s = begin(moments::square_before);
  char *to_m = result(moments::mean_after), *to_s = result(moments::square_after);
  char* to_w = static_cast<char*>(out);
  const size_t all = static_cast<size_t>(columns) * sizeof(T), whole = all / bytes * bytes;
  const bool fetches = all > (64 << 10);  // others are in a cache, or end before what is prefetched
  size_t i = 0;
  for (; i < whole; i += bytes) {
    if (fetches) {
      fetch(g + i, ahead);
      fetch(m + i, ahead);
      fetch(s + i, ahead);
      fetch(w + i, ahead);
    }
    Vector<T> mean = load<T>(m + i), square = load<T>(s + i);
    const Vector<T> weight = update.weight(load<T>(w + i), load<T>(g + i), mean, square);
    store(mean.raw, to_m + i);
    store(square.raw, to_s + i);
    store(weight.raw, to_w + i);
  }
  if (const size_t n = (all - whole) / sizeof(T); n > 0) {
    Vector<T> mean = load<T>(m + i, n), square = load<T>(s + i, n);
    const Vector<T> weight = update.weight(load<T>(w + i, n), load<T>(g + i, n), mean, square);
    store(mean.raw, to_m + i, n);
    store(square.raw, to_s + i, n);
    store(weight.raw, to_w + i, n);
  }
}

Operator moments_of(Compute type) {
  if (is_baseline) return nullptr;  // small rather than fast
  return type == Compute::f32 ? &update<float> : nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(moments_of);
Operator moments_operator(Compute type) { return HWY_DYNAMIC_DISPATCH(moments_of)(type); }
}  // namespace mt::cpu
#endif
