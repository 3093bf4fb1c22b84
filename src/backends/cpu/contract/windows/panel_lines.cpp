// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/windows/panel_lines.h"

#include <algorithm>

#include "ops/order.h"

namespace mt::cpu {

PanelLines::Range PanelLines::lines_of(int64_t begin, int64_t end) const {
  auto line_of = [&](int64_t term) {
    return term / positions * image_lines + term % positions / in_line * step;
  };
  return {line_of(begin), line_of(end - 1) + reach + 1};
}

PanelLines find_panel_lines(const Contraction& c, const Shape& padded) {
  const int rank = padded.rank();
  // Kernels for other precisions make no padding.
  if (rank < 4 || c.k.size() < 2 || size_of_group(c.batch) != 1 || c.precision != Precision::strict)
    return {};
  PanelLines lines;
  lines.channels = padded[1];
  lines.image_lines = padded[2];
  lines.inner = 1;
  for (int d = 3; d < rank; ++d) lines.inner *= padded[d];
  lines.channel_stride = lines.plane();
  lines.image_stride = lines.channels * lines.channel_stride;
  const int64_t terms = size_of_group(c.k), images = padded[0];
  const ContractionOrder order =
      contraction_order(size_of_group(c.m), size_of_group(c.n), terms, c.out);
  const ContractionDim &of_images = c.k[0], &of_lines = c.k[1];
  if (lines.channels < 2 || images < 2 || order.lanes > 1 || order.panel >= terms ||
      of_images.size != images || of_images.b_stride != lines.image_stride ||
      of_lines.b_stride < lines.inner || of_lines.b_stride % lines.inner != 0) {
    return {};
  }
  lines.positions = terms / images;
  lines.in_line = lines.positions / of_lines.size;
  lines.step = of_lines.b_stride / lines.inner;
  // All other steps stay in a channel's plane, or go from channel to channel.
  lines.reach = 0;
  int64_t within = 0;
  for (size_t i = 2; i < c.k.size(); ++i) {
    if (c.k[i].b_stride < 0) return {};
    within += (c.k[i].size - 1) * c.k[i].b_stride;
  }
  for (const ContractionDim& dim : c.n) {
    if (dim.b_stride == lines.channel_stride) continue;
    if (dim.b_stride < 0) return {};
    const bool down = dim.b_stride % lines.inner == 0;
    (down ? lines.reach : within) += (dim.size - 1) * dim.b_stride / (down ? lines.inner : 1);
  }
  if (within >= lines.inner ||
      (of_lines.size - 1) * lines.step + lines.reach >= lines.image_lines) {
    return {};
  }
  for (int64_t begin = 0; begin < terms; begin += order.panel) {
    const auto range = lines.lines_of(begin, std::min(begin + order.panel, terms));
    lines.most = std::max(lines.most, range.end - range.begin);
  }
  return lines;
}

Contraction of_lines(Contraction contraction, const PanelLines& lines) {
  for (ContractionDim& dim : contraction.n) {
    if (dim.b_stride == lines.channel_stride) dim.b_stride = lines.most * lines.inner;
  }
  contraction.k[0].b_stride = lines.plane();
  return contraction;
}

}  // namespace mt::cpu
