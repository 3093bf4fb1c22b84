// SPDX-License-Identifier: Apache-2.0
#include "autodiff/shared_weights.h"

#include "ops/rows_by_weight.h"

namespace mt {

namespace {
constexpr int fewest_products = 4;
}

SharedWeights::SharedWeights(const std::vector<Tensor>& nodes) {
  for (const Tensor& tensor : nodes) {
    const Node& node = *tensor.node();
    if (!is_rows_by_weight(node)) continue;
    const auto next = static_cast<int64_t>(weights_.size());
    const auto [entry, is_new] = index_.find_or_add(node.inputs[1].node(), next);
    if (is_new) weights_.push_back({&node, 0, {}, {}});
    Weight& weight = weights_[static_cast<size_t>(entry->number)];
    if (node.attributes != weight.product->attributes) continue;
    any_ |= ++weight.count >= fewest_products;
  }
}

SharedWeights::Weight* SharedWeights::find(const Node& weight) {
  const int64_t at = any_ ? index_.find(&weight) : -1;
  if (at < 0) return nullptr;
  Weight& found = weights_[static_cast<size_t>(at)];
  return found.count >= fewest_products ? &found : nullptr;
}

bool SharedWeights::take(const Node& product, const Tensor& dy) {
  if (!any_ || !is_rows_by_weight(product)) return false;
  Weight* weight = find(*product.inputs[1].node());
  if (!weight || product.attributes != weight->product->attributes) return false;
  weight->rows.push_back(product.inputs[0]);
  weight->gradients.push_back(dy);
  return true;
}

Tensor SharedWeights::gradient_of(const Node& node) {
  Weight* weight = find(node);
  if (!weight || weight->rows.empty()) return nullptr;
  return gradient_of_weight(*weight->product, weight->rows, weight->gradients);
}

}  // namespace mt
