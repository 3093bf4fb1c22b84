// SPDX-License-Identifier: Apache-2.0
// What planning costs: a window with a new structure is grouped and lowered, one with a known
// structure is only looked up.
#include <benchmark/benchmark.h>

#include "autodiff/backward.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "graph/modes.h"
#include "graph/variable.h"
#include "graph/window.h"
#include "ops/ops.h"

namespace {

using namespace mt;

Tensor leaf(const Shape& shape) {
  size_t bytes = static_cast<size_t>(element_count(shape)) * sizeof(float);
  return make_leaf(Storage::allocate(find_device("cpu"), bytes), Dtype::float32,
                   contiguous_layout(shape));
}

// A training step of a perceptron with so many layers: about 30 nodes each.
std::vector<Tensor> training_step(int64_t layers) {
  std::vector<Tensor> parameters, results;
  Tensor x = leaf({10, 16});
  for (int64_t l = 0; l < layers; ++l) {
    for (const Shape& shape : {Shape{16, 16}, Shape{16}}) {
      parameters.push_back(leaf(shape));
      parameters.back()->requires_gradient = true;
      parameters.back()->variable = Ref<Variable>(new Variable);
    }
    x = x + relu(matmul(x, parameters[parameters.size() - 2]) + parameters.back());
    Tensor centred = x - mean(x, {-1}, true);
    x = centred * rsqrt(mean(square(centred), {-1}, true) + 1e-5);
  }
  Tensor loss = mean(square(x));
  GradientMode mode(false);
  std::vector<Tensor> slopes = gradients({loss}, {}, parameters);
  for (size_t p = 0; p < parameters.size(); ++p) {
    results.push_back(parameters[p] - slopes[p] * 0.01);
  }
  return results;
}

// Independent chains that read one tensor: wide rather than deep.
std::vector<Tensor> branches(int64_t count) {
  std::vector<Tensor> results;
  Tensor x = leaf({64});
  for (int64_t i = 0; i < count; ++i) results.push_back(tanh(x * static_cast<double>(i)) + sum(x));
  return results;
}

struct Built {
  std::vector<Tensor> results;
  Region region;
};

void build(Built* built, std::vector<Tensor> (*make)(int64_t), int64_t size) {
  install_fusing_evaluator();
  built->results = make(size);
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  select(window, built->results.data(), built->results.size());
  build_region(window, find_device("cpu"), &built->region);
}

void report(benchmark::State& state, const Built& built) {
  int64_t nodes = static_cast<int64_t>(built.region.items.size());
  state.counters["nodes"] = static_cast<double>(nodes);
  state.SetItemsProcessed(state.iterations() * nodes);
}

void look_up(benchmark::State& state, std::vector<Tensor> (*make)(int64_t)) {
  Built built;
  build(&built, make, state.range(0));
  Window& window = Window::current();
  std::vector<uint64_t> key;
  Region region;
  for (auto _ : state) {
    OwnerLock::Hold hold(window.lock, &current_thread());
    select(window, built.results.data(), built.results.size());
    build_region(window, find_device("cpu"), &region);
    write_key(region, &key);
    benchmark::DoNotOptimize(key.data());
  }
  report(state, built);
}

void group(benchmark::State& state, std::vector<Tensor> (*make)(int64_t)) {
  Built built;
  build(&built, make, state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(group_items(built.region).groups.size());
  report(state, built);
}

void plan(benchmark::State& state, std::vector<Tensor> (*make)(int64_t)) {
  Built built;
  build(&built, make, state.range(0));
  for (auto _ : state) {
    Plan made;
    make_plan(built.region, &made);
    benchmark::DoNotOptimize(made.groups.data());
  }
  report(state, built);
}

BENCHMARK_CAPTURE(look_up, training_step, training_step)->Arg(2)->Arg(15)->Arg(50);
BENCHMARK_CAPTURE(group, training_step, training_step)->Arg(2)->Arg(15)->Arg(50);
BENCHMARK_CAPTURE(plan, training_step, training_step)->Arg(2)->Arg(15)->Arg(50);
BENCHMARK_CAPTURE(look_up, branches, branches)->Arg(16)->Arg(192)->Arg(768);
BENCHMARK_CAPTURE(group, branches, branches)->Arg(16)->Arg(192)->Arg(768);
BENCHMARK_CAPTURE(plan, branches, branches)->Arg(16)->Arg(192)->Arg(768);

}  // namespace

BENCHMARK_MAIN();
