// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "autodiff/backward.h"
#include "backends/cpu/instruction_set.h"
#include "backends/cpu/parallel/parallel.h"
#include "base/allocator.h"
#include "fusion/explain.h"
#include "graph/evaluate.h"
#include "graph/variable.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

constexpr double inf = INFINITY;

// The weights formed, as the operator never does. A query that sees nothing gives 0.
Tensor formula(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
               const Attention& how) {
  double scale = how.scale != 0 ? how.scale : 1 / std::sqrt(static_cast<double>(q.shape().back()));
  Tensor scores = matmul(q, transpose(k)) * scale;
  Tensor unseen = number(-inf, q.device());
  if (mask && mask.dtype() == Dtype::boolean) {
    scores = where(expand(mask, scores.shape()), scores, unseen);
  } else if (mask) {
    scores = scores + mask;
  }
  if (how.causal) {
    int64_t n = scores.shape()[scores.rank() - 2], m = scores.shape().back();
    scores = where(
        less_equal(iota({m}, Dtype::int32, q.device()), iota({n, 1}, Dtype::int32, q.device())),
        scores, unseen);
  }
  Tensor zero = number(0, q.device());
  if (scores.size() == 0) return matmul(scores, v);
  Tensor sees = greater(max(detach(scores), {-1}, true), unseen);
  return matmul(where(sees, softmax(where(sees, scores, zero), -1), zero), v);
}

using Operands = std::vector<Tensor>;

// The result and the three gradients.
Operands all_of(const Function& f, const Operands& x) {
  Operands leaves;
  for (const Tensor& t : x) leaves.push_back(leaf(t));
  Operands all{f(leaves)};
  for (const Tensor& gradient : gradients({project(all[0])}, {}, leaves)) all.push_back(gradient);
  return all;
}

void expect_formula(const Operands& x, const Tensor& mask, const Attention& how) {
  auto with = [&](auto f) {
    return all_of([&, f](const Operands& t) { return f(t[0], t[1], t[2], mask, how); }, x);
  };
  Operands found = with(attention), expected = with(formula);
  for (size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("result " + std::to_string(i) + " of " + to_string(x[0].shape()) + ", " +
                 to_string(x[1].shape()) + ", " + to_string(x[2].shape()));
    ASSERT_EQ(to_string(found[i].shape()), to_string(expected[i].shape()));
    expect_near(found[i], read(expected[i]));
  }
}

std::string bytes(const Tensor& x) {
  Tensor own = copy(x);
  evaluate(own);
  return {static_cast<const char*>(own->data()), static_cast<size_t>(own->bytes())};
}

TEST(Attention, EqualsItsFormula) {
  Operands x{noise({2, 3, 4}, 1), noise({2, 5, 4}, 2), noise({2, 5, 2}, 3)};
  expect_formula(x, nullptr, {});
  expect_formula(x, nullptr, {false, 0.3});
  // The first query of a causal call sees the first key alone.
  std::vector<double> y = read(attention(x[0], x[1], x[2], nullptr, {true})), values = read(x[2]);
  EXPECT_DOUBLE_EQ(y[0], values[0]);
  EXPECT_DOUBLE_EQ(y[1], values[1]);
  Tensor visible = make({3, 5}, {1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0}, Dtype::boolean);
  expect_near(attention(x[0], x[1], x[2], visible, {}), y);
  Tensor added = where(visible, number(0, cpu()), number(-inf, cpu()));
  expect_near(attention(x[0], x[1], x[2], added, {}), y);
}

// Blocks of queries and panels of keys that are full, cut short, or a single row.
TEST(Attention, EqualsItsFormulaInAnySize) {
  const int64_t sizes[][4] = {{1, 1, 1, 1},      {1, 33, 5, 70},    {17, 65, 33, 3},
                              {65, 33, 17, 130}, {64, 128, 64, 64}, {130, 300, 7, 5},
                              {3, 70, 5, 4},     {140, 141, 80, 32}};
  // (Few queries against many keys are composed.)
  for (auto [n, m, d, e] : sizes) {
    Operands x{noise({2, n, d}, 1) * 3, noise({2, m, d}, 2) * 3, noise({2, m, e}, 3)};
    for (bool causal : {false, true}) expect_formula(x, nullptr, {causal});
    expect_formula(x, noise({m}, 4) > -0.5, {n == m});
    expect_formula(x, noise({2, n, m}, 4) * 9, {});
  }
}

TEST(Attention, GradientsAndDevices) {
  for (bool causal : {false, true}) {
    Function f = [&](const Operands& t) { return attention(t[0], t[1], t[2], nullptr, {causal}); };
    check_gradients(f, {noise({3, 2}, 1), noise({3, 2}, 2), noise({3, 2}, 3)}, 2);
    check_devices(f, {{2, 2, 9, 4}, {2, 2, 9, 4}, {2, 2, 9, 3}});
    check_devices(f, {{65, 33}, {129, 33}, {129, 17}});
    check_devices(f, {{65, 33}, {129, 33}, {129, 17}}, Dtype::float16, 2e-3);
    check_devices(f, {{20, 5}, {20, 5}, {20, 5}}, Dtype::bfloat16, 1e-2);
  }
  Tensor mask = make({3, 2}, {1, 0, 1, 1, 0, 1}, Dtype::boolean);
  Function masked = [&](const Operands& t) { return attention(t[0], t[1], t[2], mask, {}); };
  check_gradients(masked, {noise({3, 2}, 1), noise({2, 2}, 2), noise({2, 2}, 3)}, 2);
  // A mask that is learnt has a gradient, too.
  Function learnt = [](const Operands& t) { return attention(t[0], t[1], t[2], t[3], {}); };
  check_gradients(learnt, {noise({3, 2}, 1), noise({2, 2}, 2), noise({2, 2}, 3), noise({2}, 4)}, 2);
}

TEST(Attention, LeadingSizesBroadcast) {
  expect_formula({noise({2, 3, 4, 5}, 1), noise({3, 6, 5}, 2), noise({2, 1, 6, 2}, 3)}, nullptr,
                 {});
  expect_formula({noise({4, 5}, 1), noise({6, 5}, 2), noise({3, 6, 2}, 3)}, nullptr, {});
  expect_formula({noise({2, 3, 4, 5}, 1), noise({2, 1, 6, 5}, 2), noise({6, 2}, 3)},
                 noise({2, 1, 1, 6}, 4) > 0, {});
}

// As a layer makes them: parts of one projection, heads beside each other.
TEST(Attention, ReadsViewsWhereTheyLie) {
  Tensor projected = noise({2, 70, 3 * 4 * 9}, 1);
  Function f = [](const Operands& t) {
    Tensor parts[3];
    for (int i = 0; i < 3; ++i) {
      parts[i] = permute(reshape(slice(t[0], 2, i * 36, 36, 1), {2, 70, 4, 9}), {0, 2, 1, 3});
    }
    return attention(parts[0], flip(parts[1], {3}), parts[2], nullptr, {true});
  };
  Function copied = [](const Operands& t) {
    Tensor parts[3];
    for (int i = 0; i < 3; ++i) {
      parts[i] = permute(reshape(slice(t[0], 2, i * 36, 36, 1), {2, 70, 4, 9}), {0, 2, 1, 3});
    }
    return attention(copy(parts[0]), copy(flip(parts[1], {3})), copy(parts[2]), nullptr, {true});
  };
  Operands views = all_of(f, {projected}), copies = all_of(copied, {projected});
  for (size_t i = 0; i < views.size(); ++i) EXPECT_EQ(bytes(views[i]), bytes(copies[i]));
  Tensor leaves = leaf(cast(projected, Dtype::float32));
  EXPECT_EQ(group_count(f({leaves})), 1);
}

// ... and so do their gradients, which no copy puts beside each other.
TEST(Attention, GradientsLieAsOneProduct) {
  auto self_attention = [](bool copies) -> Function {
    return [copies](const Operands& t) {
      const Shape& shape = t[0].shape();
      const Tensor all = reshape(t[0], {shape[0], shape[1], 3, 2, shape[2] / 6});
      Tensor parts[3];
      for (int i = 0; i < 3; ++i) {
        parts[i] = permute(select(all, 2, i), {0, 2, 1, 3});
        if (copies) parts[i] = copy(parts[i]);
      }
      return attention(parts[0], parts[1], parts[2], nullptr, {true});
    };
  };
  for (const Shape& shape : {Shape{5, 150, 6 * 17}, Shape{1, 300, 6 * 16}, Shape{3, 1, 6}}) {
    Operands views = all_of(self_attention(false), {noise(shape, 1)});
    Operands copies = all_of(self_attention(true), {noise(shape, 1)});
    for (size_t i = 0; i < views.size(); ++i) EXPECT_EQ(bytes(views[i]), bytes(copies[i]));
  }
  check_gradients(self_attention(false), {noise({2, 3, 12}, 1)}, 2);
  check_devices(self_attention(false), {{2, 70, 18}});
  const Tensor x = noise({2, 5, 12}, 1), own = leaf(x);
  backward(project(self_attention(false)({own})), nullptr, false);
  const Tensor dx = own->variable->gradient.get();
  EXPECT_EQ(explain(dx).find("concat"), std::string::npos) << explain(dx);
  EXPECT_EQ(bytes(dx), bytes(all_of(self_attention(true), {x})[1]));
}

// ... unless the row would take a dimension too many.
TEST(Attention, GradientsOfAllDimensions) {
  auto self_attention = [](bool copies) -> Function {
    return [copies](const Operands& t) {
      Shape shape, order;
      for (int d = 0; d < max_rank - 4; ++d) shape.push_back(1);
      for (int64_t size : {2, 7, 2, 5}) shape.push_back(size);  // batch, rows, heads, columns
      for (int d = 0; d < max_rank; ++d) order.push_back(d);
      std::swap(order[max_rank - 3], order[max_rank - 2]);
      Tensor parts[3];
      for (int i = 0; i < 3; ++i) {
        parts[i] = permute(reshape(slice(t[0], 2, i * 10, 10, 1), shape), order);
        if (copies) parts[i] = copy(parts[i]);
      }
      return attention(parts[0], parts[1], parts[2], nullptr, {true});
    };
  };
  const Tensor x = noise({2, 7, 30}, 1);
  Operands views = all_of(self_attention(false), {x}), copies = all_of(self_attention(true), {x});
  for (size_t i = 0; i < views.size(); ++i) EXPECT_EQ(bytes(views[i]), bytes(copies[i]));
}

TEST(Attention, SizesOfZero) {
  for (Shape lead : {Shape{}, Shape{0}, Shape{2}}) {
    auto shape = [&](int64_t n, int64_t d) {
      Shape all = lead;
      all.push_back(n);
      all.push_back(d);
      return all;
    };
    expect_formula({noise(shape(0, 4), 1), noise(shape(5, 4), 2), noise(shape(5, 2), 3)}, nullptr,
                   {});
    expect_formula({noise(shape(3, 4), 1), noise(shape(0, 4), 2), noise(shape(0, 2), 3)}, nullptr,
                   {});
    expect_formula({noise(shape(3, 4), 1), noise(shape(5, 4), 2), noise(shape(5, 0), 3)}, nullptr,
                   {});
  }
}

// A query that sees no key gives 0 and has no gradient. Others are not affected, wherever their
// first visible key is.
TEST(Attention, QueriesThatSeeNothing) {
  Operands x{noise({12, 4}, 1), noise({300, 4}, 2), noise({300, 2}, 3)};
  Tensor from = make({12, 1}, {0, 290, 300, 0, 1, 2, 3, 4, 5, 6, 7, 299}, Dtype::int32);
  Tensor visible = greater_equal(iota({300}, Dtype::int32, cpu()), from);
  Tensor y = attention(x[0], x[1], x[2], visible, {});
  expect_near(y, read(formula(x[0], x[1], x[2], visible, {})));
  std::vector<double> numbers = read(y);
  EXPECT_NE(numbers[3], 0);
  EXPECT_EQ(numbers[4], 0);
  EXPECT_EQ(numbers[5], 0);
  Tensor wide = x[0] * 1e3;  // weights far apart
  expect_near(attention(wide, x[1], x[2], nullptr, {}),
              read(formula(wide, x[1], x[2], nullptr, {})));
}

// ... in each of the ways that it is computed: few queries, a block, several blocks.
TEST(Attention, AQueryThatIsNaNGivesNaN) {
  Numbers rows(40, 0);
  rows[5] = 1;
  const Tensor is_one = make({40, 1}, rows, Dtype::boolean);
  for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
    const Tensor query = noise({2, 40, 8}, 1, dtype), key = noise({2, 40, 8}, 2, dtype);
    const Tensor broken = where(is_one, full({}, std::nan(""), dtype, query.device()), query);
    const Numbers values = read(attention(broken, key, noise({2, 40, 8}, 3, dtype), nullptr, {}));
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(std::isnan(values[i]), i / 8 % 40 == 5) << name_of(dtype) << " " << i;
    }
  }
}

TEST(Attention, NothingSeenHasNoGradient) {
  for (auto [n, m] : {std::pair<int64_t, int64_t>{5, 4}, {5, 100}, {70, 150}, {150, 70}}) {
    Operands x{noise({2, n, 9}, 1), noise({2, m, 9}, 2), noise({2, m, 8}, 3)};
    Tensor row = iota({n, 1}, Dtype::int32, cpu());
    Tensor visible =
        logical_and(noise({2, n, m}, 4) > -0.5, logical_not(equal(row, number(3, cpu()))));
    // All queries of one entry, and with `causal` the first one, which sees one key at most.
    Tensor entry = iota({2, 1, 1}, Dtype::int32, cpu());
    Tensor few = logical_and(equal(entry, number(1, cpu())), noise({n, m}, 5) > 0);
    few = logical_and(few, iota({m}, Dtype::int32, cpu()) > 0);
    for (const Tensor& seen : {visible, few}) {
      for (bool causal : {false, true}) {
        expect_formula(x, seen, {causal});
        expect_formula(x, where(seen, noise({m}, 6), number(-inf, cpu())), {causal});
      }
    }
    Tensor none = make({1, 1}, {0}, Dtype::boolean);
    for (const Tensor& result :
         all_of([&](const Operands& t) { return attention(t[0], t[1], t[2], none, {}); }, x)) {
      for (double number : read(result)) ASSERT_EQ(number, 0);
    }
    for (Dtype dtype : {Dtype::float32, Dtype::float16}) {
      auto after_the_first = [&, m = m](const Operands& t) {
        Device& d = t[0].device();
        Tensor hidden = equal(iota({m}, Dtype::int32, d), number(0, d));
        return attention(t[0], t[1], t[2], logical_not(hidden), {true});
      };
      check_devices(after_the_first, {{2, n, 9}, {2, m, 9}, {2, m, 8}}, dtype,
                    dtype == Dtype::float16 ? 2e-3 : 1e-5);
    }
  }
  Tensor mask = make({3, 2}, {0, 0, 1, 1, 0, 1}, Dtype::boolean);
  Function masked = [&](const Operands& t) { return attention(t[0], t[1], t[2], mask, {}); };
  check_gradients(masked, {noise({3, 2}, 1), noise({2, 2}, 2), noise({2, 2}, 3)}, 2);
  // A mask that is learnt.
  Operands x{noise({3, 2}, 1), noise({2, 2}, 2), noise({2, 2}, 3)};
  x.push_back(where(mask, noise({3, 2}, 4), number(-inf, cpu())));
  for (const Tensor& result :
       all_of([](const Operands& t) { return attention(t[0], t[1], t[2], t[3], {}); }, x)) {
    for (double number : read(result)) EXPECT_TRUE(std::isfinite(number));
  }
}

TEST(Attention, TheSameBitsOnAnyMachine) {
  Operands x;
  for (unsigned i = 0; i < 3; ++i) x.push_back(noise({3, 150, 33}, i, Dtype::float32) * 2);
  Tensor mask = logical_and(noise({150, 150}, 4) > -0.8, noise({150, 1}, 5) > -0.9);
  auto run = [&](bool causal) {
    std::string all;
    for (const Tensor& result : all_of(
             [&](const Operands& t) {
               return attention(t[0], t[1], t[2], causal ? Tensor() : mask, {causal});
             },
             x)) {
      all += bytes(result);
    }
    return all;
  };
  for (bool causal : {false, true}) {
    cpu::set_thread_count(1);
    std::string expected = run(causal);
    for (int threads : {2, 3, 16}) {
      cpu::set_thread_count(threads);
      EXPECT_EQ(run(causal), expected) << threads << " threads";
    }
    cpu::set_thread_count(0);
    for (const char* set : {"AVX3", "AVX2", "SCALAR"}) {
      if (!cpu::set_instruction_set(set)) continue;
      EXPECT_EQ(run(causal), expected) << set;
    }
    cpu::set_instruction_set(nullptr);
  }
}

// A weight of 0 times infinity is NaN: for which queries that see the key, and for which others
// that are worked on with them, is the same on all machines.
TEST(Attention, TheSameNaNsOnAnyMachine) {
  for (int64_t width : {8, 33, 64}) {
    Operands x;
    for (unsigned i = 0; i < 3; ++i) x.push_back(noise({150, width}, i, Dtype::float32));
    x[2] = where(equal(iota({150, 1}, Dtype::int32, cpu()), number(75, cpu())), number(inf, cpu()),
                 x[2]);
    auto run = [&] {
      std::string all;
      for (const Tensor& result : all_of(
               [](const Operands& t) { return attention(t[0], t[1], t[2], nullptr, {true}); }, x)) {
        all += bytes(not_equal(result, result));
      }
      return all;
    };
    std::string expected = run();
    EXPECT_NE(expected.find('\1'), std::string::npos);
    EXPECT_EQ(expected.substr(0, static_cast<size_t>(64 * width)).find('\1'), std::string::npos);
    for (const char* set : {"AVX3", "AVX2", "SCALAR"}) {
      if (!cpu::set_instruction_set(set)) continue;
      EXPECT_EQ(run(), expected) << set << ", " << width;
    }
    cpu::set_instruction_set(nullptr);
  }
}

TEST(Attention, DropsWeightsInTraining) {
  Tensor q = noise({2, 4, 8}, 1);
  Attention how;
  how.dropout = 1;
  expect_near(attention(q, q, q, nullptr, how), read(formula(q, q, q, nullptr, {})));
  how.training = true;
  expect_near(attention(q, q, q, nullptr, how), std::vector<double>(64, 0));
}

TEST(Attention, IsOnePass) {
  Tensor q = noise({2, 4, 64, 32}, 1, Dtype::float32);
  EXPECT_EQ(group_count(attention(q, q, q, nullptr, {true})), 1);
}

// The weights of this length would take a gigabyte.
TEST(Attention, MemoryGrowsWithTheLengthAlone) {
  constexpr int64_t length = 16384, width = 8;
  Operands x;
  for (unsigned i = 0; i < 3; ++i) x.push_back(leaf(noise({length, width}, i, Dtype::float32)));
  evaluate(x.data(), x.size());
  int64_t before = host_allocator().statistics().in_use;
  host_allocator().reset_peak();
  Tensor y = attention(x[0], x[1], x[2], nullptr, {true});
  Operands slopes = gradients({sum(y)}, {}, x);
  slopes.push_back(y);
  evaluate(slopes.data(), slopes.size());
  int64_t peak = host_allocator().statistics().peak - before;
  EXPECT_LE(peak, 16 * length * width * 4);
  EXPECT_GE(peak, 4 * length * width * 4);  // or it would not have been seen
}

TEST(Attention, NamesFaults) {
  auto message = [](const Shape& q, const Shape& k, const Shape& v, const Tensor& mask = nullptr) {
    return message_of([&] { attention(noise(q, 1), noise(k, 1), noise(v, 1), mask, {}); });
  };
  EXPECT_EQ(
      message({3, 2}, {3, 4}, {3, 2}),
      "scaled_dot_product_attention: query [3,2], key [3,4], value [3,2]: must be [..., n, d], "
      "[..., m, d], [..., m, e]");
  EXPECT_EQ(message({3, 2}, {5, 2}, {5, 2}, noise({3, 4}, 1)),
            "scaled_dot_product_attention: shapes [3,5] and [3,4] do not broadcast");
  EXPECT_EQ(message({3, 2}, {5, 2}, {5, 2}, noise({2, 3, 5}, 1)),
            "scaled_dot_product_attention: mask [2,3,5] does not broadcast to the scores [3,5]");
  EXPECT_EQ(message_of([] {
              Tensor x = cast(noise({3, 2}, 1), Dtype::int32);
              attention(x, x, x, nullptr, {});
            }),
            "scaled_dot_product_attention: needs floats");
  for (Dtype dtype : {Dtype::int64, Dtype::uint8}) {
    EXPECT_EQ(message({3, 2}, {5, 2}, {5, 2}, cast(noise({3, 5}, 1), dtype)),
              std::string("scaled_dot_product_attention: a mask of ") + name_of(dtype) +
                  "; it must be bool, which says who is seen, or floats, which are added");
  }
}

}  // namespace
}  // namespace mt::testing
