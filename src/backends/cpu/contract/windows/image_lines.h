// SPDX-License-Identifier: Apache-2.0
// Windows of 3 x 3 that slide over an image by one element, with one row of weights, as in
// depthwise convolutions: two lines of the result at a time are computed from four of the image,
// which are read where they lie. What surrounds an image is made in registers, not in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/windows/abreast.h"

namespace mt::cpu {

struct ImageLines {
  static constexpr int side = 3;
  int64_t height = 0, width = 0;  // of the result
  int64_t image_height, image_width;
  int64_t line;         // elements from a line of the image to the next
  int64_t above, left;  // lines and columns of what surrounds it

  explicit operator bool() const { return height > 0; }
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
