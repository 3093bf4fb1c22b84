// SPDX-License-Identifier: Apache-2.0
// The part of the graph that one evaluation runs, as plain vectors: what is stored, the nodes to
// compute in recorded order, and the ready values they read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/node.h"

namespace mt {

class Window;

// How an item reads one of its inputs. `view` has the layout: within the read item's contiguous
// value or the leaf's storage. A leaf's own offset is part of the bound pointer.
struct Edge {
  int value;         // an item; or ~leaf
  const Node* view;  // nullptr: the whole item; the leaf's own node: the whole leaf
};

struct Item {
  Node* node;
  int first_edge;
  int edge_count;
  bool stored;
  bool releases;  // lets go of its inputs once the evaluation is done
};

// Whether the node covers all of a storage that is ours.
inline bool covers_storage(const Node& node) {
  const Storage& storage = *node.storage;
  return !storage.borrowed() && !storage.pinned() && node.offset == 0 &&
         storage.bytes() == static_cast<size_t>(node.bytes());
}
// ... and that no other node uses.
inline bool has_storage_alone(const Node& node) {
  return node.storage->references() == 1 && covers_storage(node);
}

struct Leaf {
  const Node* node;
  bool donatable;      // nobody will read its memory after this evaluation
  int successor = -1;  // the item that takes its place in lasting state, if known
  int released = 0;    // references to it that the items let go of
  int within = -1;     // the donatable leaf of which it is a view

  // Whether its memory may be overwritten once all have read it.
  bool may_vanish() const { return donatable || within >= 0; }
};

struct Region {
  Device* device = nullptr;
  std::vector<Item> items;
  std::vector<Edge> edges;
  std::vector<Leaf> leaves;

  const Item& item(int i) const { return items[i]; }
  const Leaf& leaf(int value) const { return leaves[~value]; }
  // What an edge reads: an item's node, or a leaf's.
  const Node& node_of(int value) const { return value < 0 ? *leaf(value).node : *item(value).node; }
  std::span<const Edge> edges_of(const Item& item) const {
    return {edges.data() + item.first_edge, static_cast<size_t>(item.edge_count)};
  }
  std::span<const Edge> edges_of(int i) const { return edges_of(item(i)); }
  void clear();
};

// Whether running the region may fail, so that it must overwrite nothing that has to survive a
// failure. Only a user's own function can; everything else has its memory before it begins.
bool can_fail(const Region& region);

// Who reads each item of a region, in recorded order.
struct Use {
  int consumer;
  const Edge* edge;
};
class Readers {
 public:
  explicit Readers(const Region& region);
  std::span<const Use> of(int item) const {
    size_t at = item;
    return {uses_.data() + first_[at], uses_.data() + first_[at + 1]};
  }

 private:
  std::vector<Use> uses_;
  std::vector<int> first_;  // for each item, and one past the last
};

// The layout by which an item reads its input through `edge`, in the input's own shape.
Layout edge_layout(const Region& region, const Edge& edge);

// Builds the region of one device from the nodes that selecting has marked.
void build_region(Window& window, Device& device, Region* region);

// A region's structure as words, equal exactly when the same plan serves: everything but the
// values of immediates and the addresses of memory.
void write_key(const Region& region, std::vector<uint64_t>* key);

}  // namespace mt
