// SPDX-License-Identifier: Apache-2.0
#include "ops/contract_axes.h"

#include <algorithm>

#include "ops/ops.h"

namespace mt {
namespace {

// As the contraction takes them: batch, own axes, summed axes; those that count for nothing are
// dropped.
Tensor arranged(const Numbered& x, const Dims& batch, const Dims& own, const Dims& summed) {
  Dims order;
  Shape shape;
  for (const Dims* part : {&batch, &own, &summed}) {
    for (int64_t number : *part) {
      const int64_t* axis = std::find(x.axes.begin(), x.axes.end(), number);
      order.push_back(axis - x.axes.begin());
      shape.push_back(x.value.shape()[static_cast<int>(order.back())]);
    }
  }
  for (int i = 0; i < x.axes.rank(); ++i) {
    if (x.axes[i] < 0) order.push_back(i);
  }
  return reshape(permute(x.value, order), shape);
}

}  // namespace

Tensor contract_axes(const Numbered& a, const Numbered& b, const Dims& summed) {
  int64_t end = 0;
  for (const Dims* axes : {&a.axes, &b.axes}) {
    for (int64_t number : *axes) end = std::max(end, number + 1);
  }
  Dims batch, m, n;
  for (int64_t number = 0; number < end; ++number) {
    if (summed.contains(number)) continue;
    const bool in_a = a.axes.contains(number), in_b = b.axes.contains(number);
    if (in_a && in_b) {
      batch.push_back(number);
    } else if (in_a) {
      m.push_back(number);
    } else if (in_b) {
      n.push_back(number);
    }
  }
  Tensor product = contract(arranged(a, batch, m, summed), arranged(b, batch, n, summed),
                            batch.rank(), m.rank(), n.rank(), summed.rank());
  Dims numbers, order;
  for (const Dims* part : {&batch, &m, &n}) {
    for (int64_t number : *part) numbers.push_back(number);
  }
  for (int i = 0; i < numbers.rank(); ++i) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return numbers[static_cast<int>(i)] < numbers[static_cast<int>(j)];
  });
  const bool in_order = std::is_sorted(order.begin(), order.end());
  return in_order ? product : permute(product, order);
}

}  // namespace mt
