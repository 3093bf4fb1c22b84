// SPDX-License-Identifier: Apache-2.0
// The lines of windows that are shorter than a vector, interleaved:
//   strip[x * lines + line] = b[line][x],
// where each window is one stretch, `lines` elements after that of the previous position. The strip
// of the next line of positions is this one, moved by an element, with the new line put in.
#if defined(MT_WINDOW_STRIPS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOW_STRIPS_INL_H
#undef MT_WINDOW_STRIPS_INL_H
#else
#define MT_WINDOW_STRIPS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// As many as registers have room for sums, and as putting lines in costs less than it gains.
constexpr ShortWindows short_windows =
    HWY_TARGET == HWY_AVX3 ? ShortWindows{8, 21} : ShortWindows{6, 8};
constexpr int64_t most_strips = 8;
constexpr int64_t all_strips = 8192;  // elements, in the first-level cache

// All elements of x but the first, then the first of y. Loading them would wait for the two vectors
// in which they have just been stored.
HWY_INLINE hn::Vec<Vectors<float>> behind_first(hn::Vec<Vectors<float>> x,
                                                hn::Vec<Vectors<float>> y) {
  using Vec = hn::Vec<Vectors<float>>;
#if HWY_TARGET == HWY_AVX3
  return Vec{_mm512_castsi512_ps(
      _mm512_alignr_epi32(_mm512_castps_si512(y.raw), _mm512_castps_si512(x.raw), 1))};
#else
  const __m256i low = _mm256_castps_si256(x.raw);
  const __m256i high = _mm256_castps_si256(_mm256_permute2f128_ps(x.raw, y.raw, 0x21));
  return Vec{_mm256_castsi256_ps(_mm256_alignr_epi8(high, low, 4))};
#endif
}

class WindowStrips {
  static constexpr int64_t lanes = lanes_of<float>;

 public:
  WindowStrips(const MatrixOperand& b, const float* data) : data_(data) {
    const int last = b.rows.rank - 1;
    width_ = b.rows.sizes[last];
    lines_ = b.rows.size / width_;
    height_ = last > 0 ? b.rows.sizes[last - 1] : 1;
    pitch_ = last > 0 ? b.rows.strides[last - 1] : 0;
    longest_ = std::min(round_up(b.k.sizes[b.k.rank - 1] + width_ - 1, lanes),
                        all_strips / lines_ / lanes * lanes);
    count_ = std::min(most_strips, all_strips / (longest_ * lines_));
    for (int64_t i = 0; i < lines_; ++i) rows_[i] = b.rows.offset(i * width_);
    for (int64_t i = 0, line = 0, column = 0; i < lines_ * lanes; ++i) {
      line_[i] = static_cast<int32_t>(line);
      column_[i] = static_cast<int32_t>(column);
      if (++line == lines_) line = 0, ++column;
    }
  }

  int64_t lines() const { return lines_; }
  int64_t count() const { return count_; }                          // that are kept
  int64_t most_positions() const { return longest_ - width_ + 1; }  // of a strip

  // Makes the strip of the windows at `positions` positions, the first of them at `offset` of b.
  const float* make(int64_t offset, int64_t positions) {
    const int64_t columns = positions + width_ - 1;
    const float* const from = strip(at_);
    if (++at_ == count_) at_ = 0;
    if (height_ > 1 && offset == offset_ + pitch_ && columns <= columns_) {
      add_line(from, offset, height_ - 1, columns);
    } else {
      for (int64_t line = 0; line < height_; ++line) add_line(strip(at_), offset, line, columns);
    }
    offset_ = offset;
    columns_ = columns;
    return strip(at_);
  }

 private:
  float* strip(int64_t index) { return strips_ + index * longest_ * lines_; }

  // Moves strip `from` by an element, which drops each channel's first line, and puts line `line`
  // of the windows in as its last.
  void add_line(const float* from, int64_t offset, int64_t line, int64_t columns) {
    const Vectors<float> d;
    float* to = strip(at_);
    for (int64_t begin = 0; begin < columns; begin += lanes) {
      const auto mask = hn::FirstN(d, static_cast<size_t>(std::min(columns - begin, lanes)));
      const auto elements = [&](int64_t first) HWY_ATTR {
        return load_part(d, mask, data_ + offset + rows_[first + line] + begin);
      };
      auto next = hn::Load(d, from);
      put_in(elements(0), height_ - 1, to, [&](int64_t v) HWY_ATTR {
        const auto own = next;
        next = hn::Load(d, from + (v + 1) * lanes);
        return behind_first(own, next);
      });
      for (int64_t first = height_; first < lines_; first += height_) {
        put_in(elements(first), first + height_ - 1, to,
               [&](int64_t v) HWY_ATTR { return hn::Load(d, to + v * lanes); });
      }
      from += lines_ * lanes;
      to += lines_ * lanes;
    }
  }
  // In as many vectors as there are lines, takes the lanes of line `line` from `elements`.
  template <class F>
  HWY_INLINE void put_in(hn::Vec<Vectors<float>> elements, int64_t line, float* to, F&& others) {
    const Vectors<float> d;
    const hn::RebindToSigned<Vectors<float>> places;
    const auto own = hn::Set(places, static_cast<int32_t>(line));
    for (int64_t v = 0; v < lines_; ++v) {
      const auto columns = hn::IndicesFromVec(d, hn::Load(places, column_ + v * lanes));
      const auto is_own = hn::RebindMask(d, hn::Eq(hn::Load(places, line_ + v * lanes), own));
      const auto x = hn::IfThenElse(is_own, hn::TableLookupLanes(elements, columns), others(v));
      hn::Store(x, d, to + v * lanes);
    }
  }

  const float* const data_;
  int64_t rows_[short_windows.lines];
  int64_t width_, lines_;                      // of a window; the lines of all channels
  int64_t height_, pitch_;                     // lines of a channel, and from one to the next
  int64_t longest_, count_;                    // columns of a strip, and strips
  int64_t at_ = 0, offset_ = 0, columns_ = 0;  // of the last strip made
  // The line and column of each lane, for as many vectors as there are lines; then they repeat.
  HWY_ALIGN int32_t line_[short_windows.lines * lanes];
  HWY_ALIGN int32_t column_[short_windows.lines * lanes];
  HWY_ALIGN float strips_[all_strips + lanes];  // the last one is read a little beyond its end
};

#else
constexpr ShortWindows short_windows;
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
