// SPDX-License-Identifier: Apache-2.0
#include "fusion/region.h"

#include <algorithm>

#include "backends/backend.h"
#include "graph/window.h"

namespace mt {
namespace {

// Bits of Node::mark while selecting; once a region is being built, it holds the item's index.
enum Mark : int32_t { stored = 1, needed = 2, survives = 4 };
constexpr int cost_shift = 8, leaves_shift = 16, byte_mask = 255;

// A cheap value that is held keeps its recipe up to this length, then it is stored.
constexpr int recipe_instructions = 16, recipe_leaves = 4;

Node* base_of(const Tensor& tensor) { return tensor->base ? tensor->base.node() : tensor.node(); }

// Ready, or a view of something ready (as traces keep them).
bool is_computed(const Tensor& tensor) { return tensor->ready() || base_of(tensor)->ready(); }

// Which nodes something will still refer to after this evaluation, from consumers to inputs.
void mark_survivors(Window& window) {
  for (Node* node = window.last(); node; node = node->previous) {
    if (node->state_slots.load(std::memory_order_relaxed) > 0) {
      if (!node->base || !node->base->ready()) {
        (node->base ? node->base.node() : node)->mark |= stored;
      }
      node->mark |= survives;
    }
    if (node->references() > node->pending_uses) node->mark |= survives;
    if (!(node->mark & survives)) continue;
    if (node->base && !node->base->ready()) node->base->mark |= survives;
    if (!is_cheap(*node->op)) node->mark |= stored;
    if (node->keeps_inputs || !(node->mark & stored)) {
      for (const Tensor& input : node->inputs) {
        if (!input->ready()) input->mark |= survives;
      }
    }
  }
}

void add_recipe(const Tensor& input, int* cost, int* leaves) {
  if (input->ready()) {
    ++*leaves;
    return;
  }
  const Node* base = base_of(input);
  if (base->ready() || (base->mark & stored)) {
    ++*leaves;
  } else {
    *cost += base->mark >> cost_shift & byte_mask;
    *leaves += base->mark >> leaves_shift & byte_mask;
  }
}

// Stores those cheap survivors that would take too long to compute again, inputs first.
void store_long_recipes(Window& window) {
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & survives) || (node->mark & stored) || node->base) continue;
    int cost = node->op->kind == OpKind::constant ? 0 : 1, leaves = 0;
    for (const Tensor& input : node->inputs) add_recipe(input, &cost, &leaves);
    if (cost > recipe_instructions || leaves > recipe_leaves) {
      node->mark |= stored;
    } else {
      node->mark |= cost << cost_shift | leaves << leaves_shift;
    }
  }
}

void mark_needed(Window& window) {
  for (Node* node = window.last(); node; node = node->previous) {
    if (node->base) continue;
    if (node->mark & stored) node->mark |= needed;
    if (!(node->mark & needed)) continue;
    for (const Tensor& input : node->inputs) {
      if (!is_computed(input)) base_of(input)->mark |= needed;
    }
  }
}

// Whether a value that is held, by a handle or a history, and computed again now, is kept from now
// on. A second time may be
// the gradient's, and the last; a third is a loop's, as over data that was prepared before it. What
// lies within its storage's own object costs nothing to keep. Numbers repeated over a shape and
// positions cost less to make than to read.
bool is_worth_keeping(const Node& node) {
  const bool is_made = node.op->kind == OpKind::constant || node.op->kind == OpKind::iota;
  if (node.bytes() <= int64_t{Storage::inline_bytes}) {
    const bool is_number = node.op->kind == OpKind::constant && node.shape.empty();
    return node.times_computed >= 1 && !is_number;
  }
  const bool is_held_itself = node.references() > node.pending_uses;
  return node.times_computed >= 2 && is_held_itself && !is_made;
}

void store_what_returns(Window& window) {
  for (Node* node = window.first(); node; node = node->next) {
    constexpr int32_t wanted = survives | needed;
    if ((node->mark & (wanted | stored)) != wanted || node->base) continue;
    if (is_worth_keeping(*node)) node->mark |= stored;
  }
}

// Which leaf a node is. Ready nodes may be read by several threads at once, so that a mark in the
// node will not do.
class LeafIndex {
 public:
  void clear() { slots_.assign(std::max<size_t>(64, slots_.size()), -1); }

  int find_or_add(const Node* node, std::vector<Leaf>* leaves) {
    size_t at = place_of(node, *leaves);
    if (slots_[at] >= 0) return slots_[at];
    leaves->push_back({node, false});
    int added = static_cast<int>(leaves->size()) - 1;
    slots_[at] = added;
    if (leaves->size() * 2 > slots_.size()) {
      slots_.assign(slots_.size() * 2, -1);
      for (size_t l = 0; l < leaves->size(); ++l) {
        slots_[place_of((*leaves)[l].node, *leaves)] = static_cast<int>(l);
      }
    }
    return added;
  }

 private:
  // Where the node is, or would be.
  size_t place_of(const Node* node, const std::vector<Leaf>& leaves) const {
    uint64_t hash = reinterpret_cast<uint64_t>(node) * 0x9E3779B97F4A7C15u;
    for (size_t at = hash >> 32;; ++at) {
      at &= slots_.size() - 1;
      if (slots_[at] < 0 || leaves[static_cast<size_t>(slots_[at])].node == node) return at;
    }
  }

  std::vector<int> slots_;  // a power of two, at most half of them taken
};

}  // namespace

void Region::clear() {
  items.clear();
  edges.clear();
  leaves.clear();
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
    for (int e = 0; e < item.edge_count; ++e) {
      const Edge& edge = region.edges_of(item)[e];
      if (edge.value < 0) continue;
      int& at = next[static_cast<size_t>(edge.value)];
      uses_[static_cast<size_t>(at++)] = {static_cast<int>(i), &edge};
    }
  }
}

Layout edge_layout(const Region& region, const Edge& edge) {
  if (edge.value < 0) {
    const Node& leaf = *region.leaves[static_cast<size_t>(~edge.value)].node;
    return {edge.view->shape, edge.view->strides, edge.view->offset - leaf.offset};
  }
  if (edge.view) return edge.view->layout();
  return contiguous_layout(region.items[static_cast<size_t>(edge.value)].node->shape);
}

void select(Window& window, const Tensor* tensors, size_t count) {
  for (Node* node = window.first(); node; node = node->next) node->mark = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_computed(tensors[i])) base_of(tensors[i])->mark |= stored;
  }
  mark_survivors(window);
  store_long_recipes(window);
  mark_needed(window);
  store_what_returns(window);
}

void select_exactly(Window& window, const Tensor* tensors, size_t count) {
  for (Node* node = window.first(); node; node = node->next) node->mark = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_computed(tensors[i])) base_of(tensors[i])->mark |= stored;
  }
  mark_needed(window);
}

void devices_with_work(Window& window, std::vector<Device*>* devices) {
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & needed)) continue;
    if (devices->empty() ||
        std::find(devices->begin(), devices->end(), node->device) == devices->end()) {
      devices->push_back(node->device);
    }
  }
}

void build_region(Window& window, Device& device, Region* region) {
  region->clear();
  region->device = &device;
  thread_local LeafIndex leaf_index;
  leaf_index.clear();
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & needed) || node->device != &device) continue;
    bool is_stored = node->mark & stored;
    Item item{node, static_cast<int>(region->edges.size()), static_cast<int>(node->inputs.size()),
              is_stored, is_stored ? !node->keeps_inputs : !(node->mark & survives)};
    // From here on the mark is the index; later nodes of this device read it so.
    node->mark = (node->mark & 7) | static_cast<int32_t>(region->items.size()) << 3;
    for (const Tensor& input : node->inputs) {
      if (!is_computed(input)) {
        region->edges.push_back({base_of(input)->mark >> 3, input->base ? input.node() : nullptr});
        continue;
      }
      const Node* leaf = input->ready() ? input.node() : base_of(input);
      region->edges.push_back({~leaf_index.find_or_add(leaf, &region->leaves), input.node()});
    }
    region->items.push_back(item);
  }

  // A leaf's memory is free to take when only the releasing items of this region refer to it.
  thread_local std::vector<int> uses;
  uses.assign(region->leaves.size(), 0);
  for (const Item& item : region->items) {
    if (!item.releases) continue;
    for (int i = 0; i < item.edge_count; ++i) {
      int value = region->edges_of(item)[i].value;
      if (value < 0) ++uses[static_cast<size_t>(~value)];
    }
  }
  for (size_t i = 0; i < region->leaves.size(); ++i) {
    const Node& node = *region->leaves[i].node;
    const Storage& storage = *node.storage;
    region->leaves[i].donatable = node.references() == uses[i] && storage.unique() &&
                                  !storage.borrowed() && !storage.pinned() && node.offset == 0 &&
                                  storage.bytes() == static_cast<size_t>(node.bytes()) &&
                                  is_contiguous(node.shape, node.strides);
  }
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
    for (int i = 0; i < item.edge_count; ++i) {
      const Edge& edge = region.edges_of(item)[i];
      bool whole = edge.value < 0
                       ? edge.view == region.leaves[static_cast<size_t>(~edge.value)].node
                       : edge.view == nullptr;
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
