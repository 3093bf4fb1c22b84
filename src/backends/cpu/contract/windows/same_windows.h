// SPDX-License-Identifier: Apache-2.0
// Windows at as many positions as an image has elements in a line, or half as many, with zeros
// around, as in the gradient of a depthwise convolution's weight. What neighbouring positions find
// at one place of their windows are neighbours in the image, or, where windows move by two, in one
// of its four phases, of every second line and column. So vectors read it there, without a padded
// copy.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"

namespace mt::cpu {

struct SameWindows {
  static constexpr int64_t lanes = 16, spare = 4;
  static constexpr int64_t most = 7;  // lines and columns of a window
  // A line or column of a window: in which phase of the image's it lies, how many that phase has,
  // and how far behind a position.
  struct Place {
    int64_t phase, count, shift;
  };
  int64_t height = 0, width = 0;              // positions of an image; 0: none
  int64_t step = 1;                           // from one to the next
  int64_t image_height = 0, image_width = 0;  // elements
  int64_t image = 0;                          // elements from an image to the next
  std::vector<Place> lines, columns;          // of a window
  // For 16 positions from each of a line on, and each column of a window: the lanes whose element
  // lies in the line; and some to spare, as eight bytes of them are read at once, also from the
  // second half of the last one on.
  std::vector<uint16_t> inside;

  explicit operator bool() const { return height > 0; }
  int64_t size() const { return height * width; }
  bool in_place() const { return step == 1 && columns.size() == 3; }
  // Elements of a phase, whose lines are as long as there are positions in one; and those to which
  // its last vector reaches.
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

// For sums of float32 with lanes. `made`: of the entries of `many`, or nullptr.
SameWindows find_same_windows(const MatrixOperand& few, const MatrixOperand& many,
                              const EntryParts* made);

}  // namespace mt::cpu
