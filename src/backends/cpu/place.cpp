// SPDX-License-Identifier: Apache-2.0
// Fast placing: each row of the result is filled, then receives a row of x where one falls.
#include <algorithm>
#include <cstring>

#include "backends/cpu/call.h"
#include "backends/cpu/parallel.h"

namespace mt::cpu {
namespace {

constexpr int64_t grain = 16384;  // elements

template <class T>
void place_rows(const NaiveCall& call, T fill) {
  const Layout &from = call.inputs[0].layout, &to = call.output.layout;
  const T* x = static_cast<const T*>(call.inputs[0].data) + from.offset;
  T* y = static_cast<T*>(call.output.data) + to.offset;
  int last = to.shape.rank() - 1;
  int64_t columns = to.shape[last];
  int64_t rows = columns ? element_count(to.shape) / columns : 0;
  int64_t start = call.attributes[static_cast<size_t>(2 * last)];
  int64_t step = call.attributes[static_cast<size_t>(2 * last + 1)];
  int64_t count = from.shape[last], stride = from.strides[last];
  parallel_for(rows, std::max<int64_t>(1, grain / std::max<int64_t>(columns, 1)),
               [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* out = y + row * columns;
      int64_t position = 0, rest = row;
      bool receives = count > 0;
      for (int d = last - 1; d >= 0; --d) {
        int64_t distance = rest % to.shape[d] - call.attributes[static_cast<size_t>(2 * d)];
        int64_t by = call.attributes[static_cast<size_t>(2 * d + 1)];
        rest /= to.shape[d];
        receives &= distance >= 0 && distance % by == 0 && distance / by < from.shape[d];
        position += distance / by * from.strides[d];
      }
      if (!receives) {
        std::fill(out, out + columns, fill);
        continue;
      }
      const T* in = x + position;
      if (step == 1) {
        std::fill(out, out + start, fill);
        if (stride == 1) {
          std::memcpy(out + start, in, sizeof(T) * static_cast<size_t>(count));
        } else {
          for (int64_t i = 0; i < count; ++i) out[start + i] = in[i * stride];
        }
        std::fill(out + start + count, out + columns, fill);
      } else {
        std::fill(out, out + columns, fill);
        for (int64_t i = 0; i < count; ++i) out[start + i * step] = in[i * stride];
      }
    }
  });
}

}  // namespace

void place(const NaiveCall& call) {
  if (call.output.layout.shape.empty()) return naive_value(call);
  // The number as the dtype has it.
  alignas(8) unsigned char bits[8] = {};
  NaiveArray number{bits, call.output.dtype, contiguous_layout({})};
  number.set_number(0, __builtin_bit_cast(double, call.immediates.value[0]));
  auto run = [&](auto zero) {
    decltype(zero) fill;
    std::memcpy(&fill, bits, sizeof fill);
    place_rows(call, fill);
  };
  switch (size_of(call.output.dtype)) {
    case 1: return run(uint8_t{});
    case 2: return run(uint16_t{});
    case 4: return run(uint32_t{});
    default: return run(uint64_t{});
  }
}

}  // namespace mt::cpu
