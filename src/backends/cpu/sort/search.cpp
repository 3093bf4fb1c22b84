// SPDX-License-Identifier: Apache-2.0
// Binary searches of a sorted vector for several values side by side, so that their waits for
// memory overlap; none branches on what it finds.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/sort/sort_key.h"

namespace mt::cpu {
namespace {

constexpr int64_t together = 16;

// How many elements of `sorted` are before each of `count` values or, if `not_after`, not after it.
template <class Element, bool not_after>
void search(const typename Element::Memory* sorted, int64_t length,
            const typename Element::Memory* values, int64_t count, int64_t* found) {
  using Memory = typename Element::Memory;
  typename Element::Key wanted[together];
  const Memory* low[together];
  auto precedes = [&](const Memory& element, int64_t j) {
    return not_after ? Element::key(element) <= wanted[j] : Element::key(element) < wanted[j];
  };
  for (int64_t j = 0; j < count; ++j) {
    wanted[j] = Element::key(values[j]);
    low[j] = sorted;
  }
  int64_t left = length;
  for (; left > 1; left -= left / 2) {
    const int64_t half = left / 2;  // masked to this or 0: compilers branch on a choice
    for (int64_t j = 0; j < count; ++j) low[j] += half & -int64_t{precedes(low[j][half - 1], j)};
  }
  for (int64_t j = 0; j < count; ++j) found[j] = low[j] - sorted + (left && precedes(*low[j], j));
}

}  // namespace

void searchsorted_kernel(const NaiveCall& call) {
  const NaiveArray &sorted = call.inputs[0], &values = call.inputs[1];
  if (!is_contiguous(sorted.layout) || !is_contiguous(values.layout)) return naive_value(call);
  with_element(sorted.dtype, [&](auto element) {
    using Element = decltype(element);
    const auto search_some = call.attributes[0] ? search<Element, true> : search<Element, false>;
    auto from = reinterpret_cast<const typename Element::Memory*>(first_element(sorted));
    auto wanted = reinterpret_cast<const typename Element::Memory*>(first_element(values));
    auto found = reinterpret_cast<int64_t*>(first_element(call.output));
    parallel_for(values.size(), elements_grain / 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += together) {
        const int64_t count = std::min(together, end - i);
        search_some(from, sorted.size(), wanted + i, count, found + i);
      }
    });
  });
}

}  // namespace mt::cpu
