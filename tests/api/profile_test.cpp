// SPDX-License-Identifier: Apache-2.0
// Profiles: what is counted, when, and how it is written down.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "api/support.h"

namespace {

// A profile and the file that it may be written to.
class Profile : public Api {
 protected:
  void SetUp() override {
    Api::SetUp();
    path_ = testing::TempDir() + "mtorch-profile-" + std::to_string(getpid()) + ".json";
  }
  void TearDown() override {
    mt_profile_release(profile_);
    std::remove(path_.c_str());
    Api::TearDown();
  }

  std::string text() const {
    char* text = mt_profile_text(profile_);
    std::string result = text;
    mt_free_string(text);
    return result;
  }
  std::vector<nlohmann::json> saved() const {
    EXPECT_EQ(mt_profile_save(profile_, path_.c_str()), MT_OK);
    return nlohmann::json::parse(std::ifstream(path_))["traceEvents"];
  }
  size_t saved_as(const std::string& name) const {
    size_t count = 0;
    for (const nlohmann::json& event : saved()) count += event["name"] == name;
    return count;
  }

  mt_profile* profile_ = nullptr;
  std::string path_;
};

void evaluate(mt_tensor* x) { mt_eval(&x, 1); }

mt_tensor* layer() {
  mt_tensor* x = mt_ones(MT_DIMS(8, 16), MT_F32, "cpu");
  mt_tensor* w = mt_ones(MT_DIMS(16, 4), MT_F32, "cpu");
  evaluate(x);
  evaluate(w);
  return mt_relu(mt_add(mt_matmul(x, w), mt_number(1)));
}

TEST_F(Profile, CountsEachGroupAsOftenAsItRan) {
  evaluate(layer());
  profile_ = mt_profile_start();
  for (int i = 0; i < 3; ++i) {
    mt_tensor* y = layer();
    evaluate(y);
    EXPECT_EQ(numbers_of(y), Numbers(32, 17));
  }
  mt_tensor* x = mt_reshape(mt_arange(0, 32, 1, MT_F32, "cpu"), MT_DIMS(4, 8));
  evaluate(mt_softmax(x, -1));
  EXPECT_EQ(mt_profile_stop(profile_), MT_OK);
  EXPECT_NE(text().find("contraction 8 x 4 x 16, then add, relu\n"), std::string::npos) << text();
  EXPECT_NE(text().find("rows 4 x 8: "), std::string::npos) << text();
  EXPECT_NE(text().find("from start to end\n"), std::string::npos);
  for (const nlohmann::json& event : saved()) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_GT(event["dur"].get<double>(), 0);
    if (event["name"] == "contraction 8 x 4 x 16, then add, relu") {
      EXPECT_EQ(event["args"]["operations"], 2 * 8 * 4 * 16);
      // Of the results the product's own is kept, as the scope holds it.
      EXPECT_EQ(event["args"]["bytes"], 4 * (8 * 16 + 16 * 4 + 2 * 8 * 4));
    }
  }
}

TEST_F(Profile, CountsNothingBeforeAndAfter) {
  numbers_of(mt_exp(floats({1, 2, 3})));
  profile_ = mt_profile_start();
  EXPECT_EQ(saved().size(), 0u);
  evaluate(mt_exp(floats({1, 2, 3})));
  EXPECT_EQ(saved_as("element-wise 3: exp"), 1u);
  mt_profile_stop(profile_);
  evaluate(mt_exp(floats({1, 2, 3})));
  EXPECT_EQ(saved_as("element-wise 3: exp"), 1u);
  EXPECT_EQ(mt_profile_stop(profile_), MT_OK);
}

TEST_F(Profile, OnlyOneMeasures) {
  profile_ = mt_profile_start();
  EXPECT_EQ(mt_profile_start(), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "another profile"));
  mt_profile_release(profile_);
  profile_ = mt_profile_start();
  EXPECT_NE(profile_, nullptr);
}

TEST_F(Profile, ShowsPlansThatAreMade) {
  mt_tensor* x = mt_ones(MT_DIMS(3, 5, 7), MT_F64, "cpu");
  profile_ = mt_profile_start();
  for (int i = 0; i < 2; ++i) numbers_of(mt_cumulative_sum(mt_exp(mt_sin(x)), 1));
  EXPECT_GE(saved_as("planning"), 1u);
  EXPECT_EQ(saved_as("cumulative_sum [3,5,7] float64"), 2u);
}

TEST_F(Profile, TellsThreadsApart) {
  profile_ = mt_profile_start();
  auto work = [] {
    MT_SCOPE { evaluate(layer()); }
  };
  std::thread first(work);
  first.join();
  std::thread second(work);
  second.join();
  work();
  std::set<int> threads;
  for (const nlohmann::json& event : saved()) threads.insert(event["tid"].get<int>());
  EXPECT_GE(threads.size(), 2u);  // the second may have got the first one's number
}

TEST_F(Profile, TellsTypesApart) {
  mt_tensor* x = mt_ones(MT_DIMS(20000), MT_F32, "cpu");
  mt_tensor* half = mt_ones(MT_DIMS(20000), MT_F16, "cpu");
  evaluate(x);
  evaluate(half);
  profile_ = mt_profile_start();
  evaluate(mt_sin(x));
  evaluate(mt_sin(half));
  EXPECT_EQ(saved_as("element-wise 20000: sin"), 1u);
  EXPECT_EQ(saved_as("element-wise 20000 float16: sin"), 1u);
}

// While another thread makes new kinds of groups all the time.
TEST_F(Profile, CanBeSavedWhileItMeasures) {
  profile_ = mt_profile_start();
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int64_t n = 1; !done && n < 5000; ++n) MT_SCOPE {
        evaluate(mt_ones(MT_DIMS(n), MT_F32, "cpu"));
      }
  });
  for (int i = 0; i < 10; ++i) {
    for (const nlohmann::json& event : saved())
      EXPECT_FALSE(event["name"].get<std::string>().empty());
  }
  done = true;
  other.join();
}

TEST_F(Profile, SeesTheReferenceBackend) {
  profile_ = mt_profile_start();
  numbers_of(mt_matmul(mt_ones(MT_DIMS(2, 3), MT_F32, "cpu:reference"),
                       mt_ones(MT_DIMS(3, 2), MT_F32, "cpu:reference")));
  EXPECT_NE(text().find("contract [2,2]"), std::string::npos) << text();
}

TEST_F(Profile, RefusesWhatCannotBe) {
  EXPECT_EQ(mt_profile_text(nullptr), nullptr);
  EXPECT_TRUE(failed_with(MT_ENULL, "profile_text"));
  profile_ = mt_profile_start();
  EXPECT_EQ(mt_profile_save(profile_, "/no/such/folder/x.json"), MT_EIO);
  EXPECT_TRUE(failed_with(MT_EIO, "/no/such/folder"));
  mt_profile_release(nullptr);
}

}  // namespace
