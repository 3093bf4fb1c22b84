// SPDX-License-Identifier: Apache-2.0
// What one product hands to another in the layout that both compute has the same bits.
#include "backends/cpu/turn_hidden.h"

#include <gtest/gtest.h>

#include <functional>

#include "backends/cpu/parallel/parallel.h"
#include "fusion/planned.h"
#include "fusion/support.h"

namespace mt::testing {
namespace {

constexpr int64_t inputs = 96, hidden = 256, outputs = 160;

struct Network {
  Tensor x, first, bias, middle, second, third, per_row, residual;
  explicit Network(int64_t rows)
      : x(random_leaf({rows, inputs}, 1)),
        first(random_leaf({hidden, inputs}, 2)),
        bias(random_leaf({hidden}, 3)),
        middle(random_leaf({hidden, hidden}, 8)),
        second(random_leaf({outputs, hidden}, 4)),
        third(random_leaf({outputs, hidden}, 7)),
        per_row(random_leaf({rows, 1}, 5)),
        residual(random_leaf({rows, hidden}, 6)) {}

  // `at` may compute each value at once.
  using At = std::function<Tensor(Tensor)>;
  Tensor product(const At& at) const { return at(matmul(x, transpose(first))); }
  Tensor last(const Tensor& h) const { return matmul(h, transpose(second)); }
};

struct Form {
  bool turned;
  std::function<Tensor(const Network&, const Network::At&)> make;
};
const std::vector<Form> forms = {
    {true, [](auto& w, auto& at) { return w.last(w.product(at)); }},
    {true, [](auto& w, auto& at) { return w.last(at(relu(at(w.product(at) + w.bias)))); }},
    {true, [](auto& w, auto& at) { return w.last(at(gelu_tanh(at(w.product(at) * 0.5)))); }},
    // Of three layers both hidden ones.
    {true,
     [](auto& w, auto& at) {
       return w.last(at(relu(at(matmul(at(relu(w.product(at))), transpose(w.middle))))));
     }},
    {true, [](auto& w, auto& at) { return w.last(at(w.product(at) * w.per_row)); }},
    // Elements that differ along both axes lie in their order.
    {false, [](auto& w, auto& at) { return w.last(at(w.product(at) + w.residual)); }},
    // So does what somebody else reads.
    {false,
     [](auto& w, auto& at) {
       Tensor h = at(relu(w.product(at)));
       return at(w.last(h)) * at(sum(h));
     }},
    {false,
     [](auto& w, auto& at) {
       Tensor h = at(relu(w.product(at)));
       return at(w.last(h)) * matmul(h, transpose(w.third));
     }},
};

// Whether the plan of such a tensor has a product that is turned. (Rows that fill vectors badly are
// not worth it.)
bool turns(const Tensor& y) {
  Plan plan = planned(y);
  cpu::turn_hidden(&plan, 2);
  for (const Group& group : plan.groups) {
    const auto* product = std::get_if<ContractGroup>(&group.work);
    if (product && size_of_group(product->contraction.m) == hidden) return true;
  }
  return false;
}

TEST(TurnHidden, HasTheBitsOfStoredLayers) {
  install_fusing_evaluator();
  const auto later = [](Tensor value) { return value; };
  const auto now = [](Tensor value) {
    evaluate(value);
    return value;
  };
  for (int64_t rows : {16, 33, 48, 64, 300}) {
    const Network network(rows);
    for (size_t f = 0; f < forms.size(); ++f) {
      const Value expected = value_of(forms[f].make(network, now));
      for (int threads : {1, 2, 3}) {
        cpu::set_thread_count(threads);
        const Tensor y = forms[f].make(network, later);
        EXPECT_EQ(value_of(y), expected) << "form " << f << " of " << rows << " rows, " << threads;
      }
      cpu::set_thread_count(0);
      flush();
      EXPECT_EQ(turns(forms[f].make(network, later)),
                forms[f].turned && rows % 16 == 0 && rows < 300)
          << "form " << f << " of " << rows << " rows";
    }
  }
}

}  // namespace
}  // namespace mt::testing
