// SPDX-License-Identifier: Apache-2.0
// What fuses with what, exactly.
#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "backends/cpu/parallel/parallel.h"
#include "fusion/explain.h"
#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "fusion/support.h"
#include "graph/modes.h"
#include "graph/window.h"

namespace mt::testing {
namespace {

// The region and plan that a read of all these would run.
struct Planned {
  Region region;
  Grouping grouping;
  Plan plan;

  explicit Planned(std::vector<Tensor> tensors) {
    Window& window = Window::current();
    OwnerLock::Hold hold(window.lock, &current_thread());
    select(window, tensors.data(), tensors.size());
    build_region(window, tensors[0].device(), &region);
    grouping = group_items(region);
    make_plan(region, &plan);
  }
  size_t groups() const { return plan.groups.size(); }
  const FusedProgram* fused(size_t group) const { return fused_program(plan.groups[group]); }
  size_t totals(size_t group) const { return fused(group) ? fused(group)->totals.size() : 0; }
  bool has_epilogue(size_t group) const {
    return plan.groups[group].kind() == GroupKind::contract && fused(group);
  }
  int64_t outputs() const {
    int64_t count = 0;
    for (const Buffer& buffer : plan.buffers) count += buffer.kind == BufferKind::output;
    return count;
  }
};

class Grouping : public ::testing::Test {
 protected:
  void SetUp() override {
    install_fusing_evaluator();
    flush();  // what earlier tests left
  }
};

TEST_F(Grouping, ElementwiseChainWithBroadcastingIsOneGroup) {
  Tensor x = random_leaf({30, 20}), row = random_leaf({20}), column = random_leaf({30, 1});
  Tensor y = tanh(x * row + column) * 2.0 - mt::where(x > 0.0, x, column);
  Planned planned({y});
  EXPECT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::map);
  EXPECT_EQ(planned.plan.arena_bytes, 0);
}

TEST_F(Grouping, CastsAndViewsDoNotSplitAChain) {
  Tensor x = random_leaf({6, 8}), y = random_leaf({8, 6});
  Tensor z =
      cast(cast(exp(x), Dtype::float16) + cast(transpose(y), Dtype::float16), Dtype::float32);
  EXPECT_EQ(Planned({z}).groups(), 1u);
}

TEST_F(Grouping, SoftmaxIsOneGroup) {
  Tensor x = random_leaf({64, 100});
  Tensor e = exp(x - max(x, {-1}, true));
  Planned planned({e / sum(e, {-1}, true)});
  EXPECT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::row);
  EXPECT_EQ(planned.plan.arena_bytes, 0);
}

TEST_F(Grouping, LayerNormIsOneGroup) {
  Tensor x = random_leaf({64, 100}), gain = random_leaf({100}), bias = random_leaf({100});
  Tensor centred = x - mean(x, {-1}, true);
  Tensor y = centred * rsqrt(mean(square(centred), {-1}, true) + 1e-5) * gain + bias;
  Planned planned({y});
  EXPECT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::row);
}

TEST_F(Grouping, CrossEntropyRowsAreOneGroup) {
  Tensor x = random_leaf({64, 10}), target = random_leaf({64, 10});
  Tensor shifted = x - max(x, {-1}, true);
  Tensor losses = sum(target * (log(sum(exp(shifted), {-1}, true)) - shifted), {-1});
  EXPECT_EQ(Planned({losses}).groups(), 1u);
}

TEST_F(Grouping, NothingOfALongReductionsInputIsStored) {
  cpu::set_thread_count(2);  // one thread takes rows of this length whole
  Tensor x = random_leaf({300, 200}), y = random_leaf({300, 200}, 2);
  for (const Dims& axes : {Dims{0}, Dims{}}) {
    Planned planned({sum(exp(x) * y, axes)});
    ASSERT_EQ(planned.groups(), 1u);
    EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::reduce);
    EXPECT_EQ(planned.plan.arena_bytes, 0);
  }
  cpu::set_thread_count(0);
}

TEST_F(Grouping, BiasAndActivationAreTheEpilogueOfAContraction) {
  Tensor x = random_leaf({32, 40}), w = random_leaf({40, 50}), bias = random_leaf({50});
  Planned planned({relu(matmul(x, w) + bias)});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::contract);
  EXPECT_TRUE(planned.has_epilogue(0));
  EXPECT_EQ(planned.plan.arena_bytes, 0);  // it writes where the epilogue stores
}

TEST_F(Grouping, AnEpilogueTakesOverMemoryButNotItsContractionsFactors) {
  auto taken = [](bool is_factor) {
    Tensor a = random_leaf({40, 40}), w = random_leaf({40, 40}, 2);
    Tensor y = w - matmul(is_factor ? w : a, a) * 0.5;
    w = nullptr;
    Planned planned({y});
    EXPECT_EQ(planned.groups(), 1u);
    EXPECT_TRUE(planned.has_epilogue(0));
    return std::any_of(planned.plan.buffers.begin(), planned.plan.buffers.end(),
                       [](const Buffer& buffer) { return buffer.donor >= 0; });
  };
  EXPECT_TRUE(taken(false));
  EXPECT_FALSE(taken(true));
}

// y is made of x - mean and a number for each row, which z's sum reads anyway.
TEST_F(Grouping, WhatIsMadeOfStoredValuesIsComputedAgain) {
  Tensor x = exp(random_leaf({300, 200})), w = random_leaf({200, 30}, 2);
  Tensor centred = x - mean(x, {1}, true), scale = rsqrt(mean(square(centred), {1}, true));
  Tensor y = centred * scale, product = matmul(y + 1.0, w);
  Tensor later = matmul(product, transpose(w));
  std::vector<Tensor> read{sum(later * y, {0}), sum(later * centred, {0})};
  Planned planned(read);
  int64_t stored = 0;  // arrays of x's size: centred, y + 1 and later, but not y
  for (const Buffer& buffer : planned.plan.buffers) {
    stored += buffer.kind != BufferKind::leaf && buffer.bytes == x->bytes();
  }
  EXPECT_EQ(stored, 3);
  std::vector<Value> values = evaluated(read);
  set_eager_mode(true);
  Tensor again = centred * scale;
  set_eager_mode(false);
  EXPECT_EQ(values[0], value_of(sum(later * again, {0})));
}

// A sum over columns reads it from memory, rather than that what the rows need is written for it.
TEST_F(Grouping, RowsAreCompletedBeforeTheirColumnsAreSummed) {
  Tensor x = random_leaf({300, 200}), y = exp(x) * 0.5;
  Tensor centred = y - mean(y, {1}, true);
  Planned planned({centred, sum(centred, {0})});
  ASSERT_EQ(planned.groups(), 2u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::row);
  EXPECT_EQ(planned.plan.groups[1].kind(), GroupKind::reduce);
  EXPECT_EQ(planned.plan.arena_bytes, 0);
}

TEST_F(Grouping, RowsAndTheirColumnsTotalsAreOneGroup) {
  Tensor x = random_leaf({600, 65}), dy = random_leaf({600, 65}, 2), w = random_leaf({65}, 3);
  Tensor centred = x - mean(x, {1}, true);
  Tensor y = centred * rsqrt(mean(square(centred), {1}, true));
  Tensor dx = dy * w - y * mean(dy * y, {1}, true);
  auto total = [](const Tensor& value) { return sum(value, {0}); };
  Planned planned({dx, total(dy * y), total(dy), max(y, {0}), prod(cast(x, Dtype::float64), {0}),
                   min(cast(dy, Dtype::int32), {0})});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::row);
  EXPECT_EQ(planned.totals(0), 5u);
  EXPECT_EQ(planned.plan.arena_bytes, 0);
}

TEST_F(Grouping, ElementsAndTotalsOfTheSameAreOneGroup) {
  Tensor x = random_leaf({600, 65}), w = random_leaf({65}, 2);
  Planned planned({exp(x * w), sum(x * 2.0, {0}), sum(square(x), {0})});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.totals(0), 2u);
  Tensor a = random_leaf({600, 30}), b = random_leaf({30, 65}), y = matmul(a, b);
  Planned epilogue({exp(y), sum(x * w, {0}), tanh(y) + x});
  ASSERT_EQ(epilogue.groups(), 2u);
  EXPECT_TRUE(epilogue.has_epilogue(0) || epilogue.has_epilogue(1));
}

// What reads a total must wait for all rows.
TEST_F(Grouping, ATotalIsReadByAnotherGroup) {
  Tensor x = random_leaf({600, 65});
  Tensor y = x - max(x, {1}, true), scaled = y * sum(square(y), {0});
  Planned planned({y, sum(y, {0}), scaled});
  ASSERT_EQ(planned.groups(), 2u);
  EXPECT_EQ(planned.totals(0), 2u);
  EXPECT_EQ(planned.totals(1), 0u);
}

// Few panels of rows would leave threads without work, and short rows are gone through across.
TEST_F(Grouping, FewOrShortRowsHaveNoTotals) {
  for (const Shape& shape : {Shape{300, 200}, Shape{6000, 16}}) {
    Tensor x = random_leaf(shape);
    Planned planned({x - max(x, {1}, true), sum(x, {0})});
    EXPECT_EQ(planned.groups(), 2u);
  }
}

TEST_F(Grouping, SoftmaxIsAnEpilogueToo) {
  Tensor x = random_leaf({32, 40}), w = random_leaf({40, 50});
  Tensor y = matmul(x, w);
  Tensor e = exp(y - max(y, {-1}, true));
  Planned planned({e / sum(e, {-1}, true)});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_TRUE(planned.has_epilogue(0));
}

TEST_F(Grouping, ReadersOfTheSameValueAreOneGroup) {
  Tensor x = random_leaf({32, 40}), w = random_leaf({40, 50});
  EXPECT_EQ(Planned({exp(x), sin(x), sum(x, {-1}), max(x, {-1}, true)}).groups(), 1u);
  Tensor y = matmul(x, w);
  Planned planned({tanh(y), exp(sum(y, {-1}, true))});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_TRUE(planned.has_epilogue(0));
}

// Without elements 1 row and 7 are as large, but have results of their own.
TEST_F(Grouping, ReadersOfNoElementsAreAsManyGroupsAsTheyHaveRows) {
  Tensor x = random_leaf({7, 0});
  Tensor whole = sum(cast(x, Dtype::float64)), rows = prod(cast(x, Dtype::float64), {-1});
  EXPECT_EQ(Planned({whole, rows}).groups(), 2u);
}

// Rows of the whole of x would be no rows of the product.
TEST_F(Grouping, AReductionDoesNotTakeAnEpilogueFromAContraction) {
  Tensor x = random_leaf({32, 50}), a = random_leaf({32, 40}), b = random_leaf({40, 50});
  Planned planned({matmul(a, b) * exp(sum(x))});
  ASSERT_EQ(planned.groups(), 2u);
  EXPECT_TRUE(planned.has_epilogue(1));
}

TEST_F(Grouping, AStoredValueIsComputedAlongWithItsLongReduction) {
  Tensor x = random_leaf({300, 200});
  Tensor y = exp(x);
  Planned planned({y, sum(y, {0})});
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::reduce);
}

TEST_F(Grouping, UpdatesOfAHundredTensorsAreOneGroupOfAHundredSegments) {
  std::vector<Tensor> updated;
  for (int64_t i = 0; i < 100; ++i) {
    Tensor w = random_leaf({i + 2, i % 7 + 2}), gradient = random_leaf({i + 2, i % 7 + 2});
    updated.push_back(w - gradient * 0.125);
  }
  Planned planned(updated);
  ASSERT_EQ(planned.groups(), 1u);
  EXPECT_EQ(planned.fused(0)->segments.size(), 100u);
  EXPECT_EQ(planned.outputs(), 100);
  for (const Tensor& tensor : updated) value_of(tensor);
}

// A group that moves to join another must not pass one that takes over memory it reads.
TEST_F(Grouping, JoiningAcrossTheGraphMindsMemoryThatIsTakenOver) {
  std::vector<Value> expected, fused;
  for (bool eager : {true, false}) {
    Tensor shared = random_leaf({100}), other = random_leaf({100});
    set_eager_mode(eager);
    Tensor a = sin(shared), b = exp(shared), c = sin(other);
    set_eager_mode(false);
    shared = nullptr;
    (eager ? expected : fused) = evaluated({a, b, c});
  }
  EXPECT_EQ(difference(expected, fused), "");
}

TEST_F(Grouping, BroadcastProductAndSumIsAContraction) {
  int64_t m = 64, n = 48, k = 80;
  Tensor a = parameter({m, k}), b = parameter({n, k});
  int64_t product = m * n * k * 4;
  auto loss_of = [&] {
    Tensor c = sum(unsqueeze(a, 1) * unsqueeze(b, 0), {-1});
    return sum(square(c));
  };
  {
    Tensor c = sum(unsqueeze(a, 1) * unsqueeze(b, 0), {-1});
    Planned planned({c});
    ASSERT_EQ(planned.groups(), 1u);
    EXPECT_EQ(planned.plan.groups[0].kind(), GroupKind::contract);
  }
  host_allocator().reset_peak();
  int64_t before = host_allocator().statistics().in_use;
  backward(loss_of(), nullptr, false);
  value_of(a->variable->gradient.get());
  value_of(b->variable->gradient.get());
  EXPECT_LT(host_allocator().statistics().peak - before, product / 2);
}

TEST_F(Grouping, EveryEdgeThatIsNotFusedHasAReason) {
  size_t refused = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Graph graph = random_graph(seed);
    std::vector<Tensor> sources;
    for (const Source& source : graph.sources) {
      sources.push_back(source_value(graph, source, 0, find_device("cpu")));
    }
    Slots slots;
    std::vector<Tensor> results = run(graph, sources, &slots, true);
    std::vector<Tensor> wanted;
    for (const Tensor& result : results) {
      if (!result->ready() && !(result->base && result->base->ready())) wanted.push_back(result);
    }
    if (wanted.empty()) continue;
    Planned planned(wanted);
    const auto& items = planned.region.items;
    for (size_t i = 0; i < items.size(); ++i) {
      for (const Edge& edge : planned.region.edges_of(items[i])) {
        int value = edge.value;
        if (value < 0) continue;
        int from = planned.grouping.group_of[static_cast<size_t>(value)];
        if (from < 0 || from == planned.grouping.group_of[i]) continue;
        OpKind kind = items[static_cast<size_t>(value)].node->op->kind;
        if (kind == OpKind::call || kind == OpKind::constant || kind == OpKind::iota) continue;
        ++refused;
        EXPECT_NE(planned.grouping.refusal[static_cast<size_t>(value)], nullptr)
            << "seed " << seed << ": " << items[static_cast<size_t>(value)].node->op->name
            << " read by " << items[i].node->op->name;
      }
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST_F(Grouping, ExplanationNamesGroupsAndReasons) {
  Tensor x = random_leaf({8, 9});
  Tensor y = exp(x);
  Tensor z = matmul(y, transpose(y)) + 1.0;
  std::string text = explain(z);
  EXPECT_NE(text.find("contraction with epilogue"), std::string::npos) << text;
  EXPECT_NE(text.find("not fused: %0 exp: a contraction reads it from memory"), std::string::npos)
      << text;
  EXPECT_NE(explain_dot(z).find("subgraph cluster_1"), std::string::npos);
  value_of(z);
  EXPECT_EQ(explain(z), "the value is there: nothing runs\n");
}

// Row by row where tiles are whole rows, else in pieces: the bits are those of one by one.
TEST_F(Grouping, AnEpilogueGivesWhatItsOperatorsGiveAlone) {
  install_fusing_evaluator();
  struct Sizes {
    int64_t batch, rows, inner, columns;
  };
  for (const Sizes& s : {Sizes{1, 10, 2, 100}, Sizes{1, 10, 100, 100}, Sizes{3, 7, 40, 33},
                         Sizes{2, 50, 64, 1100}, Sizes{1, 9, 5000, 20}, Sizes{1, 300, 8, 16}}) {
    Tensor x = random_leaf({s.batch, s.rows, s.inner}, 1);
    Tensor w = random_leaf({s.columns, s.inner}, 2), bias = random_leaf({s.columns}, 3);
    Tensor scale = random_leaf({s.rows, 1}, 4), fused = matmul(x, transpose(w));
    fused = mul(relu(add(fused, bias)), scale);
    Tensor product = matmul(x, transpose(w));
    evaluate(product);
    Tensor sum = add(product, bias);
    evaluate(sum);
    Tensor alone = relu(sum);
    evaluate(alone);
    alone = mul(alone, scale);
    EXPECT_EQ(difference({value_of(fused)}, {value_of(alone)}), "") << s.columns;
  }
}

}  // namespace
}  // namespace mt::testing
