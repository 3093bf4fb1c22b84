// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/windows/same_windows.h"

#include <algorithm>

#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t lanes = SameWindows::lanes;
constexpr int64_t widest = 1024;  // whose masks take 6 KB, or 14 with columns of seven

// The places of `count` lines or columns, of which `before` lie in front of the image.
std::vector<SameWindows::Place> places(int64_t count, int64_t before, int64_t step,
                                       int64_t elements) {
  std::vector<SameWindows::Place> result;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = i - before, phase = (at % step + step) % step;
    result.push_back({phase, divide_up(elements - phase, step), (at - phase) / step});
  }
  return result;
}

std::vector<uint16_t> lanes_inside(const SameWindows& how) {
  std::vector<uint16_t> result;
  for (int64_t first = 0; first < how.width; ++first) {
    for (const SameWindows::Place& column : how.columns) {
      unsigned mask = 0;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t at = (first + lane) % how.width + column.shift;
        mask |= static_cast<unsigned>(at >= 0 && at < column.count) << lane;
      }
      result.push_back(static_cast<uint16_t>(mask));
    }
  }
  result.resize(result.size() + SameWindows::spare);
  return result;
}

// Whether there are kernels for windows of this size and step.
bool are_known(int64_t lines, int64_t columns, int64_t step) {
  if (step != 1 && step != 2) return false;
  if (columns == 3) return lines == 3;
  return lines <= SameWindows::most && (columns == 5 || (columns == 7 && step == 1));
}

// Lines of 16 positions and more are long enough to be padded and read in stretches, which takes
// less time with vectors of 8 (0.5 to 0.7) and, if lines of 7 x 7 windows fill them, of 16 (0.9).
bool pays(const SameWindows& how) {
  const size_t columns = how.columns.size();
  if (how.step > 1 || columns == 3 || how.width < lanes) return true;
  return abreast_lanes() == lanes && (columns < 7 || how.width % lanes != 0);
}

}  // namespace

SameWindows find_same_windows(const MatrixOperand& few, const MatrixOperand& many,
                              const EntryParts* made) {
  if (made == nullptr || few.dtype != Dtype::float32 || many.dtype != Dtype::float32) return {};
  const Layout &from = made->from, &to = made->to;
  const Axis &window = many.rows, &k = many.k;
  const int last = from.shape.rank() - 1, inner = k.rank - 1;
  if (last < 1 || few.rows.size != 1 || window.rank != 2) return {};
  const int64_t images = last > 1 ? from.shape[0] : 1;
  if (k.rank != (images > 1 ? 3 : 2)) return {};
  SameWindows how;
  how.height = k.sizes[inner - 1];
  how.width = k.sizes[inner];
  how.step = k.strides[inner];
  how.image_height = from.shape[last - 1];
  how.image_width = from.shape[last];
  how.image = last > 1 ? from.strides[0] : 0;
  const int64_t line = to.strides[last - 1];
  // The entry is its images with what surrounds each: no padded image goes before the first.
  const int64_t plane = images > 1 ? to.strides[0] : made->elements;
  if (made->elements != images * plane || to.offset >= plane) return {};
  // Images whose lines follow each other.
  if (how.width > widest || from.strides[last] != 1 || to.strides[last] != 1 ||
      from.strides[last - 1] != how.image_width ||
      element_count(from.shape) != images * how.image_height * how.image_width) {
    return {};
  }
  // Windows of neighbours, whose positions are lines.
  const int64_t lines = window.sizes[0], columns = window.sizes[1];
  if (!are_known(lines, columns, how.step) || window.strides[0] != line || window.strides[1] != 1 ||
      k.strides[inner - 1] != how.step * line || (images > 1 && k.strides[0] != plane) ||
      k.size != images * how.size() || line < (how.width - 1) * how.step + columns) {
    return {};
  }
  how.lines = places(lines, to.offset / line, how.step, how.image_height);
  how.columns = places(columns, to.offset % line, how.step, how.image_width);
  if (how.step == 1 && how.width != how.image_width) return {};
  if (how.in_place() && how.height != how.image_height) return {};
  // What positions read in a phase's line has to be within as many elements as there are positions.
  for (const SameWindows::Place& column : how.columns) {
    if (column.shift > 0 && column.count > how.width) return {};
  }
  const int few_inner = few.k.rank - 1;
  if (few_inner < 0 || few.k.stride() != 1 || few.k.sizes[few_inner] % how.size() != 0) return {};
  if (!pays(how)) return {};
  how.inside = lanes_inside(how);
  return how;
}

}  // namespace mt::cpu
