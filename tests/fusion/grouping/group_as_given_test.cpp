// SPDX-License-Identifier: Apache-2.0
// Whatever may run together gives the same bits when it does, not only what the greedy search
// happens to put together.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/backend.h"
#include "fusion/execute.h"
#include "fusion/grouping/traffic.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "fusion/support.h"
#include "graph/window.h"

namespace mt::testing {
namespace {

// A grouping found by putting items together at random for as long as that is allowed.
mt::Grouping random_grouping(const Region& region, std::mt19937_64* random) {
  Readers readers(region);
  int count = static_cast<int>(region.items.size());
  std::vector<int> parts(region.items.size(), -1);
  for (int i = 0; i < count; ++i) {
    if (!is_inlined(region, readers, i)) parts[static_cast<size_t>(i)] = i;
  }
  mt::Grouping grouping = *group_as_given(region, parts);
  for (int attempt = 0; attempt < 4 * count; ++attempt) {
    auto any = [&] { return static_cast<size_t>((*random)() % region.items.size()); };
    size_t i = any(), j = any();
    auto uses = readers.of(static_cast<int>(i));
    if (!uses.empty() && (*random)() % 4) {
      j = static_cast<size_t>(uses[(*random)() % uses.size()].consumer);
    }
    if (parts[i] < 0 || parts[j] < 0 || parts[i] == parts[j]) continue;
    std::vector<int> joined = parts;
    std::replace(joined.begin(), joined.end(), parts[i], parts[j]);
    std::optional<mt::Grouping> possible = group_as_given(region, joined);
    if (!possible) continue;
    parts = joined;
    grouping = std::move(*possible);
  }
  return grouping;
}

// What a plan stores, in the order of the region's items.
std::vector<Value> values_by(const Region& region, const Plan& plan) {
  Execution execution(plan, region.device, region.items.size());
  for (const Leaf& leaf : region.leaves) execution.bind_leaf(*leaf.node);
  execution.take_memory([](int) { return false; }, [](int) { return "test"; });
  std::vector<Immediates> immediates;
  for (const Item& item : region.items) immediates.push_back(item.node->immediates);
  execution.run(immediates.data());
  std::vector<Value> values;
  for (size_t i = 0; i < region.items.size(); ++i) {
    if (!region.items[i].stored) continue;
    const Node& node = *region.items[i].node;
    Value value{node.shape, node.dtype, std::vector<char>(static_cast<size_t>(node.bytes()))};
    if (node.bytes()) {
      std::memcpy(value.bytes.data(), execution.output(static_cast<int>(i))->data(),
                  value.bytes.size());
    }
    values.push_back(std::move(value));
  }
  return values;
}

TEST(GivenGroups, GiveTheSameBits) {
  install_fusing_evaluator();
  int64_t fewer = 0, more = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    flush();
    Graph graph = random_graph(seed);
    std::vector<Tensor> sources;
    for (const Source& source : graph.sources) {
      sources.push_back(source_value(graph, source, 0, find_device("cpu")));
    }
    Slots slots;
    std::vector<Tensor> wanted;
    for (const Tensor& result : run(graph, sources, &slots, true)) {
      if (!result->ready() && !(result->base && result->base->ready())) wanted.push_back(result);
    }
    if (wanted.empty()) continue;
    std::vector<Tensor> stored;
    std::vector<Value> given;
    {
      Window& window = Window::current();
      OwnerLock::Hold hold(window.lock, &current_thread());
      Region region;
      select(window, wanted.data(), wanted.size());
      build_region(window, find_device("cpu"), &region);
      std::mt19937_64 random(seed);
      mt::Grouping grouping = random_grouping(region, &random);
      size_t greedy = group_items(region).groups.size();
      fewer += grouping.groups.size() < greedy;
      more += grouping.groups.size() > greedy;
      Plan plan = plan_of(region, grouping);
      region.device->backend->prepare(&plan);
      given = values_by(region, plan);
      for (const Item& item : region.items) {
        if (item.stored) stored.push_back(Tensor(item.node));
      }
    }
    EXPECT_EQ(difference(given, evaluated(stored)), "") << "seed " << seed << "\n"
                                                        << to_string(graph);
  }
  EXPECT_GT(fewer, 10);
  EXPECT_GT(more, 10);
}

}  // namespace
}  // namespace mt::testing
