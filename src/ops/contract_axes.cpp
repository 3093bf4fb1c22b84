// SPDX-License-Identifier: Apache-2.0
#include "ops/contract_axes.h"

#include <algorithm>
#include <utility>

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
  if (!std::is_sorted(order.begin(), order.end())) return reshape(permute(x.value, order), shape);
  return shape == x.value.shape() ? x.value : reshape(x.value, shape);
}

}  // namespace

Numbered contract_parts(const Numbered& a, const Numbered& b, const Dims& summed) {
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
  Numbered product;
  product.value = contract(arranged(a, batch, m, summed), arranged(b, batch, n, summed),
                           batch.rank(), m.rank(), n.rank(), summed.rank());
  for (const Dims* part : {&batch, &m, &n}) {
    for (int64_t number : *part) product.axes.push_back(number);
  }
  return product;
}

Tensor contract_axes(const Numbered& a, const Numbered& b, const Dims& summed) {
  Numbered product = contract_parts(a, b, summed);
  const Dims& numbers = product.axes;
  if (std::is_sorted(numbers.begin(), numbers.end())) return std::move(product.value);
  Dims order = numbers;
  std::sort(order.begin(), order.end());
  for (int64_t& axis : order)
    axis = std::find(numbers.begin(), numbers.end(), axis) - numbers.begin();
  return permute(product.value, order);
}

}  // namespace mt
