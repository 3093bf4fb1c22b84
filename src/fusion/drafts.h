// SPDX-License-Identifier: Apache-2.0
// Groups while they are being formed: what belongs to which so far, and the steps that grow them.
// Each step that succeeds leaves groups that can run.
#pragma once

#include <span>
#include <vector>

#include "fusion/grouping.h"

namespace mt {

struct Use {
  int consumer;
  const Edge* edge;
};

class Drafts {
 public:
  explicit Drafts(const Region& region);

  const Region& region;
  Grouping grouping;

  int count() const { return static_cast<int>(region.items.size()); }
  const Item& item(int i) const { return region.items[static_cast<size_t>(i)]; }
  const Node& node(int i) const { return *item(i).node; }
  int64_t size(int i) const { return element_count(node(i).shape); }
  const Edge* edges(int i) const { return region.edges_of(item(i)); }
  // Who reads item i, in recorded order.
  std::span<const Use> uses(int i) const {
    size_t at = static_cast<size_t>(i);
    return {uses_.data() + first_use_[at], uses_.data() + first_use_[at + 1]};
  }

  Draft& draft(int group) { return grouping.drafts[static_cast<size_t>(group)]; }
  const Draft& draft(int group) const { return grouping.drafts[static_cast<size_t>(group)]; }
  int& group_of(int i) { return grouping.group_of[static_cast<size_t>(i)]; }
  int group_of(int i) const { return grouping.group_of[static_cast<size_t>(i)]; }
  bool is_row(int i) const { return grouping.row_valued[static_cast<size_t>(i)]; }
  void make_row(int i) { grouping.row_valued[static_cast<size_t>(i)] = true; }

 private:
  std::vector<Use> uses_;
  std::vector<size_t> first_use_;  // for each item, and one past the last
};

// A group of item i alone.
void start_group(Drafts& drafts, int i);

// Item i becomes part of the group of its consumers, all of which are in `group`. Returns why not,
// or nullptr when it has.
const char* join_group(Drafts& drafts, int i, int group);

// Makes groups a and b one, if they may be and are not.
bool merge_groups(Drafts& drafts, int a, int b);

// Contractions whose consumers all lie in one element-wise or row group take it as epilogue.
void attach_epilogues(Drafts& drafts);

// Puts items in recorded order within groups, and groups in an order in which they can run.
void order_groups(Drafts& drafts);

// Turns an element-wise group into one of rows of `columns` elements.
bool split_rows(Draft* group, int64_t columns);

constexpr size_t most_items = 64;  // in one group

}  // namespace mt
