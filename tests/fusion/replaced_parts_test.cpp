// SPDX-License-Identifier: Apache-2.0
// A tensor of which a part is replaced gives its memory to what replaces it, though views of it are
// read in the same evaluation; unless something still needs what was there.
#include <gtest/gtest.h>

#include <random>

#include "autodiff/backward.h"
#include "fusion/plan_cache.h"
#include "fusion/profile.h"
#include "fusion/support.h"
#include "graph/modes.h"
#include "graph/variable.h"
#include "ops/slice.h"

namespace mt::testing {
namespace {

Tensor with_row(const Tensor& x, int64_t row, const Tensor& value) {
  return overlay(x, unsqueeze(value, 0), block_along(0, 2, row, 1));
}

class ReplacedParts : public ::testing::Test {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    PlanCache::instance().clear();  // a full one may drop any
  }
};

TEST_F(ReplacedParts, TakeTheMemoryOfWhatTheyAreMadeOf) {
  Tensor x = random_leaf({50, 100}) + 0.0;
  evaluate(x);
  const void* const memory = x->data();
  for (int64_t row = 1; row < 50; ++row) {
    x = with_row(x, row, select(x, 0, row - 1) * 0.5 + 1.0);
    evaluate(x);
    ASSERT_EQ(x->data(), memory) << row;
  }
}

TEST_F(ReplacedParts, HaveOnePlanWhereverTheyAre) {
  Tensor x = random_leaf({30, 40}) + 0.0;
  evaluate(x);
  Profile profile;
  for (int64_t row = 1; row < 30; ++row) {
    x = with_row(x, row, select(x, 0, row - 1) * 0.5 + 1.0);
    evaluate(x);
  }
  profile.stop();
  for (const Profile::Kind& kind : profile.kinds()) {
    if (kind.name == "planning") EXPECT_LE(kind.runs, 1);
  }
}

TEST_F(ReplacedParts, MayBeEmpty) {
  Tensor x = full({0, 3}, 1.0, Dtype::float32, find_device("cpu"));
  require_gradient(x);
  const Tensor value = full({0, 2}, 2.0, Dtype::float32, find_device("cpu"));
  const Tensor y = overlay(x + 0.0, value, block_along(1, 2, 1, 1));
  backward(sum(y), nullptr, false);
  EXPECT_EQ(x->variable->gradient.get().shape(), (Shape{0, 3}));
}

TEST_F(ReplacedParts, LeaveWhatIsHeldAsItWas) {
  Tensor x = random_leaf({4, 8}) + 0.0;
  evaluate(x);
  const Value before = value_of(x);
  const Tensor view = select(x, 0, 0);
  const Value row = value_of(view);
  x = with_row(x, 0, select(x, 0, 1) + 1.0);
  evaluate(x);
  EXPECT_EQ(value_of(view), row);
  const Tensor whole = x;
  const Value then = value_of(x);
  x = with_row(x, 2, select(x, 0, 0) + 1.0);
  evaluate(x);
  EXPECT_EQ(value_of(whole), then);
  EXPECT_NE(value_of(x), then);
}

// Shapes are such that any row, column or block fits any other of its kind.
std::vector<Value> run_randomly(uint64_t seed, bool eager) {
  constexpr int64_t size = 6;
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
  set_eager_mode(eager);
  Tensor x = random_leaf({size, size}, seed) + 0.0;
  evaluate(x);
  std::vector<Tensor> held;
  std::vector<Value> seen;
  const auto vector = [&] {
    Tensor line = select(x, static_cast<int>(below(2)), below(size));
    return below(3) == 0 ? slice(line, 0, size - 1, size, -1) : line;
  };
  for (int step = 0; step < 30; ++step) {
    switch (below(10)) {
      case 0: x = with_row(x, below(size), vector() * 0.5 + 1.0); break;
      case 1: x = with_row(x, below(size), vector()); break;
      case 2: x = with_row(x, below(size), vector() + vector()); break;
      case 3: x = x + unsqueeze(vector(), static_cast<int>(below(2))); break;
      case 4: x = overlay(x, slice(x, 0, 0, 5, 1), block_along(0, 2, 1, 1)); break;
      case 5: x = overlay(x, transpose(x) * 0.25, block_along(0, 2, 0, 1)); break;
      case 6: x = reshape(x, {size * size}) * 0.5, x = reshape(x, {size, size}); break;
      case 7: held.push_back(below(2) ? x : vector()); break;
      case 8: x = with_row(x, below(size), sum(x, {0}) * 0.125); break;
      case 9: {  // two groups alike, on either side of one that replaces what the first reads
        Tensor before = vector() * 0.5;
        x = x * 0.75;
        Tensor after = vector() * 0.5;
        for (const Value& value : evaluated({before, x, after})) seen.push_back(value);
        break;
      }
    }
    if (below(2)) evaluate(x);
    if (!held.empty() && below(4) == 0) {
      seen.push_back(value_of(held.back()));
      held.pop_back();
    }
  }
  for (const Tensor& each : held) seen.push_back(value_of(each));
  seen.push_back(value_of(x));
  set_eager_mode(false);
  return seen;
}

TEST_F(ReplacedParts, HaveTheBitsOfEagerRunning) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    ASSERT_EQ(run_randomly(seed, false), run_randomly(seed, true)) << seed;
  }
}

}  // namespace
}  // namespace mt::testing
