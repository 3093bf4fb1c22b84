// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/duplicate_producers.h"

#include <algorithm>

namespace mt {
namespace {

constexpr int64_t least_bytes = 16 << 10;  // smaller values are not worth planning twice

bool is_cheap_and_large(const Item& item) {
  const Op& op = *item.node->op;
  if (item.stored || item.node->bytes() < least_bytes) return false;
  return op.kind == OpKind::cast ||
         (op.kind == OpKind::elementwise &&
          info(static_cast<Elementwise>(op.code)).domain == Domain::number);
}

class Search {
 public:
  Search(const Region& region, const Grouping& grouping)
      : region_(region), grouping_(grouping), readers_(region) {}

  // Whether item i should be recomputed in each other group that reads it; `candidates` has the
  // answers for the items before it.
  bool is_candidate(int i, const std::vector<char>& candidates) const {
    if (!is_cheap_and_large(item(i)) || group_of(i) < 0) return false;
    int last = -1;
    for (const Use& use : readers_.of(i)) {
      if (group_of(use.consumer) == group_of(i)) continue;
      const Op& reader = *item(use.consumer).node->op;
      if (reader.kind != OpKind::reduce && !is_pointwise(reader)) return false;
      last = std::max(last, group_of(use.consumer));
    }
    return last >= 0 && is_made_of_what_stays(i, last, candidates);
  }

  // A copy of the region in which each group computes the candidates that it reads.
  Arrangement rewritten(const std::vector<char>& candidates) const {
    Arrangement result = without_items(region_);
    std::vector<int> renamed(region_.items.size(), -1);
    std::vector<std::pair<int, int>> clone(region_.items.size(), {-1, -1});  // latest: group, item
    auto as_before = [&](int value, int) { return renamed[value]; };
    for (int i = 0; i < static_cast<int>(region_.items.size()); ++i) {
      if (candidates[i] && !is_read_in_its_group(i)) continue;
      for (const Edge& edge : region_.edges_of(i)) {
        int value = edge.value;
        if (value < 0 || !candidates[value]) continue;
        auto& known = clone[value];
        if (group_of(value) == group_of(i) || known.first == group_of(i)) continue;
        known = {group_of(i), add_copy(region_, value, as_before, &result)};
        result.region.items.back().releases = false;
      }
      auto own_or_before = [&](int value, int) {
        const auto& own = clone[value];
        bool again = candidates[value] && group_of(value) != group_of(i);
        return again ? own.second : renamed[value];
      };
      renamed[i] = add_copy(region_, i, own_or_before, &result);
    }
    rename_successors(renamed, &result.region);
    return result;
  }

 private:
  const Item& item(int i) const { return region_.item(i); }
  int group_of(int i) const { return grouping_.group_of[i]; }

  bool is_read_in_its_group(int i) const {
    const auto uses = readers_.of(i);
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& use) { return group_of(use.consumer) == group_of(i); });
  }
  // Whether at most one of the item's operands is large, and that one is in memory until group
  // `last` anyway.
  bool is_made_of_what_stays(int i, int last, const std::vector<char>& candidates) const {
    const int64_t bytes = item(i).node->bytes();
    int large = 0;
    for (const Edge& edge : region_.edges_of(i)) {
      int value = edge.value;
      if (region_.node_of(value).bytes() * small_share <= bytes) continue;
      bool made_again = value >= 0 && candidates[value];
      if (++large > 1 || made_again || !stays(value, i, last)) return false;
    }
    return true;
  }
  bool stays(int value, int reader, int last) const {
    if (value < 0) return !region_.leaf(value).may_vanish();
    if (group_of(value) < 0) return false;
    auto uses = readers_.of(value);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
      int group = group_of(use.consumer);
      return use.consumer != reader && group >= last && group != group_of(value);
    });
  }

  const Region& region_;
  const Grouping& grouping_;
  Readers readers_;
};

// Whether every copy of an item is in the same group as its readers.
bool is_as_meant(const Arrangement& arrangement, size_t items) {
  Readers readers(arrangement.region);
  std::vector<int> last(items, -1);  // the latest so far; an original comes before its copies
  for (size_t i = 0; i < arrangement.original.size(); ++i) {
    int& before = last[arrangement.original[i]];
    bool again = before >= 0;
    before = static_cast<int>(i);
    if (!again) continue;
    for (const Use& use : readers.of(static_cast<int>(i))) {
      if (arrangement.grouping.group_of[use.consumer] != arrangement.grouping.group_of[i]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<Arrangement> with_duplicate_producers(const Region& region,
                                                    const Grouping& grouping) {
  if (std::none_of(region.items.begin(), region.items.end(), is_cheap_and_large))
    return std::nullopt;
  Search search(region, grouping);
  std::vector<char> candidates(region.items.size(), false);
  bool any = false;
  for (size_t i = 0; i < region.items.size(); ++i) {
    candidates[i] = search.is_candidate(static_cast<int>(i), candidates);
    any |= candidates[i] != 0;
  }
  if (!any) return std::nullopt;
  Arrangement result = search.rewritten(candidates);
  result.grouping = group_items(result.region);
  bool better = result.grouping.groups.size() <= grouping.groups.size() &&
                is_as_meant(result, region.items.size());
  return better ? std::optional(std::move(result)) : std::nullopt;
}

}  // namespace mt
