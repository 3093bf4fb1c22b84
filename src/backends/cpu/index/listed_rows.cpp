// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/index/listed_rows.h"

#include <algorithm>

#include "backends/cpu/elementwise/targets.h"
#include "backends/cpu/index/fetch_row.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/index/listed_rows.cpp"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
void add_listed(void* sums, const void* values, int64_t step, int64_t width, const ListedRow* list,
                int64_t count) {
  constexpr hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t e = 0; e < count; ++e) {
    const T* next =
        static_cast<const T*>(values) + list[std::min(e + rows_ahead, count - 1)].from * step;
    fetch_row(next, width * static_cast<int64_t>(sizeof(T)));
    T* sum = static_cast<T*>(sums) + list[e].row * width;
    const T* from = static_cast<const T*>(values) + list[e].from * step;
    int64_t c = 0;
    for (; c + lanes <= width; c += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, sum + c), hn::LoadU(d, from + c)), d, sum + c);
    }
    for (; c < width; ++c) sum[c] += from[c];
  }
}

ListedAddition addition_of(Compute type) {
  switch (type) {
    case Compute::f32: return &add_listed<float>;
    case Compute::f64: return &add_listed<double>;
    case Compute::i32: return &add_listed<uint32_t>;
    default: return &add_listed<uint64_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(addition_of);
ListedAddition listed_addition(Compute type) { return HWY_DYNAMIC_DISPATCH(addition_of)(type); }
}  // namespace mt::cpu
#endif
