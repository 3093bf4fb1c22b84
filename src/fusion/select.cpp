// SPDX-License-Identifier: Apache-2.0
#include "fusion/select.h"

#include <algorithm>

namespace mt {
namespace {

constexpr int cost_shift = 8, leaves_shift = 16, byte_mask = 255;

// A cheap value that is held keeps its recipe up to this length, then it is stored.
constexpr int recipe_instructions = 16, recipe_leaves = 4;

// Forgets earlier marks, and marks what was asked for.
void ask_for(Window& window, const Tensor* tensors, size_t count) {
  for (Node* node = window.first(); node; node = node->next) node->mark = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!is_computed(tensors[i])) base_of(tensors[i].node())->mark |= mark::stored;
  }
}

// A single number costs nothing to keep, and many are kept for long, such as a loss of every step.
bool is_single_number(const Node& node) {
  return node.op->kind == OpKind::elementwise && !node.base && element_count(node.shape) == 1;
}

// Constants and positions cost less to make than to read.
bool is_made(const Node& node) {
  return node.op->kind == OpKind::constant || node.op->kind == OpKind::iota;
}
bool is_small(const Node& node) { return node.bytes() <= int64_t{Storage::inline_bytes}; }

// Which survivors are stored.
enum class Store : uint8_t { none, costly, all };
bool is_stored(const Node& node, Store which) {
  switch (which) {
    case Store::none: return false;
    case Store::costly: return !is_cheap(*node.op) || is_single_number(node);
    case Store::all: return !node.base && (!is_made(node) || is_small(node));
  }
  return false;
}

// Marks the nodes that something will still refer to after this evaluation, consumers first.
void mark_survivors(Window& window, Store which) {
  for (Node* node = window.last(); node; node = node->previous) {
    Node* base = base_of(node);
    if (node->state_slots.load(std::memory_order_relaxed) > 0) {
      if (which != Store::none && !base->ready()) base->mark |= mark::stored;
      node->mark |= mark::survives;
    }
    if (node->references() > node->pending_uses) node->mark |= mark::survives;
    if (!(node->mark & mark::survives)) continue;
    if (!base->ready()) base->mark |= mark::survives;
    if (is_stored(*node, which)) node->mark |= mark::stored;
    if (node->keeps_inputs || !(node->mark & mark::stored)) {
      for (const Tensor& input : node->inputs) {
        if (!input->ready()) input->mark |= mark::survives;
      }
    }
  }
}

void add_recipe(const Tensor& input, int* cost, int* leaves) {
  const Node* base = base_of(input.node());
  if (is_computed(input) || (base->mark & mark::stored)) {
    ++*leaves;
  } else {
    *cost += base->mark >> cost_shift & byte_mask;
    *leaves += base->mark >> leaves_shift & byte_mask;
  }
}

// Stores those cheap survivors that would take too long to compute again, inputs first.
void store_long_recipes(Window& window) {
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & mark::survives) || (node->mark & mark::stored) || node->base) continue;
    int cost = node->op->kind == OpKind::constant ? 0 : 1, leaves = 0;
    for (const Tensor& input : node->inputs) add_recipe(input, &cost, &leaves);
    if (cost > recipe_instructions || leaves > recipe_leaves) {
      node->mark |= mark::stored;
    } else {
      node->mark |= cost << cost_shift | leaves << leaves_shift;
    }
  }
}

void mark_needed(Window& window) {
  for (Node* node = window.last(); node; node = node->previous) {
    if (node->base) continue;
    if (node->mark & mark::stored) node->mark |= mark::needed;
    if (!(node->mark & mark::needed)) continue;
    for (const Tensor& input : node->inputs) {
      if (!is_computed(input)) base_of(input.node())->mark |= mark::needed;
    }
  }
}

// Whether a value that is held, by a handle or a history, and recomputed now is kept from now on. A
// second time may be the last, for the gradient; a third suggests a loop, as over data prepared
// before it. What fits in the Storage object costs nothing to keep.
bool is_worth_keeping(const Node& node) {
  if (is_small(node)) {
    const bool is_number = node.op->kind == OpKind::constant && node.shape.empty();
    return node.times_computed >= 1 && !is_number;
  }
  const bool is_held_itself = node.references() > node.pending_uses;
  return node.times_computed >= 2 && is_held_itself && !is_made(node);
}

void store_what_returns(Window& window) {
  for (Node* node = window.first(); node; node = node->next) {
    constexpr int32_t wanted = mark::survives | mark::needed;
    if ((node->mark & (wanted | mark::stored)) != wanted || node->base) continue;
    if (is_worth_keeping(*node)) node->mark |= mark::stored;
  }
}

}  // namespace

void select(Window& window, const Tensor* tensors, size_t count) {
  ask_for(window, tensors, count);
  mark_survivors(window, Store::costly);
  store_long_recipes(window);
  mark_needed(window);
  store_what_returns(window);
}

void select_all(Window& window, const Tensor* tensors, size_t count) {
  ask_for(window, tensors, count);
  mark_survivors(window, Store::all);
  mark_needed(window);
}

void select_exactly(Window& window, const Tensor* tensors, size_t count) {
  ask_for(window, tensors, count);
  mark_survivors(window, Store::none);
  mark_needed(window);
}

void devices_with_work(Window& window, std::vector<Device*>* devices) {
  const Device* last = nullptr;
  for (Node* node = window.first(); node; node = node->next) {
    if (!(node->mark & mark::needed) || node->device == last) continue;
    last = node->device;
    if (std::find(devices->begin(), devices->end(), node->device) == devices->end()) {
      devices->push_back(node->device);
    }
  }
}

}  // namespace mt
