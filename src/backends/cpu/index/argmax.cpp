// SPDX-License-Identifier: Apache-2.0
// Where the extreme element of each line is. A line whose elements lie next to each other is taken
// block by block: first the block's extreme, in vectors, then its first place; a single long one is
// cut into panels. Lines that lie next to each other are taken together, row by row.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/sort/sort_key.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t block = 1024;  // searched again while it is in cache
constexpr int64_t few = 16;      // that are compared one by one
constexpr int64_t most_panels = 256;

// Keys of which the largest is wanted. A NaN has the largest key; for the smallest element, keys
// are reversed, and one less, so that a NaN's 0 becomes the largest again.
template <class Element, bool largest>
typename Element::Key wanted(typename Element::Memory x) {
  using Key = typename Element::Key;
  Key key = Element::key(x);
  if constexpr (largest) return key;
  if constexpr (!requires { Element::infinite; }) return static_cast<Key>(~key);
  constexpr Key nan = static_cast<Key>(static_cast<typename Element::Memory>(-1));
  return static_cast<Key>(nan - key - 1);
}

template <class Key>
struct Best {
  Key key;
  int64_t place;
};

// The element types that have a vector reduction.
template <class Element>
constexpr bool has_vectors =
    std::is_same_v<Element, FloatElement> || std::is_same_v<Element, DoubleElement> ||
    std::is_same_v<Element, IntegerElement<int32_t>> ||
    std::is_same_v<Element, IntegerElement<int64_t>>;

template <class Element, bool largest>
typename Element::Key best_key(const typename Element::Memory* x, int64_t count, Dtype dtype) {
  using Key = typename Element::Key;
  if constexpr (has_vectors<Element>) {
    static const Operator reduce =
        row_reduction(largest ? Reduction::max : Reduction::min, compute_of(dtype));
    typename Element::Memory extreme;
    const Input row{x};
    reduce(&extreme, &row, 1, count);
    return wanted<Element, largest>(extreme);
  } else {
    Key key = 0;
    for (int64_t i = 0; i < count; ++i) key = std::max(key, wanted<Element, largest>(x[i]));
    return key;
  }
}

template <class Element, bool largest>
Best<typename Element::Key> best_of(const typename Element::Memory* x, int64_t begin, int64_t end,
                                    Dtype dtype) {
  using Key = typename Element::Key;
  Best<Key> best{wanted<Element, largest>(x[begin]), begin};
  if (end - begin <= few) {
    for (int64_t i = begin + 1; i < end; ++i) {
      const Key key = wanted<Element, largest>(x[i]);
      const bool better = key > best.key;
      best = {better ? key : best.key, better ? i : best.place};
    }
    return best;
  }
  for (int64_t at = begin; at < end; at += block) {
    Key key = best_key<Element, largest>(x + at, std::min(end - at, block), dtype);
    if (key <= best.key) continue;
    int64_t place = at;
    while (wanted<Element, largest>(x[place]) != key) ++place;
    best = {key, place};
  }
  return best;
}

// `width` lines next to each other, whose elements are `stride` apart.
template <class Element, bool largest>
void best_of_columns(const typename Element::Memory* x, int64_t length, int64_t stride,
                     int64_t width, int64_t* places) {
  typename Element::Key keys[block];
  for (int64_t c = 0; c < width; ++c) keys[c] = wanted<Element, largest>(x[c]);
  std::fill(places, places + width, int64_t{0});
  for (int64_t i = 1; i < length; ++i) {
    const typename Element::Memory* row = x + i * stride;
    for (int64_t c = 0; c < width; ++c) {
      typename Element::Key key = wanted<Element, largest>(row[c]);
      bool better = key > keys[c];
      keys[c] = better ? key : keys[c];
      places[c] = better ? i : places[c];
    }
  }
}

template <class Element, bool largest>
void extreme(const NaiveCall& call) {
  using Key = typename Element::Key;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  const auto* from = reinterpret_cast<const typename Element::Memory*>(first_element(x));
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  int64_t length = x.layout.shape[1], inner = x.layout.shape[2], lines = y.size();
  if (inner > 1) {
    int64_t width = std::min(inner, std::max<int64_t>(64, block / 8));
    int64_t stretches = divide_up(inner, width);
    parallel_for(lines / inner * stretches, grain_of(length * width),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t task = begin; task < end; ++task) {
                     int64_t o = task / stretches, column = task % stretches * width;
                     best_of_columns<Element, largest>(from + o * length * inner + column, length,
                                                       inner, std::min(width, inner - column),
                                                       to + o * inner + column);
                   }
                 });
    return;
  }
  if (lines == 1 && length > 2 * elements_grain) {
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
  parallel_for(lines, grain_of(length), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      to[line] = best_of<Element, largest>(from + line * length, 0, length, x.dtype).place;
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
