// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/rematerialize.h"

#include <algorithm>

namespace mt {
namespace {

// Planning again must pay off: only for plans larger than the caches, and only for values large
// enough to matter.
constexpr int64_t large_plan = 32 << 20, least_bytes = 256 << 10;
constexpr int longest_chain = 4;  // of operators that are computed again for one value

bool is_computed_again(const Op& op) {
  return op.kind == OpKind::elementwise || op.kind == OpKind::select || op.kind == OpKind::cast;
}

class PeakSearch {
 public:
  PeakSearch(const Region& region, const Grouping& grouping, const Plan& plan)
      : region_(region),
        grouping_(grouping),
        readers_(region),
        last_(region.items.size(), -1),
        before_(region.items.size(), -1) {
    std::vector<int64_t> taken(grouping.groups.size());
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.kind != BufferKind::arena || buffer.bytes == 0) continue;
      int& last = last_[buffer.index];
      last = group_of(buffer.index);
      for (const Use& use : readers_.of(buffer.index))
        last = std::max(last, group_of(use.consumer));
      for (int group = group_of(buffer.index); group <= last; ++group) {
        taken[group] += buffer.bytes;
      }
    }
    peak_ = static_cast<int>(std::max_element(taken.begin(), taken.end()) - taken.begin());
    for (size_t i = 0; i < region.items.size(); ++i) before_[i] = again_before(int(i));
  }

  bool any() const {
    return std::any_of(before_.begin(), before_.end(), [](int group) { return group >= 0; });
  }

  Arrangement rewritten() {
    result_ = without_items(region_);
    const size_t items = region_.items.size();
    renamed_.assign(items, -1);
    std::vector<int> late(items, -1);
    std::vector<std::vector<ItemGroup>> before(grouping_.groups.size());  // each group
    for (int i = 0; i < static_cast<int>(items); ++i) {
      for (const Edge& edge : region_.edges_of(i)) {
        const int value = edge.value;
        if (!is_late(i, value) || late[value] >= 0) continue;
        ItemGroup group{GroupKind::map, item(value).node->shape, {}, {}, {}, {}};
        late[value] = add_again(value, &group);
        before[before_[value]].push_back(group);
      }
      auto new_or_before = [&](int value, int) {
        return (is_late(i, value) ? late : renamed_)[value];
      };
      renamed_[i] = add_copy(region_, i, new_or_before, &result_);
    }
    rename_successors(renamed_, &result_.region);
    arrange(before);
    return std::move(result_);
  }

 private:
  const Item& item(int i) const { return region_.item(i); }
  int group_of(int i) const { return grouping_.group_of[i]; }

  // The group after the peak before which to recompute item i, or -1: the first one that reads it,
  // or an earlier one if its operands do not stay in memory that long.
  int again_before(int i) const {
    const int last = last_[i];
    if (last <= peak_ || group_of(i) >= peak_ || item(i).node->bytes() < least_bytes) return -1;
    int first = last;
    for (const Use& use : readers_.of(i)) {
      const int group = group_of(use.consumer);
      if (group == peak_) return -1;
      if (group > peak_) first = std::min(first, group);
    }
    first = std::min(first, possible_until(i, longest_chain));
    return first > peak_ ? first : -1;
  }

  // The last group before which item i can be recomputed from what is in memory, or -1.
  int possible_until(int i, int chain) const {
    if (chain == 0 || !is_computed_again(*item(i).node->op)) return -1;
    int result = static_cast<int>(grouping_.groups.size());
    for (const Edge& edge : region_.edges_of(i)) {
      int until = stays_until(i, edge.value);
      if (until <= peak_ && is_part(i, edge)) until = possible_until(edge.value, chain - 1);
      result = std::min(result, until);
    }
    return result;
  }
  // The last group during which `value`, which item i reads, is in memory.
  int stays_until(int i, int value) const {
    const int end = static_cast<int>(grouping_.groups.size());
    if (region_.node_of(value).bytes() * small_share <= item(i).node->bytes()) return end;
    if (value < 0) return region_.leaf(value).may_vanish() ? -1 : end;
    if (group_of(value) < 0 || item(value).stored) return end;
    return before_[value] < 0 ? last_[value] : -1;
  }
  // Whether what an edge of item i reads can be recomputed along with i, element by element.
  bool is_part(int i, const Edge& edge) const {
    return edge.value >= 0 && edge.view == nullptr &&
           item(edge.value).node->shape == item(i).node->shape;
  }

  bool is_late(int reader, int value) const {
    return value >= 0 && before_[value] >= 0 && group_of(reader) > peak_;
  }

  // Adds copies of item i and of those of its operands that do not stay in memory.
  int add_again(int i, ItemGroup* group) {
    int made[3] = {-1, -1, -1};
    int* next = made;
    for (const Edge& edge : region_.edges_of(i)) {
      if (stays_until(i, edge.value) <= peak_) *next = add_again(edge.value, group);
      ++next;
    }
    auto made_or_before = [&](int value, int edge) {
      return made[edge] >= 0 ? made[edge] : renamed_[value];
    };
    const int added = add_copy(region_, i, made_or_before, &result_);
    result_.region.items.back().releases = false;
    group->items.push_back(added);
    return added;
  }

  // The groups as they were, and the new ones before those that read them.
  void arrange(const std::vector<std::vector<ItemGroup>>& before) {
    const size_t items = result_.region.items.size();
    Grouping& grouping = result_.grouping;
    grouping.group_of.assign(items, -1);
    grouping.row_valued.assign(items, false);
    grouping.total.assign(items, false);
    grouping.refusal.assign(items, nullptr);
    for (size_t i = 0; i < renamed_.size(); ++i) {
      const size_t to = renamed_[i];
      grouping.row_valued[to] = grouping_.row_valued[i];
      grouping.total[to] = grouping_.total[i];
      grouping.refusal[to] = grouping_.refusal[i];
    }
    auto push = [&](ItemGroup group) {
      for (int i : group.items) {
        grouping.group_of[i] = static_cast<int>(grouping.groups.size());
      }
      if (group.contraction >= 0) {
        grouping.group_of[group.contraction] = static_cast<int>(grouping.groups.size());
      }
      grouping.groups.push_back(std::move(group));
    };
    for (size_t g = 0; g < before.size(); ++g) {
      for (const ItemGroup& group : before[g]) push(group);
      ItemGroup group = grouping_.groups[g];
      for (int& i : group.items) i = renamed_[i];
      if (group.contraction >= 0) {
        group.contraction = renamed_[group.contraction];
      }
      push(std::move(group));
    }
  }

  const Region& region_;
  const Grouping& grouping_;
  const Readers readers_;
  std::vector<int> last_;    // for each item in working memory, the last group that reads it
  std::vector<int> before_;  // for each recomputed item, the group before which it is made; else -1
  int peak_ = 0;             // the group that runs while most memory is taken
  Arrangement result_;
  std::vector<int> renamed_;  // for each item, its index in the result
};

}  // namespace

std::optional<Arrangement> rematerialized(const Region& region, const Grouping& grouping,
                                          const Plan& plan) {
  if (plan.arena_bytes < large_plan) return std::nullopt;
  PeakSearch search(region, grouping, plan);
  return search.any() ? std::optional(search.rewritten()) : std::nullopt;
}

}  // namespace mt
