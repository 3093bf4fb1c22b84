// SPDX-License-Identifier: Apache-2.0
// A few rows over short sliding windows, as in the gradient of a first convolution's weight:
// c[row, column] = sum over k of a[row, k] * b[column, k], where columns are the elements of a
// window and k its positions. The lines of a window are shorter than a vector, and the rows too few
// to fill one; so the lines that windows at a line of positions have are interleaved in a strip,
//   strip[x * lines + line] = b[line][x],
// where each window is one stretch, `lines` elements behind that of the position before it. The
// strip of the next line of positions is this one, moved by an element, with the new line put in.
#if defined(MT_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_WINDOWS_INL_H
#undef MT_WINDOWS_INL_H
#else
#define MT_WINDOWS_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// As the registers have room for sums, and as putting lines in costs less than is gained.
constexpr ShortWindows short_windows =
    HWY_TARGET == HWY_AVX3 ? ShortWindows{8, 21} : ShortWindows{6, 8};
constexpr int64_t most_window_columns = 192, most_strips = 8;
constexpr int64_t all_strips = 8192;  // elements, in the first-level cache
constexpr int window_vectors = 2;     // of a window, that run together
static_assert(round_up(short_windows.lines * most_window_width, window_vectors* lanes_of<float>) <=
              most_window_columns);

// All elements but the first one of x, then the first one of y. To load them would wait for what
// has just been stored, in two vectors.
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

  // Of windows at `positions` positions from that one on, an offset of b's.
  const float* make(int64_t offset, int64_t positions) {
    const int64_t columns = positions + width_ - 1;
    const float* const from = strip(at_);
    at_ = (at_ + 1) % count_;
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

  // Moves `from` by an element, which drops each channel's first line, and puts that line of the
  // windows in as its last.
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
  // Of as many vectors as there are lines: takes those of that line from `elements`.
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
  int64_t width_, lines_;                      // of a window, those of all channels
  int64_t height_, pitch_;                     // lines of a channel, and from one to the next
  int64_t longest_, count_;                    // columns of a strip, and strips
  int64_t at_ = 0, offset_ = 0, columns_ = 0;  // of the last one
  // Of each lane of as many vectors as there are lines, after which they repeat.
  HWY_ALIGN int32_t line_[short_windows.lines * lanes];
  HWY_ALIGN int32_t column_[short_windows.lines * lanes];
  HWY_ALIGN float strips_[all_strips + lanes];  // the last one is read a little beyond its end
};

// A line of positions: where their windows and a's rows begin.
struct WindowSteps {
  const float* windows;
  int64_t a, count;
};

// sums[row][vector], rows `pitch` apart, go on over `count` steps: of the elements of windows from
// `first` on. Windows are `lines` elements behind one another.
template <int R, int V>
HWY_NOINLINE void windows_kernel(const float* a, const int64_t* row_offsets,
                                 const WindowSteps* steps, int64_t count, int64_t lines,
                                 int64_t first, float* sums, int64_t pitch) {
  using Vec = hn::Vec<Vectors<float>>;
  const Vectors<float> d;
  constexpr int64_t lanes = lanes_of<float>;
  Vec sum[R][V];
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = hn::LoadU(d, sums + i * pitch + v * lanes);
  }
  for (; count > 0; --count, ++steps) {
    const float* rows[R];
    MT_UNROLL for (int i = 0; i < R; ++i) rows[i] = a + row_offsets[i] + steps->a;
    const float* window = steps->windows + first;
    for (int64_t at = 0; at < steps->count; ++at, window += lines) {
      Vec x[V];
      MT_UNROLL for (int v = 0; v < V; ++v) x[v] = hn::LoadU(d, window + v * lanes);
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const Vec y = hn::Set(d, rows[i][at]);
        MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = fused(d, y, x[v], sum[i][v]);
      }
    }
  }
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) hn::StoreU(sum[i][v], d, sums + i * pitch + v * lanes);
  }
}

template <int R>
auto windows_kernel_of(bool one) {
  return one ? windows_kernel<R, 1> : windows_kernel<R, 2>;
}

// All rows of a, which are at most short_windows.rows, from k_begin to k_end, for columns that are
// the elements of b's windows.
inline void run_windows(const MatrixOperand& a, const float* a_data, const MatrixOperand& b,
                        const float* b_data, int64_t k_begin, int64_t k_end, float* c,
                        int64_t c_row) {
  constexpr int64_t lanes = lanes_of<float>, together = window_vectors * lanes;
  WindowStrips strips(b, b_data);
  const int64_t rows = a.rows.size, columns = b.rows.size, pitch = round_up(columns, together);
  // There may be more rows in a kernel than there are: the last one is repeated.
  constexpr int64_t most_rows = short_windows.rows;
  int64_t row_offsets[most_rows];
  for (int64_t i = 0; i < most_rows; ++i) row_offsets[i] = a.rows.offset(std::min(i, rows - 1));
  HWY_ALIGN float sums[most_rows * most_window_columns];
  std::fill_n(sums, most_rows * pitch, 0.0f);
  WindowSteps steps[most_strips];
  const int64_t line_length = b.k.sizes[b.k.rank - 1], most = strips.most_positions();
  int64_t count = 0;
  const auto run = [&] {
    for (int64_t first = 0; first < columns; first += together) {
      const bool one = columns - first <= lanes;
      auto kernel = windows_kernel_of<6>(one);
      if constexpr (most_rows > 6) {
        if (rows > 6) kernel = windows_kernel_of<most_rows>(one);
      }
      kernel(a_data, row_offsets, steps, count, strips.lines(), first, sums + first, pitch);
    }
    count = 0;
  };
  // Those of a are as a rule longer.
  a.k.for_runs(k_begin, k_end - k_begin, [&](int64_t position, int64_t from, int64_t length) {
    b.k.for_runs(k_begin + position, length, [&](int64_t at, int64_t offset, int64_t some) {
      // Strips of all of a line, even if it is begun or left within it: the next one follows more
      // easily. Whoever makes b makes whole lines.
      const int64_t behind = (k_begin + position + at) % line_length;
      for (int64_t done = 0, part; done < some; done += part) {
        const int64_t skipped = (behind + done) % most, begin = behind + done - skipped;
        part = std::min(some - done, most - skipped);
        const float* const strip =
            strips.make(offset + done - skipped, std::min(most, line_length - begin));
        steps[count++] = {strip + skipped * strips.lines(), from + at + done, part};
        if (count == strips.count()) run();
      }
    });
  });
  run();
  const int64_t lines = strips.lines(), width = columns / lines;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t line = 0; line < lines; ++line) {
      float* const to = c + i * c_row + line * width;
      for (int64_t x = 0; x < width; ++x) to[x] = sums[i * pitch + x * lines + line];
    }
  }
}
#else
constexpr ShortWindows short_windows;
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
