// SPDX-License-Identifier: Apache-2.0
// Padding for sums that go over all images, panel by panel: a thread makes only the lines that its
// panel reads, of all channels, in its own cache. Lines of neighbouring images then follow each
// other: [channels, lines, inner], where a line is what follows an image's first dimension.
#pragma once

#include <cstdint>

#include "plan/contraction.h"

namespace mt::cpu {

struct PanelLines {
  int64_t most = 0;            // the most lines that a panel reads; 0: none are made in this way
  int64_t channels, inner;     // inner: elements of a line
  int64_t image_lines;         // of an image
  int64_t positions, in_line;  // terms of an image, and those that begin in one line
  int64_t step, reach;         // from one such line to the next; how many more a window reads
  int64_t channel_stride = 0;  // of the padded operand
  int64_t image_stride = 0;

  explicit operator bool() const { return most > 0; }
  int64_t plane() const { return image_lines * inner; }
  int64_t elements() const { return channels * most * inner; }

  struct Range {
    int64_t begin, end;
  };
  // The lines that terms [begin, end) read, counted through all images.
  Range lines_of(int64_t begin, int64_t end) const;
};

// For a contraction whose second operand has the shape `padded` and is contiguous.
PanelLines find_panel_lines(const Contraction& contraction, const Shape& padded);
// The contraction as it reads such lines.
Contraction of_lines(Contraction contraction, const PanelLines& lines);

}  // namespace mt::cpu
