// SPDX-License-Identifier: Apache-2.0
// Where each row's extreme element is: first the extreme key, in vectors, then its first place.
// Rows that are too long for one thread are cut into panels.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/index/sort_key.h"
#include "backends/cpu/parallel.h"

namespace mt::cpu {
namespace {

constexpr int64_t block = 1024;       // searched again while it is in cache
constexpr int64_t most_panels = 256;

// Keys of which the largest is wanted. A NaN has the largest key; for the smallest element, keys
// are reversed but for a NaN's, which stays.
template <class Element, bool largest>
typename Element::Key wanted(typename Element::Memory x, Dtype dtype) {
  using Key = typename Element::Key;
  Key key = Element::key(x);
  if constexpr (largest) return key;
  if (!is_floating(dtype)) return static_cast<Key>(~key);
  constexpr Key nan = std::is_same_v<Element, HalfElement> || std::is_same_v<Element, BfloatElement>
                          ? Key(0xffff)
                          : static_cast<Key>(~Key(0));
  return key == nan ? static_cast<Key>(~Key(0)) : static_cast<Key>(nan - key);
}

template <class Key>
struct Best {
  Key key;
  int64_t place;
};

template <class Element, bool largest>
Best<typename Element::Key> best_of(const typename Element::Memory* x, int64_t begin, int64_t end,
                                    Dtype dtype) {
  using Key = typename Element::Key;
  Best<Key> best{wanted<Element, largest>(x[begin], dtype), begin};
  for (int64_t at = begin; at < end; at += block) {
    int64_t stop = std::min(end, at + block);
    Key key = 0;
    for (int64_t i = at; i < stop; ++i) key = std::max(key, wanted<Element, largest>(x[i], dtype));
    if (key <= best.key) continue;
    int64_t place = at;
    while (wanted<Element, largest>(x[place], dtype) != key) ++place;
    best = {key, place};
  }
  return best;
}

template <class Element, bool largest>
void extreme(const NaiveCall& call) {
  using Key = typename Element::Key;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const auto* from = reinterpret_cast<const typename Element::Memory*>(first_element(x));
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  int64_t length = x.layout.shape.back(), rows = y.size();
  if (rows == 1 && length > 2 * elements_grain) {
    int64_t panels = std::min(most_panels, length / elements_grain);
    Best<Key> best[most_panels];
    parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        best[p] = best_of<Element, largest>(from, length / panels * p,
                                            p + 1 == panels ? length : length / panels * (p + 1),
                                            x.dtype);
      }
    });
    for (int64_t p = 1; p < panels; ++p) {
      if (best[p].key > best[0].key) best[0] = best[p];
    }
    to[0] = best[0].place;
    return;
  }
  parallel_for(rows, grain_of(length), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      to[row] = best_of<Element, largest>(from + row * length, 0, length, x.dtype).place;
    }
  });
}

template <bool largest>
void run(const NaiveCall& call) {
  if (call.output.size() == 0) return;
  if (!is_contiguous(call.inputs[0].layout)) return naive_value(call);
  with_element(call.inputs[0].dtype,
               [&](auto element) { extreme<decltype(element), largest>(call); });
}

}  // namespace

void argmax_kernel(const NaiveCall& call) { run<true>(call); }
void argmin_kernel(const NaiveCall& call) { run<false>(call); }

}  // namespace mt::cpu
