// SPDX-License-Identifier: Apache-2.0
// Structs of options that functions and layers have in common, as the operators take them.
#pragma once

#include "api/arguments.h"
#include "mtorch/linear.h"
#include "ops/ops.h"

namespace mt::api {

// The options of a convolution over that many axes.
inline Convolution convolution_of(const mt_conv_options& o, int axes) {
  auto one_at_least = [](int64_t number) { return number ? number : 1; };
  Convolution how;
  for (int i = 0; i < axes; ++i) {
    how.stride.push_back(one_at_least(o.stride[i]));
    how.padding.push_back(o.padding[i]);
    how.dilation.push_back(one_at_least(o.dilation[i]));
    how.output_padding.push_back(o.output_padding[i]);
  }
  how.groups = one_at_least(o.groups);
  how.same = o.same;
  return how;
}

}  // namespace mt::api
