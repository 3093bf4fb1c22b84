// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/windows/same_windows.h"

namespace mt::cpu {
namespace {

constexpr int64_t side = SameWindows::side, lanes = SameWindows::lanes;
constexpr int64_t widest = 1024;  // whose masks take 6 KB

std::vector<uint16_t> lanes_inside(const SameWindows& how) {
  std::vector<uint16_t> result;
  for (int64_t first = 0; first < how.width; ++first) {
    for (int64_t column = 0; column < side; ++column) {
      unsigned mask = 0;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t at = (first + lane) % how.width + column - how.left;
        mask |= static_cast<unsigned>(at >= 0 && at < how.width) << lane;
      }
      result.push_back(static_cast<uint16_t>(mask));
    }
  }
  result.resize(result.size() + SameWindows::spare);
  return result;
}

}  // namespace

SameWindows find_same_windows(const MatrixOperand& few, const MatrixOperand& many,
                              const EntryParts* made) {
  if (made == nullptr || few.dtype != Dtype::float32 || many.dtype != Dtype::float32) return {};
  const Layout &from = made->from, &to = made->to;
  const int last = from.shape.rank() - 1;
  if (last < 1 || few.rows.size != 1) return {};
  SameWindows how;
  how.height = from.shape[last - 1];
  how.width = from.shape[last];
  how.image = last > 1 ? from.strides[0] : 0;
  const int64_t line = to.strides[last - 1], size = how.size();
  const int64_t images = last > 1 ? from.shape[0] : 1;
  how.above = to.offset / line;
  how.left = to.offset % line;
  // The entry is its images with what surrounds each: no padded image goes before the first.
  const int64_t plane = images > 1 ? to.strides[0] : made->elements;
  if (made->elements != images * plane || to.offset >= plane) return {};
  // Images whose lines follow each other.
  if (how.width > widest || element_count(from.shape) != images * size || from.strides[last] != 1 ||
      from.strides[last - 1] != how.width || to.strides[last] != 1) {
    return {};
  }
  // Windows at every position.
  const Axis &rows = many.rows, &k = many.k;
  const int inner = k.rank - 1;
  if (rows.rank != 2 || rows.sizes[0] != side || rows.sizes[1] != side || rows.strides[0] != line ||
      rows.strides[1] != 1 || k.rank != (images > 1 ? 3 : 2) || k.sizes[inner] != how.width ||
      k.strides[inner] != 1 || k.sizes[inner - 1] != how.height || k.strides[inner - 1] != line ||
      (images > 1 && k.strides[0] != plane) || k.size != images * size ||
      line < how.width + side - 1) {
    return {};
  }
  const int few_inner = few.k.rank - 1;
  if (few_inner < 0 || few.k.stride() != 1 || few.k.sizes[few_inner] % size != 0) return {};
  how.inside = lanes_inside(how);
  return how;
}

}  // namespace mt::cpu
