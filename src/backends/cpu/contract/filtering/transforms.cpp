// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/filtering/transforms.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/contract/filtering/transforms.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

using Floats = Vectors<float>;
using Vector = hn::Vec<Floats>;
constexpr int64_t lanes = lanes_of<float>;

// Two vectors' even and odd elements, and back.
HWY_INLINE void part_pairs(Vector low, Vector high, Vector* even, Vector* odd) {
#if HWY_TARGET == HWY_SCALAR
  *even = low;
  *odd = high;
#else
  *even = hn::ConcatEven(Floats(), high, low);
  *odd = hn::ConcatOdd(Floats(), high, low);
#endif
}
HWY_INLINE void join_pairs(Vector even, Vector odd, Vector* low, Vector* high) {
  const Floats d;
#if HWY_TARGET == HWY_AVX3
  const __m512i first = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
  *low = Vector{_mm512_permutex2var_ps(even.raw, first, odd.raw)};
  *high = Vector{_mm512_permutex2var_ps(even.raw, second, odd.raw)};
#elif HWY_TARGET == HWY_SCALAR
  *low = even;
  *high = odd;
#else
  const Vector lower = hn::InterleaveLower(d, even, odd), upper = hn::InterleaveUpper(d, even, odd);
  if constexpr (lanes > 4) {
    *low = hn::ConcatLowerLower(d, upper, lower);
    *high = hn::ConcatUpperUpper(d, upper, lower);
  } else {
    *low = lower;
    *high = upper;
  }
#endif
  (void)d;
}

// A vector at `from`, of which only the first `left` elements are read; the rest is zero.
HWY_INLINE Vector load_left(const float* from, int64_t left) {
  const Floats d;
  if (left >= lanes) return hn::LoadU(d, from);
  if (left <= 0) return hn::Zero(d);
  return load_part(d, hn::FirstN(d, static_cast<size_t>(left)), from);
}

void transform_tiles_here(const TileLine& line) {
  const Floats d;
  for (int64_t at = 0; at < line.tiles; at += lanes) {
    const int64_t left = line.columns - 2 * at;
    const bool whole = left >= 2 * lanes + 2;
    Vector x[4][4];
    MT_UNROLL for (int i = 0; i < 4; ++i) {
      const float* from = line.lines[i] + 2 * at;
      MT_UNROLL for (int j = 0; j < 4; j += 2) {
        Vector low, high;
        if (whole) {
          low = hn::LoadU(d, from + j);
          high = hn::LoadU(d, from + j + lanes);
        } else {
          low = load_left(from + j, left - j);
          high = load_left(from + j + lanes, left - j - lanes);
        }
        part_pairs(low, high, &x[i][j], &x[i][j + 1]);
      }
    }
    MT_UNROLL for (int j = 0; j < 4; ++j) {
      const Vector a = x[0][j], b = x[1][j], c = x[2][j], e = x[3][j];
      x[0][j] = hn::Sub(a, c);
      x[1][j] = hn::Add(b, c);
      x[2][j] = hn::Sub(c, b);
      x[3][j] = hn::Sub(b, e);
    }
    float* to = line.to + at;
    MT_UNROLL for (int i = 0; i < 4; ++i, to += 4 * line.plane) {
      forget(to);
      hn::StoreU(hn::Sub(x[i][0], x[i][2]), d, to);
      hn::StoreU(hn::Add(x[i][1], x[i][2]), d, to + line.plane);
      hn::StoreU(hn::Sub(x[i][2], x[i][1]), d, to + 2 * line.plane);
      hn::StoreU(hn::Sub(x[i][1], x[i][3]), d, to + 3 * line.plane);
    }
  }
}

// Stores the first `left` results of two vectors to `to`. Returns `rests` with zeros added, or NaNs
// for results that are not finite.
HWY_INLINE Vector store_results(Vector even, Vector odd, int64_t left, float* to, Vector rests) {
  const Floats d;
  Vector low, high;
  join_pairs(even, odd, &low, &high);
  if (left >= 2 * lanes) {
    hn::StoreU(low, d, to);
    hn::StoreU(high, d, to + lanes);
  } else {
    const auto first = hn::FirstN(d, static_cast<size_t>(std::min(left, lanes)));
    const auto second = hn::FirstN(d, static_cast<size_t>(std::max<int64_t>(left - lanes, 0)));
    store_part(low, d, first, to);
    store_part(high, d, second, to + lanes);
    low = hn::IfThenElseZero(first, low);
    high = hn::IfThenElseZero(second, high);
  }
  rests = hn::Add(rests, hn::Sub(low, low));
  return hn::Add(rests, hn::Sub(high, high));
}

bool transform_results_here(const ResultLine& line) {
  const Floats d;
  Vector rests = hn::Zero(d);
  for (int64_t at = 0; 2 * at < line.columns; at += lanes) {
    Vector y[2][4];
    MT_UNROLL for (int j = 0; j < 4; ++j) {
      const float* from = line.from + at + j * line.plane;
      const Vector a = hn::LoadU(d, from), b = hn::LoadU(d, from + 4 * line.plane),
                   c = hn::LoadU(d, from + 8 * line.plane),
                   e = hn::LoadU(d, from + 12 * line.plane);
      y[0][j] = hn::Add(hn::Add(a, b), c);
      y[1][j] = hn::Sub(hn::Sub(b, c), e);
    }
    const int64_t left = line.columns - 2 * at;
    MT_UNROLL for (int i = 0; i < 2; ++i) {
      float* const to = i == 0 ? line.first : line.second;
      if (to == nullptr) break;
      const Vector even = hn::Add(hn::Add(y[i][0], y[i][1]), y[i][2]);
      const Vector odd = hn::Sub(hn::Sub(y[i][1], y[i][2]), y[i][3]);
      rests = store_results(even, odd, left, to + 2 * at, rests);
    }
  }
  return hn::GetLane(hn::SumOfLanes(d, rests)) == 0;
}

void transform_windows_here(const float* elements, int64_t windows, float* to, int64_t plane) {
  const Floats d;
  const Vector half = hn::Set(d, 0.5f);
  for (int64_t at = 0; at < windows; at += lanes) {
    Vector x[4][3];
    MT_UNROLL for (int j = 0; j < 3; ++j) {
      const float* from = elements + at + j * windows;
      const Vector a = hn::LoadU(d, from), b = hn::LoadU(d, from + 3 * windows),
                   c = hn::LoadU(d, from + 6 * windows);
      const Vector sum = hn::Add(a, c);
      x[0][j] = a;
      x[1][j] = hn::Mul(hn::Add(sum, b), half);
      x[2][j] = hn::Mul(hn::Sub(sum, b), half);
      x[3][j] = c;
    }
    MT_UNROLL for (int i = 0; i < 4; ++i) {
      const Vector sum = hn::Add(x[i][0], x[i][2]);
      float* const row = to + at + 4 * i * plane;
      hn::StoreU(x[i][0], d, row);
      hn::StoreU(hn::Mul(hn::Add(sum, x[i][1]), half), d, row + plane);
      hn::StoreU(hn::Mul(hn::Sub(sum, x[i][1]), half), d, row + 2 * plane);
      hn::StoreU(x[i][2], d, row + 3 * plane);
    }
  }
}

// Transforms the next column of a line of tiles, downwards.
HWY_INLINE void transform_column(const TurnedLine& line, int64_t at, Vector (&x)[4]) {
  const Floats d;
  const Vector a = hn::LoadU(d, line.lines[0] + at), b = hn::LoadU(d, line.lines[1] + at),
               c = hn::LoadU(d, line.lines[2] + at), e = hn::LoadU(d, line.lines[3] + at);
  x[0] = hn::Sub(a, c);
  x[1] = hn::Add(b, c);
  x[2] = hn::Sub(c, b);
  x[3] = hn::Sub(b, e);
}

void transform_turned_tiles_here(const TurnedLine& line) {
  const Floats d;
  const int64_t width = line.width;
  for (int64_t at = 0; at < width; at += lanes) {
    Vector x[4][4];
    transform_column(line, at, x[0]);
    transform_column(line, at + width, x[1]);
    float* to = line.to + at;
    for (int64_t tile = 0; tile < line.tiles; ++tile, to += width) {
      const int64_t next = at + (2 * tile + 2) * width;
      transform_column(line, next, x[2]);
      transform_column(line, next + width, x[3]);
      float* row = to;
      MT_UNROLL for (int i = 0; i < 4; ++i, row += 4 * line.plane) {
        forget(row);
        hn::StoreU(hn::Sub(x[0][i], x[2][i]), d, row);
        hn::StoreU(hn::Add(x[1][i], x[2][i]), d, row + line.plane);
        hn::StoreU(hn::Sub(x[2][i], x[1][i]), d, row + 2 * line.plane);
        hn::StoreU(hn::Sub(x[1][i], x[3][i]), d, row + 3 * line.plane);
        x[0][i] = x[2][i];
        x[1][i] = x[3][i];
      }
    }
  }
}

void transform_result_tiles_here(const ResultTiles& line) {
  const Floats d;
  for (int64_t at = 0; at < line.tiles; at += lanes) {
    const int64_t left = line.columns - 2 * at;
    Vector y[4][2];
    MT_UNROLL for (int i = 0; i < 2; ++i) {
      const float* from = i == 0 ? line.first : line.second;
      Vector low = hn::Zero(d), high = low;
      if (from != nullptr && left >= 2 * lanes) {
        low = hn::LoadU(d, from + 2 * at);
        high = hn::LoadU(d, from + 2 * at + lanes);
      } else if (from != nullptr) {
        low = load_left(from + 2 * at, left);
        high = load_left(from + 2 * at + lanes, left - lanes);
      }
      part_pairs(low, high, &y[3 * i][0], &y[3 * i][1]);
    }
    MT_UNROLL for (int j = 0; j < 2; ++j) {
      y[1][j] = hn::Add(y[0][j], y[3][j]);
      y[2][j] = hn::Sub(y[0][j], y[3][j]);
    }
    float* to = line.to + at;
    MT_UNROLL for (int i = 0; i < 4; ++i, to += 4 * line.plane) {
      forget(to);
      hn::StoreU(y[i][0], d, to);
      hn::StoreU(hn::Add(y[i][0], y[i][1]), d, to + line.plane);
      hn::StoreU(hn::Sub(y[i][0], y[i][1]), d, to + 2 * line.plane);
      hn::StoreU(y[i][1], d, to + 3 * line.plane);
    }
  }
}

void transform_sums_here(const float* from, int64_t plane, int64_t width, float* to, int64_t step) {
  const Floats d;
  const Vector half = hn::Set(d, 0.5f);
  const auto combine = [half](const Vector(&x)[4], Vector(&y)[3]) {
    const Vector mean = hn::Mul(hn::Add(x[1], x[2]), half);
    y[0] = hn::Add(x[0], mean);
    y[1] = hn::Mul(hn::Sub(x[1], x[2]), half);
    y[2] = hn::Sub(mean, x[3]);
  };
  for (int64_t at = 0; at < width; at += lanes) {
    Vector columns[4][3], rows[3][4];
    MT_UNROLL for (int j = 0; j < 4; ++j) {
      Vector x[4];
      MT_UNROLL for (int i = 0; i < 4; ++i) x[i] = hn::LoadU(d, from + at + (4 * i + j) * plane);
      combine(x, columns[j]);
      MT_UNROLL for (int i = 0; i < 3; ++i) rows[i][j] = columns[j][i];
    }
    MT_UNROLL for (int i = 0; i < 3; ++i) {
      Vector y[3];
      combine(rows[i], y);
      MT_UNROLL for (int j = 0; j < 3; ++j) hn::StoreU(y[j], d, to + at + (3 * i + j) * step);
    }
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {

HWY_EXPORT(transform_tiles_here);
HWY_EXPORT(transform_results_here);
HWY_EXPORT(transform_windows_here);
HWY_EXPORT(transform_turned_tiles_here);
HWY_EXPORT(transform_result_tiles_here);
HWY_EXPORT(transform_sums_here);

void transform_tiles(const TileLine& line) { HWY_DYNAMIC_DISPATCH(transform_tiles_here)(line); }
bool transform_results(const ResultLine& line) {
  return HWY_DYNAMIC_DISPATCH(transform_results_here)(line);
}
void transform_windows(const float* elements, int64_t windows, float* to, int64_t plane) {
  HWY_DYNAMIC_DISPATCH(transform_windows_here)(elements, windows, to, plane);
}
void transform_turned_tiles(const TurnedLine& line) {
  HWY_DYNAMIC_DISPATCH(transform_turned_tiles_here)(line);
}
void transform_result_tiles(const ResultTiles& line) {
  HWY_DYNAMIC_DISPATCH(transform_result_tiles_here)(line);
}
void transform_sums(const float* from, int64_t plane, int64_t width, float* to, int64_t step) {
  HWY_DYNAMIC_DISPATCH(transform_sums_here)(from, plane, width, to, step);
}

}  // namespace mt::cpu
#endif
