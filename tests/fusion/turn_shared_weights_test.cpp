// SPDX-License-Identifier: Apache-2.0
// A weight that is turned once for several products leaves them their bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "backends/cpu/parallel/parallel.h"
#include "fusion/planned.h"
#include "fusion/support.h"

namespace mt::testing {
namespace {

constexpr int64_t outputs = 80, size = 40;

struct Weights {
  Tensor first = random_leaf({outputs, size}, 1), second = random_leaf({outputs, outputs}, 2);
  Tensor both = random_leaf({2 * outputs, size}, 3), large = random_leaf({8200, size}, 4);
  Tensor across = transpose(random_leaf({size, outputs}, 5));
  Tensor upper = slice(both, 0, 0, outputs, 1), lower = slice(both, 0, outputs, outputs, 1);
  Tensor part = slice(random_leaf({outputs, size + 9}, 7), 1, 5, size, 1);
};

// `at` may compute each value at once.
using At = std::function<Tensor(Tensor)>;

struct Form {
  int turned;  // weights
  int products;
  std::function<Tensor(const Weights&, const Tensor& rows, const At&)> make;
};
const auto product = [](const Tensor& x, const Tensor& weight) { return linear(x, weight, {}); };
const std::vector<Form> forms = {
    {1, 6, [](auto& w, auto& x, auto& at) { return at(product(x, w.first)); }},
    {1, 4, [](auto& w, auto& x, auto& at) { return at(tanh(at(product(x, w.first)))); }},
    {2, 5,
     [](auto& w, auto& x, auto& at) {
       return at(product(at(relu(at(product(x, w.first)))), w.second));
     }},
    // Two parts of one tensor.
    {2, 4,
     [](auto& w, auto& x, auto& at) {
       return at(at(product(x, w.upper)) + at(product(x, w.lower)));
     }},
    {1, 4, [](auto& w, auto& x, auto& at) { return at(product(x, w.part)); }},
    // Too few, too large, computed here, or as vectors want it.
    {0, 3, [](auto& w, auto& x, auto& at) { return at(product(x, w.first)); }},
    {0, 4, [](auto& w, auto& x, auto& at) { return at(product(x, w.large)); }},
    {0, 4,
     [](auto& w, auto& x, auto& at) { return at(product(x, at(cumulative_sum(w.first, 1)))); }},
    {0, 4, [](auto& w, auto& x, auto& at) { return at(product(x, w.across)); }},
};

// The products of all positions, one after another.
Tensor positions(const Form& form, const Weights& weights, const Tensor& x, const At& at) {
  std::vector<Tensor> results;
  for (int i = 0; i < form.products; ++i) {
    results.push_back(form.make(weights, at(x * (1.0 + i)), at));
  }
  return concat(results, 0);
}

int copies_in_plan(const Tensor& y) {
  const Plan plan = planned(y);
  return static_cast<int>(std::count_if(plan.groups.begin(), plan.groups.end(),
                                        [](const Group& group) { return group.items.empty(); }));
}

TEST(TurnSharedWeights, HasTheBitsOfProductsByThemselves) {
  install_fusing_evaluator();
  const Weights weights;
  const auto later = [](Tensor value) { return value; };
  const auto now = [](Tensor value) {
    evaluate(value);
    return value;
  };
  for (int64_t rows : {16, 33, 64}) {
    const Tensor x = random_leaf({rows, size}, 6);
    for (size_t f = 0; f < forms.size(); ++f) {
      const Value expected = value_of(positions(forms[f], weights, x, now));
      for (int threads : {1, 2, 3}) {
        cpu::set_thread_count(threads);
        EXPECT_EQ(value_of(positions(forms[f], weights, x, later)), expected)
            << "form " << f << " of " << rows << " rows, " << threads << " threads";
      }
      cpu::set_thread_count(0);
      flush();
      EXPECT_EQ(copies_in_plan(positions(forms[f], weights, x, later)), forms[f].turned)
          << "form " << f << " of " << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace mt::testing
