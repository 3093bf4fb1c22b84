// SPDX-License-Identifier: Apache-2.0
#include "fusion/run_graph.h"

#include <cmath>
#include <random>

#include "autodiff/backward.h"
#include "backends/backend.h"
#include "fusion/step_runner.h"
#include "graph/evaluate.h"
#include "graph/leaf.h"
#include "graph/modes.h"
#include "ops/naive.h"
#include "ops/ops.h"

namespace mt::testing {

Tensor source_value(const Graph& graph, const Source& source, uint64_t round, Device& device) {
  std::mt19937_64 random(source.seed + round * 77);
  int64_t count = element_count(source.shape);
  std::vector<char> bytes(static_cast<size_t>(count) * size_of(source.dtype));
  NaiveArray array{bytes.data(), source.dtype, contiguous_layout(source.shape)};
  static const double special[] = {0.0, -0.0, 1.0,   -1.0, INFINITY, -INFINITY,
                                   NAN, 1e30, 1e-30, 127,  65504};
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    if (!is_floating(source.dtype)) {
      array.set_integer(
          i, graph.family == Family::tame || bits % 4
                 ? static_cast<int64_t>(bits >> 32) % 7 - (is_signed_integer(source.dtype) ? 3 : 0)
                 : static_cast<int64_t>(bits));
    } else if (graph.family == Family::wild && bits % 32 == 0) {
      array.set_number(i, special[bits / 32 % std::size(special)]);
    } else {
      array.set_number(i, static_cast<double>(bits >> 40) * 0x1p-23 - 1);
    }
  }
  Ref<Storage> storage = Storage::allocate(device, bytes.size());
  device.backend->copy_from_host(storage->data(), bytes.data(), bytes.size());
  return make_leaf(storage, source.dtype, contiguous_layout(source.shape));
}

std::vector<Tensor> run(const Graph& graph, const std::vector<Tensor>& sources, Slots* slots,
                        bool quiet) {
  Device& device = sources[0].device();
  StepRunner runner(graph, slots, device);
  std::vector<Tensor> leaves;
  for (size_t i = 0; i < sources.size(); ++i) {
    Tensor value = sources[i];
    if (graph.order > 0 && graph.sources[i].differentiable) {
      value = detach(value);
      require_gradient(value);
      slots->variables.push_back(value->variable);
      leaves.push_back(value);
    }
    runner.values.push_back(value);
  }
  size_t given = sources.size(), total = given + graph.steps.size();
  std::vector<size_t> last(total, 0);
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    const Step& step = graph.steps[i];
    for (int operand : {step.a, step.b, step.c}) last[static_cast<size_t>(operand)] = given + i;
  }
  std::vector<Tensor> results;
  for (size_t i = 0; i < graph.steps.size(); ++i) {
    const Step& step = graph.steps[i];
    runner.values.push_back(runner.apply(step));
    size_t at = given + i;
    if (step.held || last[at] == 0) results.push_back(runner.values[at]);
    if (!quiet && step.reads) evaluate(runner.values[at]);
    // Values are searched for backwards, so these are all that must stay equal in every way of
    // running: which handles are gone is part of the program.
    for (size_t v = 0; v < at; ++v) {
      if (last[v] == at && v >= given && !graph.steps[v - given].held) runner.values[v] = nullptr;
    }
    if (!quiet && step.flushes) flush();
  }
  if (graph.order == 0 || leaves.empty()) return results;
  Tensor loss;
  for (const Tensor& result : results) {
    if (!is_floating(result.dtype()) || !result.requires_gradient()) continue;
    Tensor part = sum(cast(result, Dtype::float32)) * 0.125;
    loss = loss ? loss + part : part;
  }
  if (!loss) return results;
  std::vector<Tensor> first;
  if (graph.through_backward) {
    backward(loss, nullptr, true, graph.order > 1);
    for (const Tensor& leaf : leaves) {
      first.push_back(leaf->variable->gradient.get());
      if (graph.order > 1 && first.back()) leaf->variable->gradient.set(nullptr);
    }
  } else {
    GradientMode mode(graph.order > 1);
    first = gradients({loss}, {}, leaves);
  }
  Tensor second_loss;
  for (const Tensor& gradient : first) {
    if (!gradient) continue;
    results.push_back(gradient);
    if (!gradient.requires_gradient()) continue;
    Tensor part = sum(cast(square(gradient), Dtype::float32));
    second_loss = second_loss ? second_loss + part : part;
  }
  if (graph.order < 2 || !second_loss) return results;
  if (!quiet) flush();
  GradientMode mode(false);
  for (const Tensor& gradient : gradients({second_loss}, {}, leaves)) {
    if (gradient) results.push_back(gradient);
  }
  return results;
}

}  // namespace mt::testing
