// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/planner.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "backends/backend.h"
#include "fusion/planning/duplicate_producers.h"
#include "fusion/planning/lowering.h"
#include "fusion/planning/merge_alike.h"
#include "fusion/planning/place_buffers.h"
#include "fusion/planning/registers.h"
#include "fusion/planning/rematerialize.h"
#include "fusion/planning/share_reductions.h"
#include "fusion/planning/trim.h"
#include "fusion/profile.h"
#include "ops/gather.h"
#include "ops/slice.h"

namespace mt {
namespace {

// Memory must shrink to this share to be worth computing values twice.
constexpr double worthwhile = 0.9;

// Add buffers to the plan for a region's leaves, and for one of its items.
BufferOf add_leaves(const Region& region, Plan* plan) {
  BufferOf buffers;
  for (const Leaf& leaf : region.leaves) {
    const int l = static_cast<int>(buffers.size());
    buffers.push_back(l);
    plan->buffers.push_back({BufferKind::leaf, l, leaf.node->bytes()});
    plan->buffers.back().within = leaf.within;
  }
  return buffers;
}
int add_item(const Region& region, int i, Plan* plan) {
  const Item& item = region.item(i);
  plan->buffers.push_back(
      {item.stored ? BufferKind::output : BufferKind::arena, i, item.node->bytes()});
  return static_cast<int>(plan->buffers.size()) - 1;
}

class Planner {
 public:
  Planner(const Region& region, const Grouping& grouping)
      : region_(region), grouping_(grouping), buffer_of_item_(region.items.size(), -1) {
    buffer_of_leaf_ = add_leaves(region, &plan_);
    find_last_uses();
    std::vector<int> over(region.items.size(), -1);  // the item that overwrites each item's value
    for (int i = 0; i < static_cast<int>(region.items.size()); ++i) {
      const std::optional<int> before = replaced(i);
      if (before && *before >= 0 && may_be_written_over(*before, i)) over[*before] = i;
    }
    for (int i = 0; i < static_cast<int>(region.items.size()); ++i) {
      if (over[i] < 0 && needs_memory(i)) buffer_of_item_[i] = add_item(region, i, &plan_);
    }
    for (int i = static_cast<int>(region.items.size()) - 1; i >= 0; --i) {
      if (over[i] >= 0) buffer_of_item_[i] = buffer_of_item_[over[i]];
    }
  }

  Plan run() {
    plan_.groups.reserve(grouping_.groups.size());
    for (size_t g = 0; g < grouping_.groups.size(); ++g) add(static_cast<int>(g));
    for (Buffer& buffer : plan_.buffers) {
      if (buffer.within >= 0) buffer.replaced = plan_.buffers[buffer.within].replaced;
    }
    return std::move(plan_);
  }

 private:
  const Node& node(int i) const { return *region_.item(i).node; }
  int group_of(int i) const { return grouping_.group_of[i]; }

  void find_last_uses() {
    last_use_.assign(region_.leaves.size(), -1);
    read_outside_.assign(region_.items.size(), false);
    last_read_.assign(region_.items.size(), -1);
    for (int i = 0; i < static_cast<int>(region_.items.size()); ++i) {
      const int group = group_of(i);
      for (const Edge& edge : region_.edges_of(i)) {
        if (edge.value < 0) {
          int& last = last_use_[~edge.value];
          last = std::max(last, group);
          continue;
        }
        // Padding may be made where it is read, later than its group comes.
        const bool later = node(i).op == &pad_op && grouping_.groups[group].kind == GroupKind::call;
        last_read_[edge.value] = std::max(last_read_[edge.value], later ? endless : group);
        if (group_of(edge.value) != group) read_outside_[edge.value] = true;
      }
    }
    last_use_of_views_.assign(region_.leaves.size(), -1);
    for (size_t l = 0; l < region_.leaves.size(); ++l) {
      if (region_.leaves[l].within < 0) continue;
      int& last = last_use_of_views_[region_.leaves[l].within];
      last = std::max(last, last_use_[l]);
    }
  }

  // The value (an item or ~leaf) that item i equals but for some elements, if i may overwrite it.
  std::optional<int> replaced(int i) const {
    const Op* op = node(i).op;
    if ((op != &overlay_op && op != &put_rows_op) || group_of(i) < 0) return std::nullopt;
    const auto edges = region_.edges_of(i);
    const Layout layout = edge_layout(region_, edges[0]);
    const bool whole = layout.offset == 0 && is_contiguous(layout) &&
                       region_.node_of(edges[0].value).bytes() == node(i).bytes();
    const auto reads = std::count_if(
        edges.begin(), edges.end(), [&](const Edge& edge) { return edge.value == edges[0].value; });
    if (!whole || reads > 1) return std::nullopt;
    return edges[0].value;
  }
  // Whether nobody reads item i after the group that `by` is.
  bool may_be_written_over(int i, int by) const {
    return last_read_[i] == group_of(by) && !region_.item(i).stored && needs_memory(i) &&
           grouping_.groups[group_of(i)].contraction != i;
  }

  bool needs_memory(int i) const {
    const int g = group_of(i);
    if (g < 0) return false;
    const ItemGroup& group = grouping_.groups[g];
    return region_.item(i).stored || read_outside_[i] || group.contraction == i ||
           group.kind == GroupKind::contract || group.kind == GroupKind::call ||
           grouping_.total[i] || (group.kind == GroupKind::reduce && group.items.back() == i);
  }

  void add(int g) {
    const ItemGroup& group = grouping_.groups[g];
    if (group.kind == GroupKind::contract) {
      add(contraction(group.items[0]), group.items);
      return;
    }
    if (group.kind == GroupKind::call) {
      donate_whole(g, group.items[0]);
      add(lower_call(region_, group.items[0], buffer_of_leaf_, buffer_of_item_), group.items);
      return;
    }
    Group lowered = lower(region_, grouping_, group, buffer_of_leaf_, buffer_of_item_);
    FusedProgram* fused = fused_program(lowered);
    if (group.kind != GroupKind::reduce) donate(g, fused);
    if (group.contraction >= 0) share_with_epilogue(group.contraction, fused);
    place_values(&fused->program, fused->segments[0]);
    if (group.contraction < 0) {
      plan_.groups.push_back(std::move(lowered));
      return;
    }
    ContractGroup whole = contraction(group.contraction);
    whole.epilogue = std::move(*fused);
    whole.passes = passes(group.contraction);
    std::vector<int> items{group.contraction};
    items.insert(items.end(), group.items.begin(), group.items.end());
    add(std::move(whole), std::move(items));
  }

  // Whether a contraction's result has a buffer of its own that only its epilogue reads.
  bool passes(int z) const {
    const Buffer& buffer = plan_.buffers[buffer_of_item_[z]];
    return buffer.kind == BufferKind::arena && buffer.index == z && !read_outside_[z];
  }

  template <class Work>
  void add(Work&& work, std::vector<int> items) {
    plan_.groups.push_back({std::forward<Work>(work), std::move(items)});
  }
  ContractGroup contraction(int item) const {
    return lower_contraction(region_, item, buffer_of_leaf_, buffer_of_item_);
  }

  // The only load of `buffer` in the group, if it is one and reads element for element.
  static int single_load(const Segment& segment, int buffer) {
    int found = -1;
    for (size_t m = 0; m < segment.memory.size(); ++m) {
      const Memory& memory = segment.memory[m];
      if (memory.buffer != buffer) continue;
      if (found >= 0 || !memory.contiguous || memory.row || memory.layout.offset != 0) return -1;
      found = static_cast<int>(m);
    }
    return found;
  }

  bool is_spare(int leaf, int g, const Buffer& output) const {
    const Node& node = *region_.leaves[leaf].node;
    return region_.leaves[leaf].donatable && last_use_[leaf] == g && last_use_of_views_[leaf] < g &&
           !plan_.buffers[buffer_of_leaf_[leaf]].replaced &&
           node.storage->bytes() == static_cast<size_t>(output.bytes) &&
           node.bytes() == output.bytes;
  }
  void take_over(int leaf, Buffer* output) {
    output->donor = leaf;
    plan_.buffers[buffer_of_leaf_[leaf]].replaced = true;
  }
  // Lets a call that replaces part of a leaf take over the leaf's memory.
  void donate_whole(int g, int item) {
    Buffer& output = plan_.buffers[buffer_of_item_[item]];
    const std::optional<int> before = replaced(item);
    if (!before || *before >= 0 || output.kind != BufferKind::output || output.donor >= 0) return;
    if (is_spare(~*before, g, output)) take_over(~*before, &output);
  }

  // Lets outputs take over the memory of leaves that nobody reads after this group: first of the
  // leaves that they replace, so that state stays where it is from run to run.
  void donate(int g, FusedProgram* fused) {
    std::vector<int> leaves;  // that the group reads, in order
    for (const Memory& memory : fused->segments[0].memory) {
      if (memory.buffer < 0 || plan_.buffers[memory.buffer].kind != BufferKind::leaf) continue;
      leaves.push_back(plan_.buffers[memory.buffer].index);
    }
    std::sort(leaves.begin(), leaves.end());
    donate(g, fused, leaves, [](const Leaf& leaf, int item) { return leaf.successor == item; });
    donate(g, fused, leaves, [](const Leaf&, int) { return true; });
  }

  template <class Suits>
  void donate(int g, FusedProgram* fused, const std::vector<int>& leaves, Suits suits) {
    Segment& segment = fused->segments[0];
    for (size_t s = 0; s < segment.memory.size(); ++s) {
      const Memory& store = segment.memory[s];
      if (store.row || store.buffer < 0 || !is_stored_to(fused->program, s)) continue;
      Buffer& output = plan_.buffers[store.buffer];
      if (output.kind != BufferKind::output || output.donor >= 0) continue;
      for (int l : leaves) {
        if (!suits(region_.leaves[l], output.index) || !is_spare(l, g, output) || is_factor(g, l) ||
            size_of(region_.leaves[l].node->dtype) != size_of(store.dtype)) {
          continue;
        }
        int load = single_load(segment, buffer_of_leaf_[l]);
        if (load < 0 || !may_alias(fused->program, static_cast<int>(s), load)) continue;
        take_over(l, &output);
        break;
      }
    }
  }

  // Whether the group's contraction reads the leaf, which its epilogue must then not overwrite.
  bool is_factor(int g, int leaf) const {
    int z = grouping_.groups[g].contraction;
    if (z < 0) return false;
    auto edges = region_.edges_of(z);
    return std::any_of(edges.begin(), edges.end(),
                       [&](const Edge& edge) { return edge.value == ~leaf; });
  }

  // Lets the contraction write where its epilogue will store, if nothing else needs its value and
  // no leaf's value is there.
  void share_with_epilogue(int z, FusedProgram* epilogue) {
    if (region_.item(z).stored) return;
    Segment& segment = epilogue->segments[0];
    int from = buffer_of_item_[z];
    int load = single_load(segment, from);
    if (load < 0) return;
    for (size_t s = 0; s < segment.memory.size(); ++s) {
      const Memory& store = segment.memory[s];
      if (store.row || !is_stored_to(epilogue->program, s) ||
          plan_.buffers[store.buffer].donor >= 0 ||
          size_of(store.dtype) != size_of(node(z).dtype) ||
          !may_alias(epilogue->program, static_cast<int>(s), load)) {
        continue;
      }
      plan_.buffers[from].bytes = 0;  // never used
      segment.memory[load].buffer = store.buffer;
      buffer_of_item_[z] = store.buffer;
      return;
    }
  }

  const Region& region_;
  const Grouping& grouping_;
  BufferOf buffer_of_leaf_, buffer_of_item_;
  static constexpr int endless = std::numeric_limits<int>::max();
  std::vector<int> last_use_;           // the last group that reads each leaf
  std::vector<int> last_use_of_views_;  // ... or views of it, which are leaves themselves
  std::vector<int> last_read_;          // the last group that reads each item
  std::vector<bool> read_outside_;      // items read by a group other than their own
  Plan plan_;
};

// On a device that does not fuse, every item runs by itself.
Plan plan_alone(const Region& region) {
  Plan plan;
  const BufferOf leaves = add_leaves(region, &plan);
  BufferOf items;
  for (size_t i = 0; i < region.items.size(); ++i) {
    items.push_back(add_item(region, static_cast<int>(i), &plan));
  }
  for (size_t i = 0; i < region.items.size(); ++i) {
    const int item = static_cast<int>(i);
    plan.groups.push_back({lower_call(region, item, leaves, items), {item}});
  }
  place_buffers(&plan, region.device->backend->most_padding_made());
  return plan;
}

// Makes a plan for rewritten items refer to the original items that they stand for.
void rename_items(const std::vector<int>& original, Plan* plan) {
  auto rename = [&](int& item) {
    if (item >= 0) item = original[item];
  };
  for (Buffer& buffer : plan->buffers) {
    if (buffer.kind != BufferKind::leaf) rename(buffer.index);
  }
  for (Group& group : plan->groups) {
    for (int& item : group.items) rename(item);
    if (auto* call = std::get_if<CallGroup>(&group.work)) rename(call->immediate);
    FusedProgram* fused = fused_program(group);
    if (!fused) continue;
    for (Segment& segment : fused->segments) {
      for (int& item : segment.constants) rename(item);
    }
  }
}

}  // namespace

Plan plan_of(const Region& region, const Grouping& grouping) {
  Plan plan = Planner(region, grouping).run();
  merge_alike(&plan);
  place_buffers(&plan, region.device->backend->most_padding_made());
  return plan;
}

Arrangement plan_region(const Region& given, Plan* plan) {
  if (!given.device->fuses) {
    *plan = plan_alone(given);
    return one_by_one(given);
  }
  const std::optional<Arrangement> shared = with_shared_reductions(given);
  const Region& once = shared ? shared->region : given;
  std::optional<Trimmed> less = trimmed(once);
  const Region& region = less ? less->region : once;
  Grouping grouping = group_items(region);
  std::optional<Arrangement> duplicated = with_duplicate_producers(region, grouping);
  Arrangement result = duplicated ? std::move(*duplicated) : as_it_is(region, std::move(grouping));
  *plan = plan_of(result.region, result.grouping);
  if (std::optional<Arrangement> again = rematerialized(result.region, result.grouping, *plan)) {
    Plan smaller = plan_of(again->region, again->grouping);
    if (smaller.arena_bytes <= plan->arena_bytes * worthwhile) {
      for (int& i : again->original) i = result.original[i];
      result = std::move(*again);
      *plan = std::move(smaller);
    }
  }
  if (shared) {
    for (int& i : result.original) i = shared->original[i];
  }
  rename_items(result.original, plan);
  if (less) result.nodes = std::move(less->nodes);
  return result;
}

Arrangement make_plan(const Region& region, Plan* plan) {
  const Measured measured("planning");
  Arrangement result = plan_region(region, plan);
  region.device->backend->prepare(plan);
  return result;
}

}  // namespace mt
