// SPDX-License-Identifier: Apache-2.0
// Windows at as many positions in a line as the image has elements there, or half as many, with
// zeros around the image, as in the gradient of a depthwise convolution's weight. What neighbouring
// positions read at one place of their windows are neighbours in the image or, where windows move
// by two, in one of its four phases (of every second line and column). So vectors read it there,
// without a padded copy.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"

namespace mt::cpu {

struct SameWindows {
  static constexpr int64_t lanes = 16, spare = 4;
  static constexpr int64_t most = 7;  // lines and columns of a window
  // A line or column of a window: the phase of the image's lines or columns that it is in, how many
  // that phase has, and how far behind a position it lies.
  struct Place {
    int64_t phase, count, shift;
  };
  int64_t height = 0, width = 0;              // positions of an image; 0: none
  int64_t step = 1;                           // from one to the next
  int64_t image_height = 0, image_width = 0;  // elements
  int64_t image = 0;                          // elements from an image to the next
  std::vector<Place> lines, columns;          // of a window
  // For 16 positions from each one of a line on, and each column of a window: a mask of the lanes
  // whose element lies in the line. Some spare masks follow, as eight bytes are read at once, even
  // from the second half of the last mask on.
  std::vector<uint16_t> inside;

  explicit operator bool() const { return height > 0; }
  int64_t size() const { return height * width; }
  bool in_place() const { return step == 1 && columns.size() == 3; }
  // Elements of a phase, whose lines are as long as a line has positions, and those beyond that its
  // last vector reaches.
  int64_t phase() const {
    return (height + lines.back().shift - lines.front().shift) * width + lanes;
  }
  int64_t scratch() const {  // bytes
    if (in_place()) return 0;
    return step * step * phase() * static_cast<int64_t>(sizeof(float));
  }
  int64_t bytes() const {
    return static_cast<int64_t>(inside.size() * sizeof(uint16_t) +
                                (lines.size() + columns.size()) * sizeof(Place));
  }
};

// For sums of float32 with lanes. `made`: the parts of the entries of `many`, or nullptr.
SameWindows find_same_windows(const MatrixOperand& few, const MatrixOperand& many,
                              const EntryParts* made);

}  // namespace mt::cpu
