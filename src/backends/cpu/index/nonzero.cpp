// SPDX-License-Identifier: Apache-2.0
// The positions of the elements that are not 0: counted panel by panel, then written.
#include <algorithm>

#include "backends/cpu/index/kernels.h"
#include "backends/cpu/parallel/parallel.h"
#include "ops/nonzero.h"

namespace mt::cpu {

void nonzero_kernel(const NaiveCall& call) {
  constexpr int64_t most_panels = 256;
  const NaiveArray &x = call.inputs[0], &y = call.output;
  if (y.size() == 0) return;
  if (!is_contiguous(x.layout) || x.dtype != Dtype::boolean) return naive_value(call);
  const uint8_t* mask = reinterpret_cast<const uint8_t*>(first_element(x));
  int64_t* to = reinterpret_cast<int64_t*>(first_element(y));
  int64_t size = x.size(), total = y.layout.shape[0];
  int64_t panels = std::clamp<int64_t>(size / elements_grain, 1, most_panels);
  int64_t start[most_panels + 1] = {};
  auto first = [&](int64_t p) { return p == panels ? size : size / panels * p; };
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      start[p + 1] = count_nonzero_bytes(mask + first(p), first(p + 1) - first(p));
    }
  });
  for (int64_t p = 0; p < panels; ++p) start[p + 1] += start[p];
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      int64_t at = start[p], stop = first(p + 1);
      if (y.layout.shape.rank() == 1) {
        // Written whether or not it is kept: a branch on that would be unpredictable.
        for (int64_t i = first(p), last = start[p + 1]; i < stop && at < last; ++i) {
          to[at] = i;
          at += mask[i] != 0;
        }
        continue;
      }
      // Row by row of the last dimension, so that there is no division for each element.
      int last = x.layout.shape.rank() - 1;
      int64_t width = x.layout.shape[last], row = first(p) / width;
      Layout rows = dimensions(x.layout, 0, last);
      Walker walker(rows, row);
      for (; row * width < stop; ++row, walker.next()) {
        int64_t end_of_row = std::min(stop, (row + 1) * width);
        for (int64_t i = std::max(first(p), row * width); i < end_of_row && at < total; ++i) {
          if (!mask[i]) continue;
          int64_t* position = to + at++ * (last + 1);
          for (int d = 0; d < last; ++d) position[d] = walker.index(d);
          position[last] = i - row * width;
        }
      }
    }
  });
}

}  // namespace mt::cpu
