// SPDX-License-Identifier: Apache-2.0
#include "fusion/region.h"

#include <algorithm>

#include "backends/backend.h"
#include "base/pointer_index.h"
#include "fusion/select.h"
#include "graph/window.h"
#include "ops/kernel.h"

namespace mt {
namespace {

bool is_released(const Leaf& leaf) { return leaf.node->references() == leaf.released; }
// Whether a leaf that is released can give its whole storage away, but for others that use it.
bool is_free(const Leaf& leaf) {
  const Node& node = *leaf.node;
  return is_released(leaf) && covers_storage(node) && is_contiguous(node.shape, node.strides);
}

// Finds those whose storage only views use that are released as well, such as the row of a matrix
// from which its next row is made.
[[gnu::noinline]] void find_donatable_with_views(Region* region) {
  // For each storage, how many leaves in it are released; then ~ the leaf that gives it away.
  thread_local PointerIndex index;
  index.clear();
  const auto of = [&](const Leaf& leaf) -> int64_t& {
    return index.find_or_add(leaf.node->storage.get(), 0).entry->number;
  };
  for (const Leaf& leaf : region->leaves) of(leaf) += is_released(leaf);
  for (size_t l = 0; l < region->leaves.size(); ++l) {
    Leaf& leaf = region->leaves[l];
    if (!is_free(leaf) || of(leaf) != leaf.node->storage->references()) continue;
    leaf.donatable = true;
    of(leaf) = ~static_cast<int64_t>(l);
  }
  for (Leaf& leaf : region->leaves) {
    if (of(leaf) < 0 && !leaf.donatable) leaf.within = static_cast<int>(~of(leaf));
  }
}

// A leaf's memory is free to take when only the releasing items of this region refer to it.
void find_donatable(Region* region) {
  if (can_fail(*region)) return;
  for (const Item& item : region->items) {
    if (!item.releases) continue;
    for (const Edge& edge : region->edges_of(item)) {
      // A pending view of a leaf keeps its own references.
      if (edge.value >= 0) continue;
      Leaf& leaf = region->leaves[~edge.value];
      if (edge.view == leaf.node) ++leaf.released;
    }
  }
  bool some_share = false;
  for (Leaf& leaf : region->leaves) {
    const bool free = is_free(leaf), alone = leaf.node->storage->references() == 1;
    leaf.donatable = free && alone;
    some_share |= free && !alone;
  }
  if (some_share) find_donatable_with_views(region);
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
  uses_.resize(first_.back());
  std::vector<int> next = first_;
  for (size_t i = 0; i < region.items.size(); ++i) {
    const Item& item = region.items[i];
    for (const Edge& edge : region.edges_of(item)) {
      if (edge.value < 0) continue;
      int& at = next[edge.value];
      uses_[at++] = {static_cast<int>(i), &edge};
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
  thread_local PointerIndex of_thread;
  PointerIndex& leaf_index = of_thread;  // looked up once
  leaf_index.clear();
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & mark::needed) || node->device != &device) continue;
    bool is_stored = node->mark & mark::stored;
    Item item{node, static_cast<int>(region->edges.size()), static_cast<int>(node->inputs.size()),
              is_stored, is_stored ? !node->keeps_inputs : !(node->mark & mark::survives)};
    // From here on the upper bits of the mark are the index, for later nodes of this device.
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

namespace {

// Overwrites a vector with words; need() makes room for several at once.
class Words {
 public:
  explicit Words(std::vector<uint64_t>* words)
      : words_(*words), at_(words_.data()), end_(at_ + words_.size()) {}
  ~Words() { words_.resize(used()); }
  Words(const Words&) = delete;

  void need(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) grow(count);
  }
  void put(uint64_t word) { *at_++ = word; }
  void put(const Dims& dims) {
    for (int64_t value : dims) put(static_cast<uint64_t>(value));
  }

 private:
  size_t used() const { return static_cast<size_t>(at_ - words_.data()); }
  void grow(size_t count) {
    const size_t before = used();
    words_.resize(words_.size() + count);
    at_ = words_.data() + before;
    end_ = words_.data() + words_.size();
  }

  std::vector<uint64_t>& words_;
  uint64_t *at_, *end_;
};

}  // namespace

void write_key(const Region& region, std::vector<uint64_t>* key) {
  constexpr size_t with_layout = 2 + 2 * max_rank;
  Words words(key);
  words.need(3);
  words.put(reinterpret_cast<uint64_t>(region.device));
  words.put(region.device->backend->configuration());
  words.put(region.leaves.size());
  for (const Leaf& leaf : region.leaves) {
    words.need(with_layout);
    bool contiguous = is_contiguous(leaf.node->shape, leaf.node->strides);
    words.put(static_cast<uint64_t>(leaf.node->dtype) << 8 |
              static_cast<uint64_t>(leaf.node->shape.rank()) << 2 | (contiguous ? 2u : 0u) |
              (leaf.donatable ? 1u : 0u) | static_cast<uint64_t>(leaf.within + 1) << 32);
    words.put(leaf.node->shape);
    if (!contiguous) words.put(leaf.node->strides);
  }
  for (const Item& item : region.items) {
    const Node& node = *item.node;
    words.need(with_layout + node.attributes.size());
    words.put(reinterpret_cast<uint64_t>(node.op));
    words.put(static_cast<uint64_t>(node.dtype) | static_cast<uint64_t>(item.stored) << 8 |
              static_cast<uint64_t>(node.shape.rank()) << 16 |
              static_cast<uint64_t>(node.attributes.size()) << 24 |
              static_cast<uint64_t>(item.edge_count) << 40);
    words.put(node.shape);
    for (int64_t attribute : node.attributes) words.put(static_cast<uint64_t>(attribute));
    for (const Edge& edge : region.edges_of(item)) {
      words.need(with_layout);
      bool whole =
          edge.value < 0 ? edge.view == region.leaf(edge.value).node : edge.view == nullptr;
      if (whole) {
        words.put(static_cast<uint64_t>(static_cast<int64_t>(edge.value)) << 8);
        continue;
      }
      words.put(static_cast<uint64_t>(static_cast<int64_t>(edge.value)) << 8 | 128u |
                static_cast<uint64_t>(edge.view->shape.rank()));
      words.put(edge.view->shape);
      words.put(edge.view->strides);
      words.put(static_cast<uint64_t>(edge.view->offset));
    }
  }
}

}  // namespace mt
