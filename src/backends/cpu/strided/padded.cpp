// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/strided/padded.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/strided/strided.h"
#include "tensor/walker.h"

namespace mt::cpu {
namespace {

// Calls f with an unsigned integer of that size.
template <class F>
void with_size(size_t bytes, F&& f) {
  switch (bytes) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    default: return f(uint64_t());
  }
}

void fill_line(char* out, int64_t count, const void* fill, size_t bytes) {
  if (count == 0) return;
  with_size(bytes, [&](auto value) {
    std::memcpy(&value, fill, sizeof value);
    std::fill_n(reinterpret_cast<decltype(value)*>(out), count, value);
  });
}

void copy_line(char* out, const char* x, int64_t step, int64_t count, size_t bytes) {
  if (count == 0) return;
  if (step == 1) return copy_bytes(out, x, static_cast<size_t>(count) * bytes);
  with_size(bytes, [&](auto value) {
    using T = decltype(value);
    const T* from = reinterpret_cast<const T*>(x);
    for (T *to = reinterpret_cast<T*>(out), *end = to + count; to != end; from += step)
      *to++ = *from;
  });
}

}  // namespace

void gather_padded(void* out, const void* base, size_t element_size, const Layout& layout,
                   const Margins& margins, const void* fill, int64_t first, int64_t count) {
  const auto size = static_cast<int64_t>(element_size);
  const int last = layout.shape.rank() - 1;
  const int64_t length = layout.shape[last], step = layout.strides[last];
  char* to = static_cast<char*>(out);
  int64_t index[max_rank];
  locate(layout, first, index);
  while (count > 0) {
    bool inside = true;
    int64_t position = 0;
    for (int d = 0; d < last; ++d) {
      inside &= margins.begin[d] <= index[d] && index[d] < margins.end[d];
      position += (index[d] - margins.begin[d]) * layout.strides[d];
    }
    const int64_t from = index[last], until = std::min(length, from + count);
    const int64_t begin = inside ? std::clamp(margins.begin[last], from, until) : until;
    const int64_t end = inside ? std::clamp(margins.end[last], begin, until) : until;
    position += (begin - margins.begin[last]) * step;
    fill_line(to, begin - from, fill, element_size);
    copy_line(to + (begin - from) * size, static_cast<const char*>(base) + position * size, step,
              end - begin, element_size);
    fill_line(to + (end - from) * size, until - end, fill, element_size);
    to += (until - from) * size;
    count -= until - from;
    index[last] = length - 1;
    step_on(layout, 0, last, index);
  }
}

}  // namespace mt::cpu
