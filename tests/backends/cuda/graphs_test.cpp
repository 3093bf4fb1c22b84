// SPDX-License-Identifier: Apache-2.0
// Random programs on the CUDA device (the simulated one, where MT_CUDA_LIBRARY says so) give the
// CPU's bits, fused and eager: both keep the order of sums that src/ops/order.h prescribes, and
// compile the same mathematics. A GPU's tensor cores may round otherwise.
//
//   MT_TEST_SEED=1234   tests that graph alone, and prints it
//   MT_TEST_GRAPHS=1000 tests more of them
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/modes.h"

namespace mt::testing {
namespace {

std::vector<Value> results_of(const Graph& graph, Device& device, bool eager) {
  set_eager_mode(eager);
  struct Restore {
    ~Restore() { set_eager_mode(false); }
  } restore;
  Slots slots;
  std::vector<Value> values;
  for (uint64_t round = 0; round < 2; ++round) {
    std::vector<Tensor> sources;
    for (const Source& source : graph.sources) {
      sources.push_back(source_value(graph, source, round, device));
    }
    std::vector<Tensor> results = run(graph, sources, &slots, false);
    for (const StateSlot& slot : slots.slot) {
      if (slot.get()) results.push_back(slot.get());
    }
    for (Value& value : values_of(results)) values.push_back(std::move(value));
  }
  return values;
}

std::string check(const Graph& graph) {
  try {
    std::vector<Value> cpu = results_of(graph, find_device("cpu"), false);
    for (bool eager : {false, true}) {
      std::vector<Value> ours = results_of(graph, find_device("cuda:0"), eager);
      std::string fault =
          simulated::is_there() ? difference(cpu, ours) : distance(graph, cpu, ours);
      if (!fault.empty()) return (eager ? "eager: " : "fused: ") + fault;
    }
    return "";
  } catch (const std::exception& error) {
    return std::string("throws: ") + error.what();
  }
}

void search(bool large, uint64_t count) {
  install_fusing_evaluator();
  const char* chosen = std::getenv("MT_TEST_SEED");
  const char* more = std::getenv("MT_TEST_GRAPHS");
  uint64_t first = chosen ? std::strtoull(chosen, nullptr, 10) : 0;
  if (more) count = std::strtoull(more, nullptr, 10);
  if (chosen) count = 1;
  int failures = 0;
  for (uint64_t seed = first; seed < first + count && failures < 3; ++seed) {
    Graph graph = random_graph(seed, large);
    if (chosen) std::printf("%s", to_string(graph).c_str());
    if (check(graph).empty()) continue;
    ++failures;
    Graph small = shrink(graph, [&](const Graph& g) { return !check(g).empty(); });
    ADD_FAILURE() << "seed " << seed << ": " << check(small) << "\n" << to_string(small);
  }
}

TEST(CudaGraphs, GiveTheBitsOfTheCpu) { search(false, 40); }
TEST(CudaGraphs, GiveTheBitsOfTheCpuForLongSums) { search(true, 2); }

}  // namespace
}  // namespace mt::testing
