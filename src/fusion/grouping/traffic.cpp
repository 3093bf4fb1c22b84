// SPDX-License-Identifier: Apache-2.0
#include "fusion/grouping/traffic.h"

#include <algorithm>

namespace mt {
namespace {

bool holds(const std::vector<int>& items, int i) {
  return std::binary_search(items.begin(), items.end(), i);
}

}  // namespace

bool is_written(const Region& region, const Readers& readers, const std::vector<int>& items,
                int i) {
  if (region.item(i).stored) return true;
  auto uses = readers.of(i);
  return std::any_of(uses.begin(), uses.end(),
                     [&](const Use& use) { return !holds(items, use.consumer); });
}

int64_t bytes_moved(const Region& region, const Readers& readers, const std::vector<int>& items) {
  std::vector<int> read;
  int64_t bytes = 0;
  for (int i : items) {
    const Item& item = region.item(i);
    for (const Edge& edge : region.edges_of(item)) {
      int value = edge.value;
      if (value < 0 || (!holds(items, value) && !is_inlined(region, readers, value))) {
        read.push_back(value);
      }
    }
    if (is_written(region, readers, items, i)) bytes += item.node->bytes();
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (int value : read) bytes += region.node_of(value).bytes();
  return bytes;
}

std::vector<int> members(const ItemGroup& group) {
  std::vector<int> items = group.items;
  if (group.contraction >= 0) {
    items.insert(std::lower_bound(items.begin(), items.end(), group.contraction),
                 group.contraction);
  }
  return items;
}

int64_t bytes_of_groups(const Region& region, const Grouping& grouping) {
  const Readers readers(region);
  int64_t bytes = 0;
  for (const ItemGroup& group : grouping.groups)
    bytes += bytes_moved(region, readers, members(group));
  return bytes;
}

int64_t bytes_one_by_one(const Region& region) {
  const Readers readers(region);
  int64_t bytes = 0;
  for (const Item& item : region.items) {
    if (item.node->op->kind == OpKind::constant) continue;
    bytes += item.node->bytes();
    for (const Edge& edge : region.edges_of(item)) {
      const int value = edge.value;
      if (value < 0 || !is_inlined(region, readers, value)) bytes += region.node_of(value).bytes();
    }
  }
  return bytes;
}

}  // namespace mt
