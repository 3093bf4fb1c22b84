// SPDX-License-Identifier: Apache-2.0
// How a group's learning rate follows the optimizer's.
#include "nn/c_api.h"

namespace mt {
namespace {

// An optimizer and a group of nothing, for their rates alone.
struct Rates {
  Rates(double lead, double own) { add(lead), add(own), join(); }
  explicit Rates(double lead) { add(lead); }
  ~Rates() {
    for (mt_optimizer* optimizer : all) mt_optimizer_release(optimizer);
    for (mt_parameters* parameters : given) mt_parameters_release(parameters);
  }
  Rates(const Rates&) = delete;

  void add(double rate) {
    given.push_back(mt_parameters_new(MT_F32, NULL));
    all.push_back(mt_optimizer_sgd(given.back(), rate, NULL));
  }
  void join() const { EXPECT_EQ(mt_optimizer_add(all[0], all.back()), MT_OK); }
  void set(size_t i, double rate) const { mt_optimizer_set_learning_rate(all[i], rate); }
  std::vector<double> now() const {
    std::vector<double> rates;
    for (mt_optimizer* optimizer : all) rates.push_back(mt_optimizer_learning_rate(optimizer));
    return rates;
  }
  std::vector<double> at(double lead) const {
    set(0, lead);
    return now();
  }

  std::vector<mt_parameters*> given;
  std::vector<mt_optimizer*> all;
};

using Numbers = std::vector<double>;

class OptimizerRatesTest : public NnApiTest {};

TEST_F(OptimizerRatesTest, ARateOfItsOwnIsANewProportion) {
  Rates rates(1, 0.5);
  rates.set(1, 0.25);
  EXPECT_EQ(rates.now(), (Numbers{1, 0.25}));
  EXPECT_EQ(rates.at(2), (Numbers{2, 0.5}));
  EXPECT_EQ(rates.at(0), (Numbers{0, 0}));
  EXPECT_EQ(rates.at(1), (Numbers{1, 0.25}));
  // While the optimizer's is 0, to what it was last.
  EXPECT_EQ(rates.at(4), (Numbers{4, 1}));
  rates.set(0, 0);
  rates.set(1, 2);
  EXPECT_EQ(rates.now(), (Numbers{0, 2}));
  EXPECT_EQ(rates.at(8), (Numbers{8, 4}));
  // None at all is a proportion, too; set while both are 0 it says nothing.
  rates.set(1, 0);
  EXPECT_EQ(rates.at(16), (Numbers{16, 0}));
  rates.set(1, 4);
  rates.set(0, 0);
  rates.set(1, 0);
  EXPECT_EQ(rates.at(8), (Numbers{8, 2}));
}

TEST_F(OptimizerRatesTest, NothingFollowsARateThatHasAlwaysBeenZero) {
  Rates frozen(0, 0.5);
  EXPECT_EQ(frozen.now(), (Numbers{0, 0.5}));
  EXPECT_EQ(frozen.at(0), (Numbers{0, 0.5}));
  EXPECT_EQ(frozen.at(0.25), (Numbers{0.25, 0.5}));
  EXPECT_EQ(frozen.at(0.125), (Numbers{0.125, 0.25}));
  Rates both(0, 0);
  EXPECT_EQ(both.at(0.5), (Numbers{0.5, 0.5}));
}

TEST_F(OptimizerRatesTest, AGroupIsAddedDuringAWarmUp) {
  Rates rates(0.5);
  rates.set(0, 0);
  rates.add(0.125);
  rates.join();
  EXPECT_EQ(rates.now(), (Numbers{0, 0.125}));
  EXPECT_EQ(rates.at(0.25), (Numbers{0.25, 0.0625}));
  EXPECT_EQ(rates.at(0.5), (Numbers{0.5, 0.125}));
}

TEST_F(OptimizerRatesTest, GroupsOfGroupsFollowThem) {
  Rates rates(1, 0.5);
  rates.add(0.25);
  mt_optimizer_add(rates.all[1], rates.all[2]);
  EXPECT_EQ(rates.at(2), (Numbers{2, 1, 0.5}));
  rates.set(1, 2);
  EXPECT_EQ(rates.now(), (Numbers{2, 2, 1}));
  EXPECT_EQ(rates.at(1), (Numbers{1, 1, 0.5}));
  rates.set(2, 1);
  EXPECT_EQ(rates.at(4), (Numbers{4, 4, 4}));
}

// Bit for bit, whatever the rates were when the optimizer was made: by a third is not exact.
TEST_F(OptimizerRatesTest, ProportionsGoOnFromStateAndFile) {
  for (double now : {0.7, 0.0}) {
    Rates one(0.3, 0.1), frozen(0, 0.5), other_frozen(1, 0.25);
    EXPECT_EQ(one.at(now)[0], now);
    mt_parameters* state = mt_optimizer_state(one.all[0]);
    mt_optimizer_save(one.all[0], path("rates").c_str());
    for (bool from_file : {false, true}) {
      Rates other(1, 0.5);
      if (from_file) {
        mt_optimizer_load(other.all[0], path("rates").c_str());
      } else {
        mt_optimizer_set_state(other.all[0], state);
      }
      ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
      EXPECT_EQ(other.now(), one.now());
      for (double next : {2.0, 0.9, 0.123, now}) EXPECT_EQ(other.at(next), one.at(next));
    }
    mt_parameters_release(state);
    state = mt_optimizer_state(frozen.all[0]);
    ASSERT_EQ(mt_optimizer_set_state(other_frozen.all[0], state), MT_OK) << mt_error_message();
    EXPECT_EQ(other_frozen.now(), (Numbers{0, 0.5}));
    EXPECT_EQ(other_frozen.at(2), (Numbers{2, 0.5}));
    mt_parameters_release(state);
  }
}

}  // namespace
}  // namespace mt
