// SPDX-License-Identifier: Apache-2.0
// What a trace notices of the world around the function that it recorded.
#include "fusion/trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>

#include "autodiff/backward.h"
#include "base/allocator.h"
#include "base/error.h"
#include "fusion/support.h"
#include "ops/checked_indices.h"
#include "ops/gather.h"
#include "ops/random.h"

namespace mt::testing {
namespace {

struct Traced {
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
  Trace trace;

  std::vector<Tensor> operator()(const std::vector<Tensor>& inputs) {
    install_fusing_evaluator();
    return trace.call(inputs, {[](void* self, const std::vector<Tensor>& given) {
                                 return static_cast<Traced*>(self)->function(given);
                               },
                               this, 1});
  }
};

Tensor integers(std::initializer_list<int64_t> values) {
  Ref<Storage> storage = Storage::allocate(find_device("cpu"), values.size() * sizeof(int64_t));
  std::memcpy(storage->data(), values.begin(), values.size() * sizeof(int64_t));
  return make_leaf(storage, Dtype::int64, contiguous_layout({static_cast<int64_t>(values.size())}));
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Trace, AGradientThatIsClearedFirstMayBeThereOrNot) {
  Tensor w = parameter({3});
  Traced step{[&](const std::vector<Tensor>& in) {
                w->variable->gradient.set(nullptr);
                Tensor loss = sum(square(w * in[0]));
                backward(loss, nullptr, false);
                return std::vector<Tensor>{loss};
              },
              {}};
  Tensor x = random_leaf({3}, 2);
  step({x});
  Value first = value_of(w->variable->gradient.get());
  for (int i = 0; i < 3; ++i) step({x});
  EXPECT_EQ(step.trace.count(), 1u);
  EXPECT_EQ(value_of(w->variable->gradient.get()), first);  // not added up
}

TEST(Trace, APartThatIsHandedOutIsComputedAlone) {
  install_fusing_evaluator();
  const Tensor w = random_leaf({96, 48}, 1), x = random_leaf({32, 48}, 2);
  Traced pick{[&](const std::vector<Tensor>& in) {
                return std::vector<Tensor>{select(linear(in[0], w, nullptr), 0, -1)};
              },
              {}};
  const Tensor whole = linear(x, w, nullptr);
  evaluate(whole);
  for (int i = 0; i < 2; ++i) {
    const Tensor last = pick({x})[0];
    EXPECT_EQ(value_of(last), value_of(select(whole, 0, -1)));
    EXPECT_EQ(last->storage->bytes(), 96 * sizeof(float));
  }
  const std::string plan = pick.trace.explain();
  EXPECT_EQ(plan.find("float32[32,96]"), std::string::npos) << plan;
}

TEST(Trace, APartOfWhatIsKeptIsNotCopied) {
  install_fusing_evaluator();
  const Tensor w = random_leaf({96, 48}, 1), x = random_leaf({32, 48}, 2);
  Traced both{[&](const std::vector<Tensor>& in) {
                const Tensor y = linear(in[0], w, nullptr);
                return std::vector<Tensor>{y, select(y, 0, -1)};
              },
              {}};
  StateSlot state(random_leaf({32, 96}, 3));
  Traced keeping{[&](const std::vector<Tensor>& in) {
                   state.set(linear(in[0], w, nullptr));
                   return std::vector<Tensor>{select(state.get(), 0, -1)};
                 },
                 {}};
  Traced keeping_half{[&](const std::vector<Tensor>& in) {
                        const Tensor y = linear(in[0], w, nullptr);
                        state.set(slice(y, 0, 0, 16, 1));
                        return std::vector<Tensor>{select(y, 0, -1)};
                      },
                      {}};
  const Value expected = value_of(select(linear(x, w, nullptr), 0, -1));
  for (int i = 0; i < 2; ++i) {
    const std::vector<Tensor> results = both({x});
    EXPECT_EQ(value_of(results[1]), expected);
    EXPECT_EQ(results[1]->storage.get(), results[0]->storage.get());
    for (Traced* traced : {&keeping, &keeping_half}) {
      const Tensor last = (*traced)({x})[0];
      EXPECT_EQ(value_of(last), expected);
      EXPECT_EQ(last->storage.get(), state.get()->storage.get());
    }
  }
}

TEST(Trace, ViewsOfWhatItWasGivenMayLeaveIt) {
  const Tensor x = random_leaf({2, 3}, 2);
  auto views = [](const Tensor& of) {
    const Tensor view = transpose(of);
    return std::vector<Tensor>{view, reshape(view, {6}), slice(of * 3.0, 1, 0, 2, 1), view * 2.0};
  };
  const std::vector<Value> expected = evaluated(views(x));
  for (bool at_once : {true, false}) {
    std::vector<Tensor> kept;
    Traced keeping{[&](const std::vector<Tensor>& in) {
                     kept = views(in[0]);
                     return std::vector<Tensor>{in[0] + 1.0};
                   },
                   {}};
    keeping({x});
    if (at_once) {
      EXPECT_EQ(evaluated(kept), expected);
    } else {
      for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(value_of(kept[i]), expected[i]) << i;
    }
  }
}

// A view that was recorded in a trace stays pending; what it is a view of is not free because the
// view is read often.
TEST(Trace, AViewThatLeavesOneKeepsWhatItIsAViewOf) {
  install_fusing_evaluator();
  Tensor x = random_leaf({64, 64}) + 0.0;
  evaluate(x);
  const Value expected = value_of(reshape(x, {32, 128}) + 0.0);
  Tensor view;
  Traced leaves{[&](const std::vector<Tensor>& in) -> std::vector<Tensor> {
                  view = reshape(in[0], {32, 128});
                  fail(Code::invalid, "no result");
                },
                {}};
  EXPECT_THROW(leaves({x}), Error);
  x = nullptr;
  ASSERT_FALSE(view->ready());
  std::vector<Tensor> read;
  for (int i = 0; i < 2; ++i) read.push_back(view * (i + 2.0));  // as often as it refers to x
  const Tensor all = read[0] + read[1];
  read.clear();
  evaluate(all);
  EXPECT_EQ(value_of(view + 0.0), expected);
}

TEST(Trace, AGradientThatIsAddedToIsRecordedForBoth) {
  Tensor w = parameter({3});
  Traced step{[&](const std::vector<Tensor>& in) {
                Tensor loss = sum(square(w * in[0]));
                backward(loss, nullptr, false);
                return std::vector<Tensor>{loss};
              },
              {}};
  Tensor x = random_leaf({3}, 2);
  for (int i = 0; i < 3; ++i) step({x});
  EXPECT_EQ(step.trace.count(), 2u);
}

TEST(Trace, StateLivesOnInItsPlaceUnlessSomebodyKeepsIt) {
  StateSlot state(random_leaf({100}, 3));
  Traced step{[&](const std::vector<Tensor>& in) {
                Tensor next = state.get() + in[0];
                state.set(next);
                return std::vector<Tensor>{sum(next)};
              },
              {}};
  Tensor x = random_leaf({100}, 4);
  for (int i = 0; i < 3; ++i) step({x});
  const Node* place = state.get().node();
  Value before = value_of(state.get());
  step({x});
  EXPECT_EQ(state.get().node(), place);
  Tensor kept = state.get();
  Value then = value_of(kept), by_hand = value_of(kept + x);
  EXPECT_NE(then, before);
  step({x});
  EXPECT_NE(state.get().node(), place);
  EXPECT_EQ(value_of(kept), then);
  EXPECT_EQ(value_of(state.get()), by_hand);
}

// As `y[5:] = 0` binds a short y to what it is.
TEST(Trace, StateThatItMadeMayBeSetToWhatItHolds) {
  for (bool is_alone : {true, false}) {
    std::optional<StateSlot> local;
    Traced set{[&](const std::vector<Tensor>& in) {
                 local.emplace();
                 local->cell().replace(in[0] * 2.0);
                 local->set(local->cell().peek());
                 Tensor y = local->get() + 1.0;
                 if (is_alone) local.reset();
                 return std::vector<Tensor>{y};
               },
               {}};
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const Tensor x = random_leaf({3}, seed);
      EXPECT_EQ(value_of(set({x})[0]), value_of(x * 2.0 + 1.0));
      if (local) {
        EXPECT_EQ(value_of(local->get()), value_of(x * 2.0));
      }
    }
    EXPECT_EQ(set.trace.count(), 1u);
  }
}

TEST(Trace, IndicesAreCheckedAtEachReplay) {
  Tensor table = random_leaf({5, 2});
  StateSlot state(random_leaf({2}));
  evaluate(state.get());
  Traced pick{[&](const std::vector<Tensor>& in) {
                state.set(state.get() * 0.5);
                Tensor known = checked_indices(cast(slice(in[0], 0, 0, 2, 1), Dtype::int32), 0,
                                               table.shape(), "pick");
                return std::vector<Tensor>{gather(table, 0, {known})};
              },
              {}};
  EXPECT_EQ(pick({integers({1, -5, 99})})[0].shape(), Shape({2, 2}));
  Value before = value_of(state.get());
  EXPECT_EQ(refusal([&] {
              pick({integers({1, 5, 0})});
            }),
            "pick: index 5 is outside axis 0 of [5,2], which has size 5");
  EXPECT_EQ(refusal([&] {
              pick({integers({-6, 0, 0})});
            }),
            "pick: index -6 is outside axis 0 of [5,2], which has size 5");
  EXPECT_EQ(value_of(state.get()), before);
  EXPECT_EQ(pick.trace.count(), 1u);
  pick({integers({0, 4, 0})});
}

TEST(Trace, ATargetThatIsNoClassIsRefusedAtReplay) {
  Tensor logits = random_leaf({2, 3});
  Traced loss{[&](const std::vector<Tensor>& in) {
                return std::vector<Tensor>{cross_entropy(logits, in[0], -1, LossReduction::mean)};
              },
              {}};
  loss({integers({0, 2})});
  std::string text = refusal([&] { loss({integers({0, 3})}); });
  EXPECT_NE(text.find("cross_entropy: index 3"), std::string::npos) << text;
  Traced some{[&](const std::vector<Tensor>& in) {
                return std::vector<Tensor>{cross_entropy(logits, in[0], -1, {.ignored = -7})};
              },
              {}};
  some({integers({-7, 2})});
  some({integers({1, -7})});
  EXPECT_EQ(some.trace.count(), 1u);
  text = refusal([&] { some({integers({-7, 3})}); });
  EXPECT_NE(text.find("cross_entropy: index 3"), std::string::npos) << text;
}

// The numbers of both are the same when the function is recorded, and differ later.
TEST(Trace, GeneratorsInOneStateAreToldApart) {
  Ref<Generator> first(new Generator(5)), second(new Generator(5)), apart(new Generator(9));
  auto drawn = [](const Ref<Generator>& generator) {
    Ref<Generator> before = Generator::use(generator);
    Tensor x = uniform({4}, 0, 1, Dtype::float32, find_device("cpu"));
    Generator::use(before);
    return x;
  };
  Traced both{[&](const std::vector<Tensor>&) {
                Tensor a = drawn(first), b = drawn(second);
                return std::vector<Tensor>{a - b * 2.0};
              },
              {}};
  both({});
  second->set_state({{9, 0}});
  Ref<Generator> like_first(new Generator(5));
  like_first->set_state(first->state());
  Tensor a = drawn(like_first);
  EXPECT_EQ(value_of(both({})[0]), value_of(a - drawn(apart) * 2.0));
  EXPECT_EQ(both.trace.count(), 1u);
}

TEST(Trace, TheFunctionGivesBackTheGeneratorThatItFound) {
  Ref<Generator> found(new Generator(1)), other(new Generator(2));
  const Ref<Generator> own = Generator::use(found);
  Traced leaving{[&](const std::vector<Tensor>& in) {
                   Generator::use(other);
                   return std::vector<Tensor>{dropout(in[0], 0.5, true)};
                 },
                 {}};
  const std::string said = refusal([&] { leaving({random_leaf({3}, 2)}); });
  EXPECT_NE(said.find("left another generator current"), std::string::npos) << said;
  EXPECT_EQ(&Generator::current(), found.get());
  EXPECT_EQ(other->state().value[1], 0u);
  Generator::use(own);
}

TEST(Trace, OutOfMemoryNamesTheOperator) {
  Traced function{[](const std::vector<Tensor>& in) { return std::vector<Tensor>{exp(in[0])}; },
                  {}};
  Tensor x = random_leaf({1000});
  function({x});
  fail_allocation_after(0);
  std::string text = refusal([&] { function({x}); });
  fail_allocation_after(-1);
  EXPECT_EQ(text.substr(0, text.find(':')), "exp");
}

}  // namespace
}  // namespace mt::testing
