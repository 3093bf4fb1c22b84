// SPDX-License-Identifier: Apache-2.0
// Windows of any size and steps over an image, with one row of weights: four lines of the result at
// a time are computed from lines of the image that are kept in a ring, in cache, with the padding
// around them. A line in the ring is sorted into `right` phases, each with every `right`-th element
// side by side, so that vectors of the result read whole vectors.
#if defined(MT_WINDOWS_LINE_RING_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_LINE_RING_INL_H
#undef MT_WINDOWS_LINE_RING_INL_H
#else
#define MT_WINDOWS_LINE_RING_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/windows/image_lines.h"
#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

#if HWY_TARGET != HWY_SCALAR

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Whether a part of a vector is loaded and stored without a detour through memory.
constexpr bool masks_at_once = HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2;

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void copy_elements(D d, const T* from, int64_t count, T* out) {
  constexpr int64_t lanes = hn::MaxLanes(D());
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, out + i);
  if (masks_at_once && i < count) {
    const auto mask = hn::FirstN(d, count - i);
    store_part(load_part(d, mask, from + i), d, mask, out + i);
    return;
  }
  for (; i < count; ++i) out[i] = from[i];
}
// even[i] = from[2 * i] and odd[i] = from[2 * i + 1]
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void part_elements(D d, const T* from, int64_t count, T* even, T* odd) {
  int64_t i = 0;
  if constexpr (masks_at_once) {
    constexpr int64_t lanes = hn::MaxLanes(D());
    for (; i + 2 * lanes <= count; i += 2 * lanes, even += lanes, odd += lanes) {
      const auto x = hn::LoadU(d, from + i), y = hn::LoadU(d, from + i + lanes);
      hn::StoreU(hn::ConcatEven(d, y, x), d, even);
      hn::StoreU(hn::ConcatOdd(d, y, x), d, odd);
    }
    const int64_t left = count - i;
    if (left <= 0) return;
    const auto x = load_part(d, hn::FirstN(d, left), from + i);
    const auto y =
        load_part(d, hn::FirstN(d, std::max<int64_t>(left - lanes, 0)), from + i + lanes);
    store_part(hn::ConcatEven(d, y, x), d, hn::FirstN(d, (left + 1) / 2), even);
    store_part(hn::ConcatOdd(d, y, x), d, hn::FirstN(d, left / 2), odd);
  } else {
    for (; i < count; i += 2) *even++ = from[i];
    for (i = 1; i < count; i += 2) *odd++ = from[i];
  }
}

template <class D>  // of float, as others are rare
class LineRing {
  using T = hn::TFromD<D>;
  static constexpr int64_t lanes = hn::MaxLanes(D());
  static constexpr int together = ImageLines::together;

 public:
  LineRing(D d, const ImageLinesBlock<T>& block)
      : d_(d),
        block_(block),
        how_(*block.how),
        phase_(how_.phase_elements(lanes)),
        pitch_(round_up(how_.right * phase_, lanes)),
        ring_(static_cast<T*>(block.scratch)) {
    for (int64_t j = 0; j < how_.kernel_width; ++j) columns_[j] = place(ring_, j) - ring_;
    for (int64_t i = 0; i < how_.lines_read(); ++i) {
      const int64_t last = std::min<int64_t>(i / how_.down, together - 1);
      const int64_t first = std::max<int64_t>(i - how_.kernel_height + how_.down, 0) / how_.down;
      reading_[i] = static_cast<uint8_t>(first * together + last);
    }
    surround(ring_, how_.ring_lines() * pitch_);
  }

  void run() {
    for (const LinesOfImage<T>& image : block_.images) run(image);
  }

 private:
  void run(const LinesOfImage<T>& image) {
    const int64_t lines = block_.end - block_.begin;
    int64_t to_fill = 0;
    // The last lines may overlap those before. If there are fewer than four, the first line
    // overwrites the superfluous ones.
    for (int64_t at = 0; at < lines; at += together) {
      const int64_t line = std::max<int64_t>(std::min(at, lines - together), 0);
      const int64_t first = (block_.begin + line) * how_.down, end = first + how_.lines_read();
      for (to_fill = std::max(to_fill, first); to_fill < end; ++to_fill) fill(to_fill, image.image);
      for (int64_t i = first; i < end; ++i) rows_[i - first] = line_of(i);
      T* c[together];
      for (int64_t l = 0; l < together; ++l) {
        c[l] = image.c + (line + (l < lines ? l : 0)) * how_.width;
      }
      int64_t column = 0;
      for (; how_.width - column > lanes; column += 2 * lanes) compute<2>(column, image.weights, c);
      if (how_.width > column) compute<1>(column, image.weights, c);
    }
  }

  void surround(T* to, int64_t count) const {
    const auto fill = hn::Set(d_, block_.fill);
    for (int64_t i = 0; i < count; i += lanes) hn::StoreU(fill, d_, to + i);
  }

  T* line_of(int64_t line) const { return ring_ + (line & (how_.ring_lines() - 1)) * pitch_; }
  // Where a column of the padded image lies in a line of the ring.
  T* place(T* line, int64_t column) const {
    return line + column % how_.right * phase_ + column / how_.right;
  }

  // Puts a line of the image into the ring, where the padding beside it is already.
  void fill(int64_t line, const T* image) const {
    T* const to = line_of(line);
    const int64_t row = line - how_.above;
    if (row < 0 || row >= how_.image_height) return surround(to, pitch_);
    const T* const from = image + row * how_.line;
    const int64_t left = how_.left;
    const int64_t columns = std::min(how_.image_width, how_.right * phase_ - left);
    if (how_.right == 1) {
      copy_elements(d_, from, columns, to + left);
    } else if (how_.right == 2) {
      part_elements(d_, from, columns, place(to, left), place(to, left + 1));
    } else {
      for (int64_t i = 0; i < columns; ++i) *place(to, left + i) = from[i];
    }
  }

  // Computes V vectors of each line of the result, or what is left of them.
  template <int V>
  HWY_INLINE void compute(int64_t column, const T* weights, T* const (&c)[together]) const {
    hn::Vec<D> sums[together][V];
    MT_UNROLL for (int l = 0; l < together; ++l) {
      MT_UNROLL for (int v = 0; v < V; ++v) sums[l][v] = hn::Zero(d_);
    }
    for (int64_t i = 0; i < how_.lines_read(); ++i) add_line(i, column, weights, sums);
    const auto mask = hn::FirstN(d_, std::min(how_.width - column - (V - 1) * lanes, lanes));
    for (int l = together - 1; l >= 0; --l) {
      MT_UNROLL for (int v = 0; v < V - 1; ++v) hn::StoreU(sums[l][v], d_, c[l] + column);
      store_part(sums[l][V - 1], d_, mask, c[l] + column + (V - 1) * lanes);
    }
  }

  // Adds line i of the image to those lines of the result whose windows contain it.
  template <int V>
  HWY_INLINE void add_line(int64_t i, int64_t column, const T* weights,
                           hn::Vec<D> (&sums)[together][V]) const {
    static_assert(together == 4);
    switch (reading_[i]) {
      case 0: return add<V, 0, 0>(i, column, weights, sums);
      case 1: return add<V, 0, 1>(i, column, weights, sums);
      case 2: return add<V, 0, 2>(i, column, weights, sums);
      case 3: return add<V, 0, 3>(i, column, weights, sums);
      case 5: return add<V, 1, 1>(i, column, weights, sums);
      case 6: return add<V, 1, 2>(i, column, weights, sums);
      case 7: return add<V, 1, 3>(i, column, weights, sums);
      case 10: return add<V, 2, 2>(i, column, weights, sums);
      case 11: return add<V, 2, 3>(i, column, weights, sums);
      case 15: return add<V, 3, 3>(i, column, weights, sums);
      default: return;  // none
    }
  }
  template <int V, int first, int last>
  HWY_INLINE void add(int64_t i, int64_t column, const T* weights,
                      hn::Vec<D> (&sums)[together][V]) const {
    const int64_t width = how_.kernel_width, step = how_.down * width;
    const T* const row = rows_[i] + column;
    weights += i * width - last * step;
    for (int64_t j = 0; j < width; ++j, ++weights) {
      const T* const from = row + columns_[j];
      hn::Vec<D> x[V];
      MT_UNROLL for (int v = 0; v < V; ++v) x[v] = hn::LoadU(d_, from + v * lanes);
      MT_UNROLL for (int l = first; l <= last; ++l) {
        const auto weight = hn::Set(d_, weights[(last - l) * step]);
        MT_UNROLL for (int v = 0; v < V; ++v) sums[l][v] = fused(d_, weight, x[v], sums[l][v]);
      }
    }
  }

  const D d_;
  const ImageLinesBlock<T>& block_;
  const ImageLines& how_;
  const int64_t phase_, pitch_;  // elements of one phase of a line, and of a line
  T* const ring_;
  int64_t columns_[ImageLines::most_terms];  // where in a line each column of a window begins
  const T* rows_[ImageLines::most_lines];
  uint8_t reading_[ImageLines::most_lines];  // the first and last of four result lines to add to
};

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
#endif
