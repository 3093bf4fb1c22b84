// SPDX-License-Identifier: Apache-2.0
// Random programs give the same bits in every way of running them: fused, one operator at a time,
// replayed from a trace, on any number of threads and with any instruction set; and the reference's
// values within rounding errors.
//
//   MT_TEST_SECONDS=600  tests longer (each of the tests here takes about a third of it)
//   MT_TEST_SEED=1234    tests that graph alone, and prints it
//   MT_TEST_VERBOSE=1    prints every graph before it runs, to see which one crashes
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel/parallel.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/trace.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "graph/modes.h"

namespace mt::testing {
namespace {

constexpr uint64_t rounds = 3;

std::vector<Tensor> sources_of(const Graph& graph, uint64_t round, Device& device) {
  std::vector<Tensor> sources;
  for (const Source& source : graph.sources) {
    sources.push_back(source_value(graph, source, round, device));
  }
  return sources;
}

void add_slots(const Slots& slots, std::vector<Tensor>* results) {
  for (const StateSlot& slot : slots.slot) {
    if (slot.get()) results->push_back(slot.get());
  }
}

// Several rounds over the same state.
std::vector<Value> results_of(const Graph& graph, Device& device, uint64_t count = rounds) {
  Slots slots;
  std::vector<Value> values;
  for (uint64_t round = 0; round < count; ++round) {
    std::vector<Tensor> results = run(graph, sources_of(graph, round, device), &slots, false);
    add_slots(slots, &results);
    for (Value& value : values_of(results)) values.push_back(std::move(value));
  }
  return values;
}

std::vector<Value> eager_results(const Graph& graph, Device& device) {
  set_eager_mode(true);
  struct Restore {
    ~Restore() { set_eager_mode(false); }
  } restore;
  return results_of(graph, device);
}

std::vector<Value> replayed_results(const Graph& graph, Device& device) {
  struct Context {
    const Graph& graph;
    Slots slots;
  } context{graph, {}};
  // How many results there are is known once the program has run.
  size_t count = 0;
  {
    Slots slots;
    count = run(graph, sources_of(graph, 0, device), &slots, true).size();
  }
  Trace trace;
  Trace::Function function{[](void* c, const std::vector<Tensor>& inputs) {
                             auto* context = static_cast<Context*>(c);
                             return run(context->graph, inputs, &context->slots, true);
                           },
                           &context, count};
  std::vector<Value> values;
  for (uint64_t round = 0; round < rounds; ++round) {
    std::vector<Tensor> results = trace.call(sources_of(graph, round, device), function);
    add_slots(context.slots, &results);
    for (Value& value : values_of(results)) values.push_back(std::move(value));
  }
  flush();  // gradients left pending in leaves of the function's own hold on to these
  return values;
}

template <class F>
std::string faults(F&& f) {
  try {
    return f();
  } catch (const std::exception& error) {
    return std::string("throws: ") + error.what();
  }
}

// What is wrong with the graph; empty when nothing is.
std::string check_ways(const Graph& graph) {
  Device& cpu = find_device("cpu");
  // A single thread's share of a group is all of it.
  cpu::set_thread_count(graph.steps.size() % 2 == 0 ? 1 : 0);
  std::string fault = faults([&]() -> std::string {
    std::vector<Value> fused = results_of(graph, cpu);
    std::string different = difference(fused, eager_results(graph, cpu));
    if (!different.empty()) return "fused and eager differ: " + different;
    if (graph.family == Family::tame) {
      different = distance(graph, fused, results_of(graph, find_device("cpu:reference")));
      if (!different.empty()) return "fused and reference differ: " + different;
    }
    different = difference(fused, replayed_results(graph, cpu));
    return different.empty() ? "" : "fused and replayed differ: " + different;
  });
  cpu::set_thread_count(0);
  return fault;
}

std::string check_threads(const Graph& graph) {
  Device& device = find_device("cpu");
  std::string fault = faults([&]() -> std::string {
    cpu::set_thread_count(1);
    std::vector<Value> one = results_of(graph, device, 1);
    for (int threads : {2, 3, 7}) {
      cpu::set_thread_count(threads);
      std::string different = difference(one, results_of(graph, device, 1));
      if (!different.empty()) return std::to_string(threads) + " threads: " + different;
    }
    return "";
  });
  cpu::set_thread_count(0);
  return fault;
}

std::string check_instruction_sets(const Graph& graph) {
  Device& device = find_device("cpu");
  std::string fault = faults([&]() -> std::string {
    std::vector<Value> best = results_of(graph, device, 1);
    for (const char* name : {"AVX3", "AVX2", "NEON", "EMU128", "SCALAR"}) {
      if (!cpu::set_instruction_set(name)) continue;
      std::string different = difference(best, results_of(graph, device, 1));
      if (!different.empty()) return std::string(name) + ": " + different;
    }
    return "";
  });
  cpu::set_instruction_set(nullptr);
  return fault;
}

double seconds_for_each() {
  const char* text = std::getenv("MT_TEST_SECONDS");
  return (text ? std::atof(text) : 60) / 3;
}

// Draws graphs until the time is up, but at least `least`.
void search(std::string (*check)(const Graph&), bool large, uint64_t least) {
  install_fusing_evaluator();
  uint64_t first = 0, count = 0;
  const char* chosen = std::getenv("MT_TEST_SEED");
  if (chosen) first = std::strtoull(chosen, nullptr, 10);
  bool verbose = chosen || std::getenv("MT_TEST_VERBOSE");
  auto begin = std::chrono::steady_clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  int failures = 0;
  for (uint64_t seed = first; count < least || elapsed() < seconds_for_each(); ++seed, ++count) {
    Graph graph = random_graph(seed, large);
    if (verbose) {
      std::printf("seed %llu: %s", static_cast<unsigned long long>(seed), to_string(graph).c_str());
      std::fflush(stdout);
    }
    if (!check(graph).empty()) {
      Graph small = shrink(graph, [&](const Graph& g) { return !check(g).empty(); });
      ADD_FAILURE() << "seed " << seed << ": " << check(small) << "\n" << to_string(small);
      if (++failures == 5) break;
    }
    if (chosen) break;
  }
  std::printf("%llu graphs\n", static_cast<unsigned long long>(count));
}

TEST(RandomGraphs, FusedEagerReplayedAndReferenceAgree) { search(check_ways, false, 500); }
TEST(RandomGraphs, AnyNumberOfThreadsGivesTheSameBits) { search(check_threads, true, 20); }
TEST(RandomGraphs, AnyInstructionSetGivesTheSameBits) {
  search(check_instruction_sets, false, 200);
}

}  // namespace
}  // namespace mt::testing
