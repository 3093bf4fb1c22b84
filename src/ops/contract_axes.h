// SPDX-License-Identifier: Apache-2.0
// Contraction of tensors whose axes are numbered alike, as matmul's broadcasting and sums of
// products have them.
#pragma once

#include "graph/node.h"

namespace mt {

// A tensor with a number for each of its axes; -1 for one of size one that counts for nothing.
struct Numbered {
  Tensor value;
  Dims axes;
};

// Sums the products of a and b over the axes `summed`, which both have. The result has the others:
// those of both, a's own and b's own, each in the order of their numbers.
Numbered contract_parts(const Numbered& a, const Numbered& b, const Dims& summed);
// The same with all of them in the order of their numbers.
Tensor contract_axes(const Numbered& a, const Numbered& b, const Dims& summed);

}  // namespace mt
