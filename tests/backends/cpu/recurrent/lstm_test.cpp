// SPDX-License-Identifier: Apache-2.0
// The same bits for any number of threads and with any instruction set.
#include "ops/lstm.h"

#include "autodiff/backward.h"
#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

struct Results {
  Numbers states, cell, gradients[4];
  bool operator==(const Results&) const = default;
};

Results results_of(int64_t batch, int64_t n, int64_t hidden) {
  const Dtype dtype = Dtype::float32;
  std::vector<Tensor> x = {noise({batch, n, 4 * hidden}, 1, dtype),
                           noise({4 * hidden, hidden}, 2, dtype), noise({batch, hidden}, 3, dtype),
                           noise({batch, hidden}, 4, dtype)};
  for (Tensor& input : x) require_gradient(input);
  const LstmStates lstm = lstm_states(x[0], x[1], x[2], x[3]);
  const std::vector<Tensor> all = gradients({project(lstm.states) + project(lstm.cell)}, {}, x);
  Results results{read(lstm.states), read(lstm.cell), {}};
  for (size_t i = 0; i < 4; ++i) results.gradients[i] = read(all[i]);
  return results;
}

TEST(LstmKernel, BitsDependOnNeitherThreadsNorInstructionSet) {
  const std::vector<std::vector<int64_t>> sizes = {
      {1, 3, 100}, {4, 20, 64}, {11, 30, 40}, {40, 20, 33}, {12, 2, 1030}};
  for (const auto& s : sizes) {
    cpu::set_thread_count(1);
    const Results one = results_of(s[0], s[1], s[2]);
    for (int threads : {2, 3, 7}) {
      cpu::set_thread_count(threads);
      EXPECT_TRUE(one == results_of(s[0], s[1], s[2])) << threads << " threads";
    }
    if (s[2] > 1000) continue;
    cpu::for_each_instruction_set([&] { EXPECT_TRUE(one == results_of(s[0], s[1], s[2])); });
  }
  cpu::set_thread_count(0);
}

}  // namespace
}  // namespace mt::testing
