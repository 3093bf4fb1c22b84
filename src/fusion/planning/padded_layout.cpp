// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/padded_layout.h"

namespace mt {

PaddedLayout padded_layout(const Node& pad, const Layout& x) {
  PaddedLayout result{{{}, {}, x.offset}, {{}, {}, -1}};
  Layout& layout = result.layout;
  Margins& margins = result.margins;
  for (int d = 0; d < x.shape.rank(); ++d) {
    const int64_t size = pad.shape[d], begin = pad.attributes[2 * static_cast<size_t>(d)];
    const int64_t end = begin + x.shape[d];
    const bool whole = begin == 0 && end == size;
    if (whole && size == 1) continue;
    // A dimension without margins merges into the one before it if their strides allow.
    if (whole && !layout.shape.empty() && layout.strides.back() == size * x.strides[d]) {
      const int last = layout.shape.rank() - 1;
      layout.shape[last] *= size;
      layout.strides[last] = x.strides[d];
      margins.begin[last] *= size;
      margins.end[last] *= size;
      continue;
    }
    layout.shape.push_back(size);
    layout.strides.push_back(x.strides[d]);
    margins.begin.push_back(begin);
    margins.end.push_back(end);
  }
  return result;
}

}  // namespace mt
