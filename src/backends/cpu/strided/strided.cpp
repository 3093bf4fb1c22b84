// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided/strided.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/strided/turn.h"
#include "tensor/walker.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/strided/strided.cpp"
#include "backends/cpu/elementwise/targets.h"

#include "hwy/foreach_target.h"

#include "backends/cpu/strided/copy_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

template <class T>
void gather_of(T* out, const T* base, const Layout& layout, int64_t first, int64_t count) {
  for_lines(layout, first, count, [&](int64_t position, const Lines& lines) HWY_ATTR {
    copy_lines(base + position, lines, out);
    out += lines.planes * lines.times * lines.count * lines.length;
  });
}
void gather(void* out, const void* base, size_t element_size, const Layout& layout, int64_t first,
            int64_t count) {
  switch (element_size) {
    case 1:
      return gather_of(static_cast<uint8_t*>(out), static_cast<const uint8_t*>(base), layout, first,
                       count);
    case 2:
      return gather_of(static_cast<uint16_t*>(out), static_cast<const uint16_t*>(base), layout,
                       first, count);
    case 4:
      return gather_of(static_cast<uint32_t*>(out), static_cast<const uint32_t*>(base), layout,
                       first, count);
    default:
      return gather_of(static_cast<uint64_t*>(out), static_cast<const uint64_t*>(base), layout,
                       first, count);
  }
}

void gather_both(uint32_t* even, uint32_t* odd, const uint32_t* base, const Layout& layout,
                 int64_t first, int64_t count) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2
  for_lines(layout, first, count, [&](int64_t position, const Lines& lines) HWY_ATTR {
    const int64_t plane = lines.count * lines.length;
    for (int64_t p = 0; p < lines.planes; ++p, position += lines.plane_stride) {
      for (int64_t t = 0; t < lines.times; ++t, even += plane, odd += plane) {
        copy_pairs(base + position, lines, even, odd);
      }
    }
  });
#else
  gather_of(even, base, layout, first, count);
  gather_of(odd, base + 1, layout, first, count);
#endif
}

// out[i] = begin + i step
template <class T>
HWY_INLINE void count_line(T begin, T step, int64_t length, T* out) {
  constexpr Tag<T> d;
  constexpr int64_t lanes = lane_count<T>;
  int64_t i = 0;
  if (length >= lanes) {
    alignas(HWY_MAX_BYTES) T first[lanes];
    for (int64_t l = 0; l < lanes; ++l) first[l] = static_cast<T>(begin + l * step);
    const auto stride = hn::Set(d, static_cast<T>(lanes * step));
    for (auto v = hn::Load(d, first); i + lanes <= length; i += lanes, v = hn::Add(v, stride)) {
      hn::StoreU(v, d, out + i);
    }
  }
  for (; i < length; ++i) out[i] = static_cast<T>(begin + i * step);
}
template <class T>
void positions_of(T* out, const Layout& layout, int64_t first, int64_t count) {
  for_lines(layout, first, count, [&](int64_t position, const Lines& lines) HWY_ATTR {
    for (int64_t p = 0; p < lines.planes; ++p) {
      for (int64_t t = 0; t < lines.times; ++t) {
        for (int64_t l = 0; l < lines.count; ++l, out += lines.length) {
          const int64_t begin =
              layout.offset + position + p * lines.plane_stride + l * lines.stride;
          count_line(static_cast<T>(begin), static_cast<T>(lines.step), lines.length, out);
        }
      }
    }
  });
}
void positions(void* out, size_t element_size, const Layout& layout, int64_t first, int64_t count) {
  // Unsigned, as they may wrap around.
  if (element_size == 4) {
    positions_of(static_cast<uint32_t*>(out), layout, first, count);
  } else {
    positions_of(static_cast<uint64_t*>(out), layout, first, count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(gather);
HWY_EXPORT(gather_both);
HWY_EXPORT(positions);
HWY_EXPORT(rows_of_bytes);

void gather_strided(void* out, const void* base, size_t element_size, const Layout& layout,
                    int64_t first, int64_t count) {
  if (count == 1) {
    const int64_t at = locate(layout, first) * static_cast<int64_t>(element_size);
    std::memcpy(out, static_cast<const char*>(base) + at, element_size);
    return;
  }
  HWY_DYNAMIC_DISPATCH(gather)(out, base, element_size, layout, first, count);
}

void copy_rows(void* to, int64_t to_step, const void* from, int64_t from_step, int64_t rows,
               size_t bytes) {
  HWY_DYNAMIC_DISPATCH(rows_of_bytes)
  (static_cast<char*>(to), to_step, static_cast<const char*>(from), from_step, rows, bytes);
}

void gather_pairs(void* even, void* odd, const void* base, const Layout& layout, int64_t first,
                  int64_t count) {
  HWY_DYNAMIC_DISPATCH(gather_both)
  (static_cast<uint32_t*>(even), static_cast<uint32_t*>(odd), static_cast<const uint32_t*>(base),
   layout, first, count);
}

void strided_positions(void* out, size_t element_size, const Layout& layout, int64_t first,
                       int64_t count) {
  HWY_DYNAMIC_DISPATCH(positions)(out, element_size, layout, first, count);
}

}  // namespace mt::cpu
#endif
