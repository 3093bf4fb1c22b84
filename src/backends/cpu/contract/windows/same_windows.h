// SPDX-License-Identifier: Apache-2.0
// Windows of 3 x 3 whose positions are the elements of images, with zeros around these, as in the
// gradient of a depthwise convolution's weight. What neighbouring positions find at one place of
// their windows are neighbours in the image, so vectors read it where it lies, without a padded
// copy.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"

namespace mt::cpu {

struct SameWindows {
  static constexpr int64_t side = 3, lanes = 16, spare = 4;
  int64_t height = 0, width = 0;  // of an image; 0: none
  int64_t image = 0;              // elements from an image to the next
  int64_t above = 0, left = 0;    // of zeros
  // For 16 positions from each of a line on, and each column of a window: the lanes whose element
  // lies in the line; and some to spare, as eight bytes of them are read at once, also from the
  // second half of the last one on.
  std::vector<uint16_t> inside;

  explicit operator bool() const { return height > 0; }
  int64_t size() const { return height * width; }
  int64_t bytes() const { return static_cast<int64_t>(inside.size() * sizeof(uint16_t)); }
};

// For sums of float32 with lanes. `made`: of the entries of `many`, or nullptr.
SameWindows find_same_windows(const MatrixOperand& few, const MatrixOperand& many,
                              const EntryParts* made);

}  // namespace mt::cpu
