// SPDX-License-Identifier: Apache-2.0
// What arrives at one value while a history is walked backwards: gradients of all of it, and those
// of slices of it, which are put together once instead of being added up in zeros one by one.
#pragma once

#include <utility>
#include <vector>

#include "graph/node.h"

namespace mt {

class GradientSum {
 public:
  void add(Tensor gradient);
  void add_slice(const Tensor& gradient, int axis, int64_t start, int64_t step);
  // The sum, or nothing if nothing has arrived; x is what it arrives at.
  const Tensor& total(const Tensor& x);
  // The total, for what came before. Its memory may be used again then, unless somebody asked for
  // it.
  Tensor pass_on(const Tensor& x) {
    const Tensor& sum = total(x);
    if (kept_) return sum;
    return std::move(sum_);
  }
  void keep() { kept_ = true; }

 private:
  struct Slice {
    Tensor gradient;
    int axis;
    int64_t start, step;
  };
  bool slices_tile(int64_t size);
  Tensor joined(const Shape& shape) const;

  Tensor sum_;
  std::vector<Slice> slices_;
  bool kept_ = false;
};

}  // namespace mt
