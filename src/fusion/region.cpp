// SPDX-License-Identifier: Apache-2.0
#include "fusion/region.h"

#include <algorithm>

#include "backends/backend.h"
#include "fusion/select.h"
#include "graph/pointer_index.h"
#include "graph/window.h"
#include "ops/kernel.h"

namespace mt {
namespace {

// A leaf's memory is free to take when only the releasing items of this region refer to it.
void find_donatable(Region* region) {
  if (can_fail(*region)) return;
  thread_local std::vector<int> uses;
  uses.assign(region->leaves.size(), 0);
  for (const Item& item : region->items) {
    if (!item.releases) continue;
    for (const Edge& edge : region->edges_of(item)) {
      int value = edge.value;
      if (value < 0) ++uses[static_cast<size_t>(~value)];
    }
  }
  for (size_t i = 0; i < region->leaves.size(); ++i) {
    const Node& node = *region->leaves[i].node;
    region->leaves[i].donatable = node.references() == uses[i] && has_storage_alone(node) &&
                                  is_contiguous(node.shape, node.strides);
  }
}

}  // namespace

void Region::clear() {
  items.clear();
  edges.clear();
  leaves.clear();
}

bool can_fail(const Region& region) {
  return std::any_of(region.items.begin(), region.items.end(), [](const Item& item) {
    return is_kernel(*item.node->op) && item.node->device->host_memory;
  });
}

Readers::Readers(const Region& region) : first_(region.items.size() + 1, 0) {
  for (const Edge& edge : region.edges) {
    if (edge.value >= 0) ++first_[static_cast<size_t>(edge.value) + 1];
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  uses_.resize(static_cast<size_t>(first_.back()));
  std::vector<int> next = first_;
  for (size_t i = 0; i < region.items.size(); ++i) {
    const Item& item = region.items[i];
    for (const Edge& edge : region.edges_of(item)) {
      if (edge.value < 0) continue;
      int& at = next[static_cast<size_t>(edge.value)];
      uses_[static_cast<size_t>(at++)] = {static_cast<int>(i), &edge};
    }
  }
}

Layout edge_layout(const Region& region, const Edge& edge) {
  if (edge.value < 0) {
    const Node& leaf = *region.leaf(edge.value).node;
    return {edge.view->shape, edge.view->strides, edge.view->offset - leaf.offset};
  }
  if (edge.view) return edge.view->layout();
  return contiguous_layout(region.item(edge.value).node->shape);
}

void build_region(Window& window, Device& device, Region* region) {
  region->clear();
  region->device = &device;
  thread_local PointerIndex leaf_index;
  leaf_index.clear();
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & mark::needed) || node->device != &device) continue;
    bool is_stored = node->mark & mark::stored;
    Item item{node, static_cast<int>(region->edges.size()), static_cast<int>(node->inputs.size()),
              is_stored, is_stored ? !node->keeps_inputs : !(node->mark & mark::survives)};
    // From here on the mark is the index; later nodes of this device read it so.
    node->mark = (node->mark & mark::all) | static_cast<int32_t>(region->items.size())
                                                << mark::bits;
    for (const Tensor& input : node->inputs) {
      const Node* base = base_of(input.node());
      if (!is_computed(input)) {
        region->edges.push_back({base->mark >> mark::bits, input->base ? input.node() : nullptr});
        continue;
      }
      const Node* leaf = input->ready() ? input.node() : base;
      const auto next = static_cast<int64_t>(region->leaves.size());
      const auto [entry, is_new] = leaf_index.find_or_add(leaf, next);
      if (is_new) region->leaves.push_back({leaf, false});
      region->edges.push_back({~static_cast<int>(entry->number), input.node()});
    }
    region->items.push_back(item);
  }
  find_donatable(region);
}

void write_key(const Region& region, std::vector<uint64_t>* key) {
  auto put = [key](uint64_t word) { key->push_back(word); };
  auto put_dims = [key](const Dims& dims) {
    for (int64_t value : dims) key->push_back(static_cast<uint64_t>(value));
  };
  key->clear();
  put(reinterpret_cast<uint64_t>(region.device));
  put(region.device->backend->configuration());
  put(region.leaves.size());
  for (const Leaf& leaf : region.leaves) {
    bool contiguous = is_contiguous(leaf.node->shape, leaf.node->strides);
    put(static_cast<uint64_t>(leaf.node->dtype) << 8 |
        static_cast<uint64_t>(leaf.node->shape.rank()) << 2 | (contiguous ? 2u : 0u) |
        (leaf.donatable ? 1u : 0u));
    put_dims(leaf.node->shape);
    if (!contiguous) put_dims(leaf.node->strides);
  }
  for (const Item& item : region.items) {
    const Node& node = *item.node;
    put(reinterpret_cast<uint64_t>(node.op));
    put(static_cast<uint64_t>(node.dtype) | static_cast<uint64_t>(item.stored) << 8 |
        static_cast<uint64_t>(node.shape.rank()) << 16 |
        static_cast<uint64_t>(node.attributes.size()) << 24 |
        static_cast<uint64_t>(item.edge_count) << 40);
    put_dims(node.shape);
    for (int64_t attribute : node.attributes) put(static_cast<uint64_t>(attribute));
    for (const Edge& edge : region.edges_of(item)) {
      bool whole =
          edge.value < 0 ? edge.view == region.leaf(edge.value).node : edge.view == nullptr;
      if (whole) {
        put(static_cast<uint64_t>(static_cast<int64_t>(edge.value)) << 8);
        continue;
      }
      put(static_cast<uint64_t>(static_cast<int64_t>(edge.value)) << 8 | 128u |
          static_cast<uint64_t>(edge.view->shape.rank()));
      put_dims(edge.view->shape);
      put_dims(edge.view->strides);
      put(static_cast<uint64_t>(edge.view->offset));
    }
  }
}

}  // namespace mt
