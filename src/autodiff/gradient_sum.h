// SPDX-License-Identifier: Apache-2.0
// The gradients that arrive at one value during a backward walk. Gradients of slices are joined
// once if they tile the value, instead of each being padded with zeros and added.
#pragma once

#include <utility>
#include <vector>

#include "graph/node.h"

namespace mt {

class GradientSum {
 public:
  void add(Tensor gradient);
  void add_slice(const Tensor& gradient, int axis, int64_t start, int64_t step);
  // The sum, or null if nothing has arrived; x is the value that it is the gradient of.
  const Tensor& total(const Tensor& x);
  // The total, handed to the operator that made x. It is moved out, so that its memory can be
  // reused, unless keep() was called.
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
