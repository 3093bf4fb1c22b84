// SPDX-License-Identifier: Apache-2.0
// The padding of images over all of which sums go, panel by panel: a thread makes just the lines
// that a panel reads, of all channels, in its own cache. Lines of neighbouring images then follow
// each other: [channels, lines, inner], where a line is what follows an image's first dimension.
#pragma once

#include <cstdint>

#include "plan/contraction.h"

namespace mt::cpu {

struct PanelLines {
  int64_t most = 0;            // lines that a panel reads; 0: they are not made so
  int64_t channels, inner;     // inner: elements of a line
  int64_t image_lines;         // of an image
  int64_t positions, in_line;  // terms of an image, and those that begin in one line
  int64_t step, reach;         // from such a line to the next; how many more a window reads
  int64_t channel_stride = 0;  // of the padded operand
  int64_t image_stride = 0;

  explicit operator bool() const { return most > 0; }
  int64_t plane() const { return image_lines * inner; }
  int64_t elements() const { return channels * most * inner; }

  struct Range {
    int64_t begin, end;
  };
  // The lines that terms [begin, end) read, of all images counted through.
  Range lines_of(int64_t begin, int64_t end) const;
};

// For a contraction whose second operand has this shape, padded, and is contiguous.
PanelLines find_panel_lines(const Contraction& contraction, const Shape& padded);
// The contraction as it reads such lines.
Contraction of_lines(Contraction contraction, const PanelLines& lines);

}  // namespace mt::cpu
