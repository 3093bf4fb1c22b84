// SPDX-License-Identifier: Apache-2.0
// A convolution whose result has its input's size: zeros around x, as many as a kernel reaches
// over.
#include "base/error.h"
#include "ops/ops.h"

namespace mt {

Tensor same_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const Convolution& how) {
  const int axes = how.stride.rank();
  Convolution halves = how;
  halves.same = false;
  if (x.rank() != axes + 2 || weight.rank() != axes + 2) {
    return convolution(x, weight, bias, halves);  // which says what is wrong
  }
  Shape shape = x.shape();
  for (int i = 0; i < axes; ++i) {
    if (how.stride[i] != 1) {
      fail(Code::invalid, "conv%dd: padding that keeps the size needs stride 1, got %s", axes,
           to_string(how.stride).c_str());
    }
    int64_t added;
    if (__builtin_mul_overflow(how.dilation[i], weight.shape()[2 + i] - 1, &added) || added < 0) {
      return convolution(x, weight, bias, halves);
    }
    halves.padding[i] = added / 2;
    shape[2 + i] += added % 2;  // at the end, as in PyTorch
  }
  if (shape == x.shape()) return convolution(x, weight, bias, halves);
  const Dims starts = Dims::filled(x.rank(), 0), steps = Dims::filled(x.rank(), 1);
  return convolution(place(x, shape, starts, steps, 0), weight, bias, halves);
}

}  // namespace mt
