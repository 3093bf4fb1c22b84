// SPDX-License-Identifier: Apache-2.0
// What an evaluation stores and what it computes for that, marked in the window's nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/window.h"

namespace mt {

// Bits of Node::mark; those above them are scratch.
namespace mark {
constexpr int32_t stored = 1, needed = 2, survives = 4, all = 7;
constexpr int bits = 3;
}  // namespace mark

// What a node is a view of, or itself.
inline Node* base_of(Node* node) { return node->base ? node->base.node() : node; }

// Ready, or a view of something ready (as traces keep them).
inline bool is_computed(const Tensor& tensor) {
  return tensor->ready() || base_of(tensor.node())->ready();
}

// Stored are: what was asked for; all state; costly values and single numbers that something still
// holds; and cheap ones whose recipe has grown long.
void select(Window& window, const Tensor* tensors, size_t count);
// Stored is everything that something still holds, but for large constants.
void select_all(Window& window, const Tensor* tensors, size_t count);
// Selects for a trace, or where memory is short: exactly what was asked for.
void select_exactly(Window& window, const Tensor* tensors, size_t count);

// After selecting: the devices that have work.
void devices_with_work(Window& window, std::vector<Device*>* devices);

}  // namespace mt
