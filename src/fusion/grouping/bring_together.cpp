// SPDX-License-Identifier: Apache-2.0
// Keeps groups in topological order while they are formed: each comes before its readers. A path
// between two groups is then searched only among the groups between them, and bringing two together
// moves only those. (Pearce and Kelly, "A dynamic topological sort algorithm for directed acyclic
// graphs", 2006.)
#include <algorithm>

#include "fusion/grouping/grouping_state.h"

namespace mt {
namespace {

template <class F>
void for_readers(const GroupingState& state, int group, F&& f) {
  for (int i : state.group(group).items) {
    for (const Use& use : state.uses(i)) {
      int reader = state.group_of(use.consumer);
      if (reader >= 0 && reader != group) f(reader);
    }
  }
}

template <class F>
void for_producers(const GroupingState& state, int group, F&& f) {
  for (int i : state.group(group).items) {
    for (const Edge& edge : state.edges(i)) {
      int value = edge.value;
      int producer = value < 0 ? -1 : state.group_of(value);
      if (producer >= 0 && producer != group) f(producer);
    }
  }
}

// All groups reached from `start` through `neighbours` that are `inside`, without `start`.
template <class Neighbours, class Inside>
std::vector<int>& reached(GroupingState& state, std::vector<int>* found, int start,
                          Neighbours&& neighbours, Inside&& inside) {
  int search = ++state.searches;
  found->clear();
  state.visited[start] = search;
  for (size_t next = 0, group = static_cast<size_t>(start);;
       group = static_cast<size_t>((*found)[next++])) {
    neighbours(state, static_cast<int>(group), [&](int neighbour) {
      int& visited = state.visited[neighbour];
      if (visited == search || !inside(neighbour)) return;
      visited = search;
      found->push_back(neighbour);
    });
    if (next == found->size()) return *found;
  }
}

bool reads(const GroupingState& state, int reader, int group) {
  bool found = false;
  for_readers(state, group, [&](int other) { found |= other == reader; });
  return found;
}

// Groups further apart are not merged: the search would cost more than a read saves, and the
// results of either would have to wait in memory.
constexpr int farthest = 256;

}  // namespace

bool bring_together(GroupingState& state, int a, int b) {
  auto& place = state.place;
  auto at = [&](int group) -> int& { return place[group]; };
  if (at(a) > at(b)) std::swap(a, b);
  // With given parts there may be cycles, which order_groups() finds.
  bool ordered = !state.part_of;
  if (ordered && at(b) - at(a) > farthest) return false;
  auto readers = [](auto&&... arguments) { for_readers(arguments...); };
  auto producers = [](auto&&... arguments) { for_producers(arguments...); };
  auto between = [&](int group) {
    return group != a && group != b && (!ordered || (at(a) < at(group) && at(group) < at(b)));
  };
  std::vector<int>& after = reached(state, &state.after, a, readers, between);
  for (int group : after) {
    if (reads(state, b, group)) return false;
  }
  if (!ordered) {
    for (int group : reached(state, &state.before, b, readers, between)) {
      if (reads(state, a, group)) return false;
    }
    return true;
  }
  if (after.empty()) return true;
  std::vector<int>& before = reached(state, &state.before, b, producers, between);
  std::vector<int> places{at(a), at(b)};
  for (const std::vector<int>* groups : {&before, &after}) {
    for (int group : *groups) places.push_back(at(group));
  }
  auto earlier = [&](int x, int y) { return at(x) < at(y); };
  std::sort(before.begin(), before.end(), earlier);
  std::sort(after.begin(), after.end(), earlier);
  std::sort(places.begin(), places.end());
  size_t next = 0;
  for (int group : before) at(group) = places[next++];
  at(a) = places[next++];
  at(b) = places[next++];
  for (int group : after) at(group) = places[next++];
  return true;
}

}  // namespace mt
