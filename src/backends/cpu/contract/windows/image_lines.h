// SPDX-License-Identifier: Apache-2.0
// Windows that slide over an image, with one row of weights, as in depthwise convolutions. If they
// are 3 x 3 and slide by one element, two or four lines of the result at a time are computed from
// those of the image, which are read in place; the padding around it is made in registers, not in
// memory. For others, lines are put in order first, and four of the result computed
// (line_ring-inl.h).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"
#include "base/rounding.h"

namespace mt::cpu {

struct ImageLines {
  static constexpr int side = 3;
  // For lines that are put in order: how many lines of the result are computed from them together,
  // and the most terms of a sum and lines read.
  static constexpr int together = 4;
  static constexpr int64_t most_terms = 64, most_lines = 128;
  int64_t height = 0, width = 0;  // of the result
  int64_t image_height, image_width;
  int64_t line;         // elements from a line of the image to the next
  int64_t above, left;  // lines of padding above it, and columns to the left
  int64_t kernel_height, kernel_width;
  int64_t down, right;  // lines and columns from a window to the next
  bool in_place;        // lines are read where they lie

  explicit operator bool() const { return height > 0; }
  int64_t lines_read() const { return kernel_height + (together - 1) * down; }
  int64_t ring_lines() const {
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lines_read())));
  }
  // Elements of a phase, every `right`-th one of a line, as far as whole vectors read them.
  int64_t phase_elements(int64_t lanes) const {
    return round_up(width, lanes) + (kernel_width - 1) / right;
  }
};

// For sums in one chain of the operands' type. `made`: b's entries' parts; nullptr: b is in memory.
ImageLines find_image_lines(const MatrixOperand& a, const MatrixOperand& b, const EntryParts* made);

// An image, its weights, one after the other, and where its results go.
template <class T>
struct LinesOfImage {
  const T *weights, *image;
  T* c;
};
// The same lines of several images, the results of one after those of another.
template <class T>
struct ImageLinesBlock {
  const ImageLines* how;
  T fill;              // the value of padding
  int64_t begin, end;  // lines of the result
  std::span<const LinesOfImage<T>> images;
  void* scratch;  // image_lines_scratch bytes
};
size_t image_lines_scratch(const ImageLines& how, size_t size);
void run_image_lines(const ImageLinesBlock<float>& block);
void run_image_lines(const ImageLinesBlock<double>& block);

}  // namespace mt::cpu
