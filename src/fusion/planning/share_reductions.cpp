// SPDX-License-Identifier: Apache-2.0
#include "fusion/planning/share_reductions.h"

#include <algorithm>
#include <map>

namespace mt {
namespace {

bool is_equal(const Layout& x, const Layout& y) {
  return x.shape == y.shape && x.strides == y.strides && x.offset == y.offset;
}
// Whether two reductions of the same value are equal.
bool is_equal(const Region& region, int i, int j) {
  const Node &a = *region.item(i).node, &b = *region.item(j).node;
  return a.op == b.op && a.dtype == b.dtype && a.attributes == b.attributes &&
         is_equal(edge_layout(region, region.edges_of(i)[0]),
                  edge_layout(region, region.edges_of(j)[0]));
}

// Whether any two reductions read the same value, in whatever way.
bool any_read_the_same(const Region& region) {
  std::vector<int> read;
  for (const Item& item : region.items) {
    if (item.node->op->kind == OpKind::reduce) read.push_back(region.edges_of(item)[0].value);
  }
  std::sort(read.begin(), read.end());
  return std::adjacent_find(read.begin(), read.end()) != read.end();
}

// For each item, the first that equals it, mostly itself. Stored items always stay.
std::vector<int> first_equals(const Region& region) {
  std::vector<int> first(region.items.size());
  std::multimap<int, int> reductions;  // by what they read
  for (int i = 0; i < static_cast<int>(region.items.size()); ++i) {
    first[i] = i;
    const Item& item = region.item(i);
    if (item.node->op->kind != OpKind::reduce) continue;
    const int value = region.edges_of(i)[0].value;
    const int reads = value < 0 ? value : first[value];
    const auto [begin, end] = reductions.equal_range(reads);
    const auto equal = std::find_if(
        begin, end, [&](const auto& other) { return is_equal(region, other.second, i); });
    if (equal == end) {
      reductions.emplace(reads, i);
    } else if (!item.stored) {
      first[i] = equal->second;
    }
  }
  return first;
}

}  // namespace

std::optional<Arrangement> with_shared_reductions(const Region& region) {
  if (!any_read_the_same(region)) return std::nullopt;
  const std::vector<int> first = first_equals(region);
  const int items = static_cast<int>(first.size());
  int same = 0;
  while (same < items && first[same] == same) ++same;
  if (same == items) return std::nullopt;
  Arrangement result = without_items(region);
  std::vector<int> renamed(first.size());
  for (int i = 0; i < items; ++i) {
    const auto value_of = [&](int value, int) { return renamed[value]; };
    renamed[i] = first[i] == i ? add_copy(region, i, value_of, &result) : renamed[first[i]];
  }
  rename_successors(renamed, &result.region);
  return result;
}

}  // namespace mt
