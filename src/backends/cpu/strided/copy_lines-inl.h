// SPDX-License-Identifier: Apache-2.0
// Copies lines of elements. Reversed lines, lines of two to four elements that are interleaved
// (channels put last) or all one, every second element, and elements that each come twice, as
// pooling and its gradient read them, are rearranged in registers. Longer lines that lie side by
// side are transposed. Included once for each instruction set.
#if defined(MT_STRIDED_COPY_LINES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_STRIDED_COPY_LINES_INL_H
#undef MT_STRIDED_COPY_LINES_INL_H
#else
#define MT_STRIDED_COPY_LINES_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/first_lanes.h"
#include "backends/cpu/strided/lines.h"
#include "backends/cpu/strided/strided.h"
#include "backends/cpu/strided/turn.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Highway cannot reverse bytes, only pairs of them.
template <class D>
HWY_INLINE hn::Vec<D> reversed(D d, hn::Vec<D> x) {
  if constexpr (sizeof(hn::TFromD<D>) > 1 || HWY_TARGET == HWY_SCALAR) {
    return hn::Reverse(d, x);
  } else {
    constexpr hn::Repartition<uint16_t, D> pairs;
    const auto swapped = hn::Reverse(pairs, hn::BitCast(pairs, x));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(swapped), hn::ShiftRight<8>(swapped)));
  }
}

// Copies `piece` bytes; by whole vectors, for which compilers take shorter ones.
template <size_t piece>
HWY_INLINE void copy_piece(char* to, const char* from) {
  constexpr Tag<uint8_t> d;
  constexpr size_t lanes = lane_count<uint8_t>;
  if constexpr (piece % lanes != 0 || is_baseline) {
    std::memcpy(to, from, piece);
  } else {
    HWY_UNROLL(4)
    for (size_t at = 0; at < piece; at += lanes) {
      const auto x = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + at));
      hn::StoreU(x, d, reinterpret_cast<uint8_t*>(to + at));
    }
  }
}
// Copies rows of at least `piece` bytes in pieces of that size, of which the last two overlap.
template <size_t piece>
HWY_INLINE void copy_pieces(char* to, int64_t to_step, const char* from, int64_t from_step,
                            int64_t rows, size_t bytes) {
  const size_t last = bytes - piece;
  for (; rows > 0; --rows, to += to_step, from += from_step) {
    for (size_t at = 0; at < last; at += piece) copy_piece<piece>(to + at, from + at);
    copy_piece<piece>(to + last, from + last);
  }
}
// Does not call the C library: a call takes longer than a short row, and glibc copies 2 KB and more
// by "rep movsb", which takes 13 times as long on Zen 4 if source and target begin at nearly the
// same place in their pages.
HWY_NOINLINE void rows_of_bytes(char* to, int64_t to_step, const char* from, int64_t from_step,
                                int64_t rows, size_t bytes) {
  constexpr size_t most = HWY_TARGET == HWY_AVX3 ? 64 : 32;
  if (bytes >= 4 * most) {  // else the loop would have most of the instructions
    copy_pieces<4 * most>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes >= most) {
    copy_pieces<most>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes >= 16) {
    copy_pieces<16>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes >= 8) {
    copy_pieces<8>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes >= 4) {
    copy_pieces<4>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes >= 2) {
    copy_pieces<2>(to, to_step, from, from_step, rows, bytes);
  } else if (bytes == 1) {
    copy_pieces<1>(to, to_step, from, from_step, rows, bytes);
  }
}

// Not inlined: the compiler would have to assume that written bytes may be part of a size.
template <class T>
HWY_NOINLINE void copy_line(const T* from, int64_t length, int64_t step, T* out) {
  if (step == -1) {
    constexpr Tag<T> d;
    constexpr int64_t lanes = lane_count<T>;
    int64_t i = 0;
    for (; i + lanes <= length; i += lanes) {
      hn::StoreU(reversed(d, hn::LoadU(d, from - i - lanes + 1)), d, out + i);
    }
    if (i > 0 && i < length) {  // the last vector overlaps the one before
      i = length;
      hn::StoreU(reversed(d, hn::LoadU(d, from - length + 1)), d, out + length - lanes);
    }
    for (; i < length; ++i) out[i] = from[-i];
  } else {
    int64_t i = 0;
    for (; i + 4 <= length; i += 4, from += 4 * step) {
      const T a = from[0], b = from[step], c = from[2 * step], d = from[3 * step];
      out[i] = a, out[i + 1] = b, out[i + 2] = c, out[i + 3] = d;
    }
    for (; i < length; ++i, from += step) out[i] = *from;
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
constexpr Tag<uint32_t> singles;

// out[i] = from[2 i], line by line.
HWY_INLINE void copy_every_second(const uint32_t* from, const Lines& lines, uint32_t* out) {
  constexpr int64_t lanes = lane_count<uint32_t>;
  // The remainder is loaded with masks, as there may be no memory after it.
  const int64_t whole = (lines.length - 1) / lanes * lanes, rest = lines.length - whole;
  const int64_t last = 2 * rest - 1;  // elements from the first to the last
  const auto first_mask = hn::FirstN(singles, std::min(last, lanes));
  const auto second_mask = hn::FirstN(singles, std::max<int64_t>(last - lanes, 0));
  const auto mask = hn::FirstN(singles, rest);
  for (int64_t l = 0; l < lines.count; ++l, from += lines.stride, out += lines.length) {
    for (int64_t i = 0; i < whole; i += lanes) {
      const auto x = hn::LoadU(singles, from + 2 * i);
      const auto y = hn::LoadU(singles, from + 2 * i + lanes);
      hn::StoreU(hn::ConcatEven(singles, y, x), singles, out + i);
    }
    const auto x = hn::MaskedLoad(first_mask, singles, from + 2 * whole);
    const auto y = hn::MaskedLoad(second_mask, singles, from + 2 * whole + lanes);
    hn::BlendedStore(hn::ConcatEven(singles, y, x), mask, singles, out + whole);
  }
}

// even[i] = from[2 i] and odd[i] = from[2 i + 1], line by line.
HWY_INLINE void copy_pairs(const uint32_t* from, const Lines& lines, uint32_t* even,
                           uint32_t* odd) {
  constexpr int64_t lanes = lane_count<uint32_t>;
  const int64_t whole = (lines.length - 1) / lanes * lanes, rest = lines.length - whole;
  const auto low_mask = hn::FirstN(singles, std::min(2 * rest, lanes));
  const auto high_mask = hn::FirstN(singles, std::max<int64_t>(2 * rest - lanes, 0));
  const auto mask = hn::FirstN(singles, rest);
  for (int64_t l = 0; l < lines.count; ++l, from += lines.stride) {
    for (int64_t i = 0; i < whole; i += lanes) {
      const auto x = hn::LoadU(singles, from + 2 * i);
      const auto y = hn::LoadU(singles, from + 2 * i + lanes);
      hn::StoreU(hn::ConcatEven(singles, y, x), singles, even + i);
      hn::StoreU(hn::ConcatOdd(singles, y, x), singles, odd + i);
    }
    const auto x = hn::MaskedLoad(low_mask, singles, from + 2 * whole);
    const auto y = hn::MaskedLoad(high_mask, singles, from + 2 * whole + lanes);
    hn::BlendedStore(hn::ConcatEven(singles, y, x), mask, singles, even + whole);
    hn::BlendedStore(hn::ConcatOdd(singles, y, x), mask, singles, odd + whole);
    even += lines.length;
    odd += lines.length;
  }
}

// out[2 i] = out[2 i + 1] = from[i], plane by plane.
HWY_INLINE void copy_twice(const uint32_t* from, const Lines& lines, uint32_t* out) {
  constexpr int64_t lanes = lane_count<uint32_t>;
  alignas(64) static constexpr int32_t order[] = {0,  0,  1,  1,  2,  2,  3,  3,  4,  4,  5,
                                                  5,  6,  6,  7,  7,  8,  8,  9,  9,  10, 10,
                                                  11, 11, 12, 12, 13, 13, 14, 14, 15, 15};
  const auto low = hn::SetTableIndices(singles, order);
  const auto high = hn::SetTableIndices(singles, order + lanes);
  const int64_t whole = (lines.count - 1) / lanes * lanes, rest = lines.count - whole;
  const auto mask = hn::FirstN(singles, rest);
  const auto low_mask = hn::FirstN(singles, std::min(2 * rest, lanes));
  const auto high_mask = hn::FirstN(singles, std::max<int64_t>(2 * rest - lanes, 0));
  for (int64_t p = 0; p < lines.planes; ++p, from += lines.plane_stride) {
    for (int64_t t = 0; t < lines.times; ++t, out += 2 * lines.count) {
      for (int64_t i = 0; i < whole; i += lanes) {
        const auto x = hn::LoadU(singles, from + i);
        hn::StoreU(hn::TableLookupLanes(x, low), singles, out + 2 * i);
        hn::StoreU(hn::TableLookupLanes(x, high), singles, out + 2 * i + lanes);
      }
      const auto x = hn::MaskedLoad(mask, singles, from + whole);
      hn::BlendedStore(hn::TableLookupLanes(x, low), low_mask, singles, out + 2 * whole);
      hn::BlendedStore(hn::TableLookupLanes(x, high), high_mask, singles, out + 2 * whole + lanes);
    }
  }
}
#endif

// out[length i + j] = from[i + step j] for two to four j, which all repeat from[i] if step is 0.
// Copies whole vectors, from i on; returns where they end.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE int64_t interleave_vectors(D d, const T* from, const Lines& lines, int64_t i, T* out) {
  constexpr int64_t lanes = hn::MaxLanes(D());
  const T *second = from + lines.step, *last = from + (lines.length - 1) * lines.step;
  for (; i + lanes <= lines.count; i += lanes) {
    const auto x = hn::LoadU(d, from + i), y = hn::LoadU(d, second + i);
    const auto z = hn::LoadU(d, last + i);
    T* to = out + i * lines.length;
    if (lines.length == 2) {
      hn::StoreInterleaved2(x, y, d, to);
    } else if (lines.length == 3) {
      hn::StoreInterleaved3(x, y, z, d, to);
    } else {
      hn::StoreInterleaved4(x, y, hn::LoadU(d, second + lines.step + i), z, d, to);
    }
  }
  return i;
}
template <class T>
constexpr bool takes_last_pairs = sizeof(T) == 4 &&
                                  (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
// The last pairs, fewer than a vector of each element.
HWY_NOINLINE void interleave_last(const uint32_t* from, int64_t step, int64_t count,
                                  uint32_t* out) {
  constexpr int64_t lanes = lane_count<uint32_t>;
  const auto mask = hn::FirstN(singles, count);
  const auto x = hn::MaskedLoad(mask, singles, from);
  const auto y = hn::MaskedLoad(mask, singles, from + step);
  decltype(hn::Zero(singles)) low, high;
#if HWY_TARGET == HWY_AVX3
  alignas(64) static constexpr int32_t order[] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                  21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                  11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  low.raw = _mm512_permutex2var_epi32(x.raw, _mm512_load_si512(order), y.raw);
  high.raw = _mm512_permutex2var_epi32(x.raw, _mm512_load_si512(order + lanes), y.raw);
#else
  const __m256i begins = _mm256_unpacklo_epi32(x.raw, y.raw);
  const __m256i ends = _mm256_unpackhi_epi32(x.raw, y.raw);
  low.raw = _mm256_permute2x128_si256(begins, ends, 0x20);
  high.raw = _mm256_permute2x128_si256(begins, ends, 0x31);
#endif
  if (const int64_t rest = 2 * count - lanes; rest >= 0) {
    hn::StoreU(low, singles, out);
    hn::BlendedStore(high, hn::FirstN(singles, rest), singles, out + lanes);
  } else {
    hn::BlendedStore(low, hn::FirstN(singles, 2 * count), singles, out);
  }
}
#endif
template <class T>
HWY_INLINE void interleave(const T* from, const Lines& lines, T* out) {
  int64_t i = interleave_vectors(Tag<T>(), from, lines, 0, out);
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (takes_last_pairs<T>) {
    if (lines.length == 2) {
      if (i < lines.count) interleave_last(from + i, lines.step, lines.count - i, out + 2 * i);
      return;
    }
  }
#endif
  // The remainder may be everything, as in a line of a small image.
  if constexpr (sizeof(T) == 4 && lane_count < T >> 4) {
    if (lane_count < T >> 8) i = interleave_vectors(hn::CappedTag<T, 8>(), from, lines, i, out);
    i = interleave_vectors(hn::CappedTag<T, 4>(), from, lines, i, out);
  }
  for (; i < lines.count; ++i) {
    for (int64_t j = 0; j < lines.length; ++j) {
      out[i * lines.length + j] = from[i + j * lines.step];
    }
  }
}

// out[length j + i] = from[count i + j], for two to four j.
template <class T>
HWY_INLINE void pick_apart(const T* from, const Lines& lines, T* out) {
  constexpr Tag<T> d;
  constexpr int64_t lanes = lane_count<T>;
  const int64_t length = lines.length;
  int64_t i = 0;
  for (; i + lanes <= length; i += lanes, from += lanes * lines.count) {
    hn::Vec<Tag<T>> x, y, z, w;
    if (lines.count == 2) {
      hn::LoadInterleaved2(d, from, x, y);
    } else if (lines.count == 3) {
      hn::LoadInterleaved3(d, from, x, y, z);
      hn::StoreU(z, d, out + 2 * length + i);
    } else {
      hn::LoadInterleaved4(d, from, x, y, z, w);
      hn::StoreU(z, d, out + 2 * length + i);
      hn::StoreU(w, d, out + 3 * length + i);
    }
    hn::StoreU(x, d, out + i);
    hn::StoreU(y, d, out + length + i);
  }
  for (; i < length; ++i) {
    for (int64_t j = 0; j < lines.count; ++j) out[length * j + i] = *from++;
  }
}

// out[length i + j] = from[stride i], in whole vectors as long as what they write beyond a line is
// overwritten later.
template <class T>
HWY_INLINE void fill_lines(const T* from, const Lines& lines, T* out) {
  constexpr Tag<T> d;
  constexpr int64_t lanes = lane_count<T>;
  T* const end = out + lines.count * lines.length;
  for (int64_t i = 0; i < lines.count; ++i, from += lines.stride) {
    const auto value = hn::Set(d, *from);
    T* const line_end = out + lines.length;
    for (; out < line_end && end - out >= lanes; out += lanes) hn::StoreU(value, d, out);
    if (lanes > 1 && out < line_end) store_first(d, value, out, static_cast<size_t>(end - out));
    out = line_end;
  }
}

// Planes so small that choosing how to copy one takes longer: copied one element after another.
constexpr int64_t few_elements = 16;
template <class T>
HWY_INLINE void copy_few(const T* from, const Lines& plane, int64_t planes, int64_t plane_stride,
                         T* out) {
  int64_t places[few_elements];
  int64_t count = 0;
  for (int64_t l = 0; l < plane.count; ++l) {
    for (int64_t i = 0; i < plane.length; ++i) places[count++] = l * plane.stride + i * plane.step;
  }
  for (int64_t p = 0; p < planes; ++p, from += plane_stride) {
    for (int64_t i = 0; i < count; ++i) *out++ = from[places[i]];
  }
}

template <class T>
HWY_INLINE void copy_plane(const T* from, const Lines& lines, T* out) {
  if (lines.stride == 1 && lines.length >= 2 && lines.length <= most_interleaved) {
    return interleave(from, lines, out);
  }
  if (lines.step == 0) return fill_lines(from, lines, out);
  if (lines.stride == 1 && lines.step == lines.count && lines.count >= 2 &&
      lines.count <= most_interleaved) {
    return pick_apart(from, lines, out);
  }
  if (lines.stride == 1 && lines.length >= 2) {
    const bool squares = lines.count >= turned_side<T>;
    if (squares || (lines.count > 1 && lies_far(lines.step, sizeof(T)))) {
      return copy_turned(out, lines.length, from, lines.step, lines.count, lines.length);
    }
  }
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(T) == 4) {
    if (lines.step == 2) return copy_every_second(from, lines, out);
  }
#endif
  if (lines.step == 1) {
    constexpr int64_t size = sizeof(T);
    return rows_of_bytes(reinterpret_cast<char*>(out), lines.length * size,
                         reinterpret_cast<const char*>(from), lines.stride * size, lines.count,
                         static_cast<size_t>(lines.length * size));
  }
  if (lines.length <= few_elements && lines.count > 1) {
    return copy_few(from, Lines{lines.length, lines.step}, lines.count, lines.stride, out);
  }
  for (int64_t i = 0; i < lines.count; ++i) {
    copy_line(from + i * lines.stride, lines.length, lines.step, out + i * lines.length);
  }
}
template <class T>
HWY_INLINE void copy_lines(const T* from, const Lines& lines, T* out) {
  const int64_t count = lines.count * lines.length;
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  if constexpr (sizeof(T) == 4) {
    if (lines.step == 0 && lines.length == 2 && lines.stride == 1) {
      return copy_twice(from, lines, out);
    }
  }
#endif
  // Pairs of a few lines are interleaved in a register.
  const bool pairs =
      takes_last_pairs<T> && lines.length == 2 && lines.stride == 1 && lines.count >= 4;
  if (count <= few_elements && lines.planes > 1 && lines.times == 1 && lines.step != 0 && !pairs) {
    return copy_few(from, lines, lines.planes, lines.plane_stride, out);
  }
  for (int64_t p = 0; p < lines.planes; ++p, from += lines.plane_stride) {
    copy_plane(from, lines, out);
    for (int64_t t = 1; t < lines.times; ++t) {
      copy_bytes(out + t * count, out, sizeof(T) * static_cast<size_t>(count));
    }
    out += lines.times * count;
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
