// SPDX-License-Identifier: Apache-2.0
// Windows that slide over an image, with one row of weights, as in depthwise convolutions. Of 3 x 3
// that slide by one element two lines of the result at a time come from four of the image, which
// are read where they lie, and what surrounds it is made in registers, not in memory. For others
// lines are put in order first, and four of the result come from them (line_ring-inl.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "base/rounding.h"

namespace mt::cpu {

struct ImageLines {
  static constexpr int side = 3;
  // Of lines that are put in order: how many of the result come from them together, and at most
  // the terms of a sum and the lines read.
  static constexpr int together = 4;
  static constexpr int64_t most_terms = 64, most_lines = 128;
  int64_t height = 0, width = 0;  // of the result
  int64_t image_height, image_width;
  int64_t line;         // elements from a line of the image to the next
  int64_t above, left;  // lines and columns of what surrounds it
  int64_t kernel_height, kernel_width;
  int64_t down, right;  // lines and columns from a window to the next
  bool in_place;        // lines are read where they lie

  explicit operator bool() const { return height > 0; }
  int64_t lines_read() const { return kernel_height + (together - 1) * down; }
  int64_t ring_lines() const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lines_read())));
  }
  // Of every `right`-th element of a line, if whole vectors of them are read.
  int64_t phase_elements(int64_t lanes) const {
    return round_up(width, lanes) + (kernel_width - 1) / right;
  }
};

// For sums in one chain of the operands' type. `made`: of the entries of b, or nullptr: they lie in
// memory.
ImageLines find_image_lines(const MatrixOperand& a, const MatrixOperand& b, const EntryParts* made);

template <class T>
struct ImageLinesBlock {
  const ImageLines* how;
  const T* weights;  // one after the other
  const T* image;
  T fill;              // of what surrounds it
  int64_t begin, end;  // lines of the result
  T* c;                // where those begin
  void* scratch;       // image_lines_scratch bytes
};
size_t image_lines_scratch(const ImageLines& how, size_t size);
void run_image_lines(const ImageLinesBlock<float>& block);
void run_image_lines(const ImageLinesBlock<double>& block);

}  // namespace mt::cpu
