// SPDX-License-Identifier: Apache-2.0
#include "ops/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autodiff/backward.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/check.h"
#include "ops/initialize.h"
#include "ops/philox.h"

namespace mt::testing {
namespace {

void seed(uint64_t value) { Generator::current().set_state({{value, 0}}); }

struct Moments {
  double mean, deviation, least, greatest;
};
Moments moments(const Tensor& x) {
  std::vector<double> v = read(x);
  double n = static_cast<double>(v.size());
  double mean = std::accumulate(v.begin(), v.end(), 0.0) / n, squares = 0;
  for (double number : v) squares += (number - mean) * (number - mean);
  return {mean, std::sqrt(squares / n), *std::min_element(v.begin(), v.end()),
          *std::max_element(v.begin(), v.end())};
}

TEST(Random, IsPhiloxOfSeedStreamAndElement) {
  seed(7);
  uniform({3}, 0, 1, Dtype::float32, cpu());
  std::vector<double> second = read(uniform({5}, 0, 1, Dtype::float32, cpu()));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(second[i], philox_uniform32(7, 1, i));
  EXPECT_EQ(Generator::current().state().value[1], 2u);
}

TEST(Random, Distributions) {
  seed(1);
  constexpr int64_t n = 100000;
  for (Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16, Dtype::float16}) {
    Moments m = moments(uniform({n}, -1, 3, dtype, cpu()));
    EXPECT_NEAR(m.mean, 1, 0.02);
    EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.0), 0.02);
    EXPECT_GE(m.least, -1);
    EXPECT_LT(m.greatest, 3);
    m = moments(normal({n}, 2, 3, dtype, cpu()));
    EXPECT_NEAR(m.mean, 2, 0.05);
    EXPECT_NEAR(m.deviation, 3, 0.05);
  }
  Moments coins = moments(bernoulli({n}, 0.3, Dtype::int32, cpu()));
  EXPECT_NEAR(coins.mean, 0.3, 0.01);
  EXPECT_EQ(moments(bernoulli({n}, 0, Dtype::boolean, cpu())).greatest, 0);
  EXPECT_EQ(moments(bernoulli({n}, 1, Dtype::float32, cpu())).least, 1);
}

// An interval may be longer than the largest number.
TEST(Random, UniformOverTheWholeType) {
  seed(2);
  struct Row {
    Dtype dtype;
    double most;
  };
  for (auto [dtype, most] :
       {Row{Dtype::float64, 1.7e308}, Row{Dtype::float32, 3.4e38}, Row{Dtype::bfloat16, 3.3e38}}) {
    Moments m = moments(uniform({10000}, -most, most, dtype, cpu()) * 0x1p-100 * (0x1p100 / most));
    EXPECT_NEAR(m.mean, 0, 0.03);
    EXPECT_NEAR(m.deviation, 1 / std::sqrt(3.0), 0.02);
    EXPECT_GE(m.least, -1.02);
    EXPECT_LE(m.greatest, 1.02);
  }
  for (const Row& row : {Row{Dtype::float32, 1e39}, Row{Dtype::float16, 7e4}}) {
    EXPECT_NE(message_of([&] { uniform({3}, 0, row.most, row.dtype, cpu()); }), "");
    EXPECT_NE(message_of([&] { uniform({3}, -row.most, 0, row.dtype, cpu()); }), "");
  }
}

TEST(Random, Integers) {
  seed(2);
  std::vector<double> dice = read(integers({60000}, -2, 4, Dtype::int8, cpu()));
  for (int face = -2; face < 4; ++face) {
    EXPECT_NEAR(static_cast<double>(std::count(dice.begin(), dice.end(), face)), 10000, 500);
  }
  // A range that needs more than 32 bits, against the product in 128 bits.
  int64_t low = -3000000000000, high = 5000000000007;
  seed(3);
  Tensor wide = integers({1000}, low, high, Dtype::int64, cpu());
  evaluate(wide);
  for (uint64_t i = 0; i < 1000; ++i) {
    uint64_t u = uint64_t{philox_bits(3, 0, i)} << 32 | philox_bits(3, 1, i);
    auto product = static_cast<unsigned __int128>(u) * static_cast<uint64_t>(high - low);
    EXPECT_EQ(static_cast<const int64_t*>(wide->data())[i],
              low + static_cast<int64_t>(product >> 64));
  }
  EXPECT_EQ(message_of([] { integers({1}, 0, 300, Dtype::uint8, cpu()); }),
            "integers: [0, 300) is no range of uint8");
  expect_near(integers({3}, 255, 256, Dtype::uint8, cpu()), {255, 255, 255});
}

TEST(Random, DevicesAgree) {
  for (int which = 0; which < 5; ++which) {
    std::vector<double> results[3];
    for (int way = 0; way < 3; ++way) {
      seed(9);
      set_eager_mode(way == 2);
      Device& device = way == 1 ? reference() : cpu();
      Tensor x = which == 0   ? uniform({1000}, 0, 1, Dtype::float64, device)
                 : which == 1 ? integers({1000}, 0, 1000003, Dtype::int32, device)
                 : which == 2 ? permutation(1000, device)
                 : which == 3 ? categorical(uniform({1000, 7}, 0, 1, Dtype::float32, device), 1)
                              : bernoulli({1000}, 0.5, Dtype::uint8, device);
      results[way] = read(x);
      set_eager_mode(false);
    }
    EXPECT_EQ(results[0], results[1]) << which;
    EXPECT_EQ(results[0], results[2]) << which;
  }
}

TEST(Random, Permutation) {
  seed(4);
  std::vector<double> order = read(permutation(1000, cpu()));
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], static_cast<double>(i));
  EXPECT_TRUE(read(permutation(0, cpu())).empty());
}

TEST(Random, Dropout) {
  seed(5);
  Tensor x = leaf(make({20000}, std::vector<double>(20000, 1)));
  Tensor y = dropout(x, 0.25, true);
  Tensor dx = gradients({sum(y)}, {}, {x})[0];
  std::vector<double> kept = read(y);
  for (double number : kept) EXPECT_TRUE(number == 0 || std::fabs(number - 4.0 / 3) < 1e-12);
  EXPECT_NEAR(moments(y).mean, 1, 0.02);
  EXPECT_EQ(read(dx), kept);
  EXPECT_EQ(read(dropout(x, 0.25, false)), read(x));
  EXPECT_EQ(moments(dropout(x, 1, true)).greatest, 0);
  EXPECT_EQ(message_of([&] { dropout(x, 1.5, true); }),
            "dropout: probability 1.5 is not within 0 to 1");
}

TEST(Random, Categorical) {
  seed(8);
  Tensor p = make({4, 1}, {0, 1, 2, 5});
  for (Dtype dtype : {Dtype::float64, Dtype::float32, Dtype::bfloat16}) {
    std::vector<double> draws = read(categorical(expand(cast(log(p), dtype), {4, 80000}), 0));
    ASSERT_EQ(draws.size(), 80000u);
    for (int face = 0; face < 4; ++face) {
      EXPECT_NEAR(static_cast<double>(std::count(draws.begin(), draws.end(), face)),
                  read(p)[static_cast<size_t>(face)] * 10000, face == 0 ? 0 : 500);
    }
  }
  EXPECT_EQ(message_of([&] { categorical(cast(p, Dtype::int32), 0); }),
            "categorical: needs floats, got int32");
  EXPECT_EQ(message_of([] {
              categorical(make({2, 0}, {}), 1);
            }),
            "categorical: axis 1 of [2,0] has no classes");
  EXPECT_TRUE(read(categorical(make({0, 3}, {}), 1)).empty());
  EXPECT_FALSE(categorical(leaf(p), -2).requires_gradient());
}

// What weighs all or nothing is outweighed by no noise.
TEST(Random, CategoricalOfExtremes) {
  seed(10);
  Tensor rows = make({4, 3}, {-INFINITY, -1e30, -INFINITY, 0, NAN, INFINITY, 5, 5, INFINITY,  //
                              -INFINITY, -INFINITY, -INFINITY});
  for (Dtype dtype : {Dtype::float64, Dtype::float32}) {
    Tensor many = expand(reshape(cast(rows, dtype), {4, 3, 1}), {4, 3, 5000});
    for (Tensor draws = categorical(many, 1); int row : {0, 1, 2, 3}) {
      double only[] = {1, 1, 2, 0};
      EXPECT_EQ(moments(slice(draws, 0, row, 1, 1)).least, only[row]);
      EXPECT_EQ(moments(slice(draws, 0, row, 1, 1)).greatest, only[row]);
    }
  }
}

TEST(Random, Initialisers) {
  seed(6);
  Shape shape{40, 30, 3, 3};
  EXPECT_NEAR(moments(xavier_normal(shape, 2, Dtype::float32, cpu())).deviation,
              2 * std::sqrt(2.0 / (270 + 360)), 0.003);
  EXPECT_NEAR(moments(kaiming_normal(shape, 0, Dtype::float32, cpu())).deviation,
              std::sqrt(2.0 / 270), 0.003);
  EXPECT_NEAR(moments(kaiming_uniform(shape, 0, Dtype::float32, cpu())).greatest,
              std::sqrt(6.0 / 270), 0.001);
  EXPECT_NEAR(moments(xavier_uniform(shape, 1, Dtype::float32, cpu())).least, -std::sqrt(6.0 / 630),
              0.001);
  for (const Shape& s : {Shape{5, 8}, Shape{8, 5}, Shape{3, 2, 2}}) {
    Tensor q = reshape(orthogonal(s, 2, Dtype::float64, cpu()), {s[0], -1});
    Tensor product =
        q.shape()[0] <= q.shape()[1] ? matmul(q, transpose(q)) : matmul(transpose(q), q);
    std::vector<double> identity;
    for (int64_t i = 0; i < product.size(); ++i) {
      identity.push_back(i % (product.shape()[0] + 1) == 0 ? 4 : 0);
    }
    expect_near(product, identity, 1e-12);
  }
  EXPECT_EQ(message_of([] { kaiming_normal({3}, 0, Dtype::float32, cpu()); }),
            "kaiming_normal: [3]: needs two dimensions");
}

}  // namespace
}  // namespace mt::testing
