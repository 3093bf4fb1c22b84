// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided.h"

#include <algorithm>
#include <cstring>

namespace mt::cpu {
namespace {

// Calls run(position, length) for each stretch of elements along the last dimension.
template <class F>
void for_runs(const Layout& layout, int64_t first, int64_t count, F&& run) {
  int rank = layout.shape.rank();
  if (count == 0) return;
  if (rank == 0) {
    for (int64_t i = 0; i < count; ++i) run(int64_t{0}, int64_t{1});
    return;
  }
  int64_t index[max_rank];
  int64_t position = 0;
  for (int d = rank - 1; d >= 0; --d) {
    index[d] = first % layout.shape[d];
    first /= layout.shape[d];
    position += index[d] * layout.strides[d];
  }
  int last = rank - 1;
  while (count > 0) {
    int64_t length = std::min(layout.shape[last] - index[last], count);
    run(position, length);
    count -= length;
    if (count == 0) return;
    position -= index[last] * layout.strides[last];
    index[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      position += layout.strides[d];
      if (++index[d] < layout.shape[d]) break;
      position -= layout.shape[d] * layout.strides[d];
      index[d] = 0;
    }
  }
}

template <class T>
void gather(T* out, const T* base, const Layout& layout, int64_t first, int64_t count) {
  int64_t stride = layout.shape.empty() ? 0 : layout.strides.back();
  for_runs(layout, first, count, [&](int64_t position, int64_t length) {
    const T* from = base + position;
    if (stride == 1) {
      if (length < 16) {
        for (int64_t i = 0; i < length; ++i) out[i] = from[i];
      } else {
        std::memcpy(out, from, sizeof(T) * static_cast<size_t>(length));
      }
    } else if (stride == 0) {
      std::fill(out, out + length, *from);
    } else {
      for (int64_t i = 0; i < length; ++i) out[i] = from[i * stride];
    }
    out += length;
  });
}

template <class T>
void positions(T* out, const Layout& layout, int64_t first, int64_t count) {
  int64_t stride = layout.shape.empty() ? 0 : layout.strides.back();
  for_runs(layout, first, count, [&](int64_t position, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      *out++ = static_cast<T>(layout.offset + position + i * stride);
    }
  });
}

}  // namespace

void gather_strided(void* out, const void* base, size_t element_size, const Layout& layout,
                    int64_t first, int64_t count) {
  switch (element_size) {
    case 1:
      return gather(static_cast<uint8_t*>(out), static_cast<const uint8_t*>(base), layout, first,
                    count);
    case 2:
      return gather(static_cast<uint16_t*>(out), static_cast<const uint16_t*>(base), layout, first,
                    count);
    case 4:
      return gather(static_cast<uint32_t*>(out), static_cast<const uint32_t*>(base), layout, first,
                    count);
    default:
      return gather(static_cast<uint64_t*>(out), static_cast<const uint64_t*>(base), layout, first,
                    count);
  }
}

void strided_positions(void* out, size_t element_size, const Layout& layout, int64_t first,
                       int64_t count) {
  if (element_size == 4) {
    positions(static_cast<int32_t*>(out), layout, first, count);
  } else {
    positions(static_cast<int64_t*>(out), layout, first, count);
  }
}

}  // namespace mt::cpu
