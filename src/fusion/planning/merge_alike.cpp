// SPDX-License-Identifier: Apache-2.0
// Fusion across the graph: many small groups with one program become one group.
#include "fusion/planning/merge_alike.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

namespace mt {
namespace {

constexpr int endless = std::numeric_limits<int>::max();

bool alike(const MapGroup& a, const MapGroup& b) {
  if (a.program.instructions != b.program.instructions || a.program.once != b.program.once) {
    return false;
  }
  const Segment &x = a.segments[0], &y = b.segments[0];
  if (x.memory.size() != y.memory.size() || x.constants.size() != y.constants.size()) return false;
  for (size_t m = 0; m < x.memory.size(); ++m) {
    if (x.memory[m].dtype != y.memory[m].dtype || x.memory[m].row != y.memory[m].row ||
        x.memory[m].contiguous != y.memory[m].contiguous ||
        x.memory[m].is_padded() != y.memory[m].is_padded()) {
      return false;
    }
  }
  return true;
}

// Equal for groups that are alike.
size_t hash_of(const MapGroup& group) {
  size_t hash = group.program.instructions.size();
  for (const Instruction& i : group.program.instructions) {
    hash = hash * 31 + (static_cast<size_t>(i.code) << 8 | i.detail);
  }
  return hash;
}

// For each group the next one alike, or `endless`.
std::vector<int> find_next_alike(const Plan& plan) {
  std::vector<int> next(plan.groups.size(), endless);
  std::unordered_multimap<size_t, int> first_of_kind;  // of the groups after this one
  for (int g = static_cast<int>(plan.groups.size()) - 1; g >= 0; --g) {
    const auto* group = std::get_if<MapGroup>(&plan.groups[g].work);
    if (!group) continue;
    const size_t hash = hash_of(*group);
    auto [begin, end] = first_of_kind.equal_range(hash);
    const auto found = std::find_if(begin, end, [&](const auto& kind) {
      return alike(*group, std::get<MapGroup>(plan.groups[kind.second].work));
    });
    if (found == end) {
      first_of_kind.emplace(hash, g);
    } else {
      next[g] = std::exchange(found->second, g);
    }
  }
  return next;
}

// Before which groups the work of each must stay: those that read what it writes, or write over
// what it reads.
class Bounds {
 public:
  explicit Bounds(const Plan& plan)
      : bound_(plan.groups.size(), endless),
        reads_(plan.groups.size()),
        writes_(plan.groups.size()),
        readers_(plan.buffers.size()),
        writers_(plan.buffers.size()) {
    for (int g = 0; g < static_cast<int>(plan.groups.size()); ++g) {
      buffers_read(plan.groups[g], &reads_[g]);
      buffers_written(plan.groups[g], &writes_[g]);
      for (int buffer : reads_[g]) readers_[buffer].push_back(g);
      for (int buffer : writes_[g]) {
        writers_[buffer].push_back(g);
        // Leaves, whose memory an output takes over, are the first buffers.
        if (const int donor = plan.buffers[buffer].donor; donor >= 0) writers_[donor].push_back(g);
      }
    }
    for (size_t buffer = 0; buffer < plan.buffers.size(); ++buffer) {
      const int within = plan.buffers[buffer].within;
      if (within >= 0) writers_[buffer] = writers_[within];
    }
  }

  // The first group that all that is in group g must stay before. To be called for one group after
  // the other, when what has moved past g has nothing to do with it.
  int of(int g) {
    for (int buffer : writes_[g]) bound(g, readers_[buffer]);
    for (int buffer : reads_[g]) bound(g, writers_[buffer]);
    return bound_[g];
  }

  // Moves all that is in group g to a later one.
  void move(int g, int later) { bound_[later] = std::min(bound_[later], bound_[g]); }

 private:
  void bound(int g, const std::vector<int>& others) {
    const auto next = std::upper_bound(others.begin(), others.end(), g);
    if (next != others.end()) bound_[g] = std::min(bound_[g], *next);
  }

  std::vector<int> bound_;
  std::vector<std::vector<int>> reads_, writes_;     // of each group, the buffers
  std::vector<std::vector<int>> readers_, writers_;  // of each buffer, the groups
};

template <class T>
void prepend(std::vector<T>* to, std::vector<T>* from) {
  from->insert(from->end(), std::make_move_iterator(to->begin()),
               std::make_move_iterator(to->end()));
  to->swap(*from);
  from->clear();
}

}  // namespace

void merge_alike(Plan* plan) {
  std::vector<Group>& groups = plan->groups;
  const std::vector<int> next = find_next_alike(*plan);
  Bounds bounds(*plan);
  std::vector<Group> kept;
  for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
    // Into the next group alike, unless something before that must stay behind this one.
    if (next[g] == endless || bounds.of(g) <= next[g]) {
      kept.push_back(std::move(groups[g]));
      continue;
    }
    Group& target = groups[next[g]];
    prepend(&std::get<MapGroup>(target.work).segments,
            &std::get<MapGroup>(groups[g].work).segments);
    prepend(&target.items, &groups[g].items);
    bounds.move(g, next[g]);
  }
  groups = std::move(kept);
}

}  // namespace mt
