// SPDX-License-Identifier: Apache-2.0
// Rows of a network that are picked from its result are computed without the others, and have the
// bits that they have among them.
#include <gtest/gtest.h>

#include <random>

#include "backends/cpu/parallel/parallel.h"
#include "fusion/explain.h"
#include "fusion/support.h"

namespace mt::testing {
namespace {

// Of x [..., width]: a block as transformers have it behind their attention.
struct Block {
  Tensor grow, shrink, bias, scale;
  explicit Block(int64_t width)
      : grow(random_leaf({4 * width, width}, 1)),
        shrink(random_leaf({width, 4 * width}, 2)),
        bias(random_leaf({4 * width}, 3)),
        scale(random_leaf({width}, 4)) {}

  Tensor operator()(const Tensor& x) const {
    Tensor normed = layer_norm(x, 1, scale, nullptr, 1e-5);
    Tensor y = x + linear(tanh(linear(normed, grow, bias)), shrink, nullptr);
    return softmax(layer_norm(y, 1, scale, nullptr, 1e-5), -1);
  }
};

using Pick = Tensor (*)(const Tensor& x);
constexpr Pick picks[] = {
    [](const Tensor& x) { return select(x, 1, -1); },
    [](const Tensor& x) { return select(x, 1, 0) * 2; },
    [](const Tensor& x) { return select(x, 0, 1); },
    [](const Tensor& x) { return select(select(x, 0, 2), 0, 17); },
    [](const Tensor& x) { return slice(x, 1, 5, 9, 1); },
    [](const Tensor& x) { return slice(x, 1, 3, 4, 3); },
    [](const Tensor& x) { return select(x, 1, 4) + select(x, 1, 7); },
    [](const Tensor& x) { return select(x, 1, 0) + select(x, 1, -1); },
    [](const Tensor& x) { return flip(slice(x, 1, 3, 4, 1), {1}); },
    [](const Tensor& x) { return select(x, 2, 3); },
    [](const Tensor& x) { return expand(slice(x, 1, 3, 1, 1), x.shape()) * 3; },
    [](const Tensor& x) {
      return slice(reshape(x, {-1, x.shape()[2]}), 0, 30, 5, 1);
    },
    [](const Tensor& x) {
      return slice(reshape(x, {-1, x.shape()[2]}), 0, 30, 7, 2);
    },
    [](const Tensor& x) { return transpose(select(x, 0, 1)); },
};

// Nothing else holds what is picked from, or it would be computed to be kept; and so it would for a
// view that is asked for.
template <class F>
Tensor picked(Pick pick, F&& make) {
  return pick(make()) + 1;
}

TEST(Trim, PickedRowsHaveTheBitsThatTheyHaveAmongOthers) {
  install_fusing_evaluator();
  const Block block(24);
  const Tensor x = random_leaf({3, 32, 24}, 5);
  const Tensor whole = block(x);
  evaluate(whole);
  for (size_t i = 0; i < std::size(picks); ++i) {
    const Value expected = value_of(picks[i](whole) + 1);
    for (int threads : {1, 2, 3}) {
      cpu::set_thread_count(threads);
      const Tensor part = picked(picks[i], [&] { return block(x); });
      EXPECT_EQ(value_of(part), expected) << "pick " << i << ", threads: " << threads;
    }
    cpu::set_thread_count(0);
  }
}

TEST(Trim, ProductsAreAsLargeAsTheirSumsAllow) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({1, 32, 128}, 1), w = random_leaf({96, 128}, 2);
  auto plan_of = [&](Pick pick) {
    return explain(picked(pick, [&] { return tanh(linear(x, w, nullptr)); }));
  };
  // Of one row a product would be formed in another order.
  std::string text = plan_of([](const Tensor& y) { return select(y, 1, -1); });
  EXPECT_NE(text.find("float32[1,5,96]"), std::string::npos) << text;
  EXPECT_EQ(text.find("float32[1,32,96]"), std::string::npos) << text;
  text = plan_of([](const Tensor& y) { return slice(y, 1, 8, 12, 1); });
  EXPECT_NE(text.find("float32[1,12,96]"), std::string::npos) << text;
  // What is read of more than half is computed.
  text = plan_of([](const Tensor& y) { return slice(y, 1, 8, 20, 1); });
  EXPECT_NE(text.find("float32[1,32,96]"), std::string::npos) << text;
}

TEST(Trim, LongSumsNeedManyRows) {
  install_fusing_evaluator();
  const Tensor w = random_leaf({100, 4100}, 1);
  auto plan_of = [&](const Shape& shape, Pick pick) {
    return explain(picked(pick, [&] { return linear(random_leaf(shape, 2), w, nullptr); }));
  };
  // Of 64 Ki elements and less sums are cut into shorter panels.
  std::string text = plan_of({2000, 4100}, [](const Tensor& y) { return select(y, 0, 7); });
  EXPECT_NE(text.find("float32[656,100]"), std::string::npos) << text;
  text = plan_of({2000, 4100}, [](const Tensor& y) { return select(y, 0, -1); });
  EXPECT_NE(text.find("float32[656,100]"), std::string::npos) << text;
  text = plan_of({4, 500, 4100}, [](const Tensor& y) { return select(select(y, 0, 2), 0, 9); });
  EXPECT_NE(text.find("float32[2,500,100]"), std::string::npos) << text;
  text = plan_of({20, 70, 4100}, [](const Tensor& y) { return select(y, 0, 2); });
  EXPECT_NE(text.find("float32[10,70,100]"), std::string::npos) << text;
  // More than half.
  text = plan_of({1000, 4100}, [](const Tensor& y) { return select(y, 0, -1); });
  EXPECT_NE(text.find("float32[1000,100]"), std::string::npos) << text;
}

TEST(Trim, IsExplainedAgainstAllOfIt) {
  install_fusing_evaluator();
  const Tensor x = random_leaf({32, 128}, 1), w = random_leaf({96, 128}, 2);
  const Tensor y = slice(tanh(linear(x, w, nullptr)), 0, 0, 16, 1) + 1;
  const std::string text = explain(y);
  // In KB: the product's operands and result, all of tanh's, and 16 rows' worth of the sum's
  // result.
  EXPECT_NE(text.find("one operator at a time would move 121 KB"), std::string::npos) << text;
  EXPECT_NE(text.find("only what is read: %0 contract, %1 tanh\n"), std::string::npos) << text;
  EXPECT_EQ(explain(tanh(linear(x, w, nullptr))).find("only what is read"), std::string::npos);
}

TEST(Trim, LongSumsStayAsTheyAre) {
  install_fusing_evaluator();
  const Tensor a = random_leaf({700, 5000}, 1), b = random_leaf({100, 5000}, 2);
  const Tensor whole = linear(a, b, nullptr);
  evaluate(whole);
  auto pick = [](const Tensor& y) { return slice(y, 0, 20, 9, 1); };
  const Tensor part = picked(pick, [&] { return linear(a, b, nullptr); });
  EXPECT_EQ(value_of(part), value_of(pick(whole) + 1));
}

Tensor random_view(Tensor x, std::mt19937& random) {
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  for (int64_t views = 1 + below(3); views > 0; --views) {
    const int axis = static_cast<int>(below(x.rank()));
    const int64_t size = x.shape()[axis], start = below(size), step = 1 + below(3);
    switch (below(5)) {
      case 0:
        if (x.rank() > 2) x = select(x, axis, start);
        break;
      case 1:
      case 2: x = slice(x, axis, start, 1 + below((size - start + step - 1) / step), step); break;
      case 3: x = move_axis(x, axis, 0); break;
      case 4: x = reshape(x, {x.shape()[0], x.size() / x.shape()[0]});
    }
  }
  return x;
}

// A program of products, of what is made of them and of views, whose values are all stored or not.
Tensor random_program(uint32_t seed, bool stores) {
  std::mt19937 random(seed);
  constexpr int64_t widths[] = {3, 24, 70, 130};
  Tensor x = random_leaf({1 + int64_t(random() % 4), 1 + int64_t(random() % 40), 70}, seed);
  for (uint32_t steps = 2 + random() % 6; steps > 0; --steps) {
    const int64_t width = x.shape().back(), out = widths[random() % 4];
    switch (random() % 6) {
      case 0:
      case 1:
        x = linear(x, random_leaf({out, width}, seed + 1), random_leaf({out}, seed + 2));
        break;
      case 2: x = layer_norm(x, 1, random_leaf({width}, seed + 3), nullptr, 1e-5); break;
      case 3: x = softmax(tanh(x) + x, -1); break;
      case 4: x = matmul(x, transpose(x)); break;
      case 5: x = random_view(x, random) * 2;
    }
    if (stores) evaluate(x);
  }
  return random_view(x, random) + 1;
}

TEST(Trim, ProgramsHaveTheBitsOfTheirStepsOneByOne) {
  install_fusing_evaluator();
  for (uint32_t seed = 0; seed < 500; ++seed) {
    const Value expected = value_of(random_program(seed, true));
    ASSERT_EQ(value_of(random_program(seed, false)), expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mt::testing
