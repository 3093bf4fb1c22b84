// SPDX-License-Identifier: Apache-2.0
// Every allocation of a program fails once, or it and all that follow until the call is over. The
// call that it belongs to says so and has changed nothing: it can be made again, and the program
// ends with the same bits as one that had all the memory it wanted. Nothing is lost meanwhile.
#pragma once

#include <gtest/gtest.h>
#include <mtorch/mtorch.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "base/allocator.h"
#include "fusion/plan_cache.h"
#include "out_of_memory/failing.h"
#include "out_of_memory/model.h"

namespace mt::testing {

inline std::ptrdiff_t open_files() {
  std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

using Call = std::function<bool(Model&)>;  // whether it succeeded
using Program = std::vector<Call>;

inline Call makes(size_t result, std::function<mt_tensor*(Model&, mt_tensor**)> make) {
  return [=](Model& model) {
    return (model.results[result] = make(model, model.results.data())) != nullptr;
  };
}
inline Call changes(std::function<mt_status(Model&)> change) {
  return [=](Model& model) { return change(model) == MT_OK; };
}

struct Outcome {
  std::vector<std::vector<Numbers>> states;  // before each call, and after the last
  std::vector<Numbers> results;
};

class OutOfMemory : public ::testing::TestWithParam<Failing> {
 protected:
  void SetUp() override {
    mt_clear();
    // In memory, where it is no work to make sure that a file has been written.
    char fast[] = "/dev/shm/mtorch_memory_XXXXXX", usual[] = "/tmp/mtorch_memory_XXXXXX";
    const char* made = mkdtemp(fast);
    folder_ = made ? made : mkdtemp(usual);
  }
  void TearDown() override {
    mt_set_eager(false);
    std::filesystem::remove_all(folder_);
  }

  // Of a long program, each `stride`-th allocation.
  void fails_everywhere(const Program& program, int64_t stride = 1) {
    Outcome expected = run(program, -1);
    ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
    run(program, -1);  // now all caches are as full as they get
    int64_t alive = objects_alive(), used = host_allocator().statistics().in_use;
    std::ptrdiff_t files = open_files();
    // Failures that last are met in fewer places, because each is much like the one before.
    const int64_t step = stride * (GetParam() == Failing::objects ? 5 : 1);
    for (int64_t n = 0, quiet = 0;; n += step) {
      SCOPED_TRACE("allocation " + std::to_string(n));
      failures_ = 0;
      Outcome found = run(program, n, &expected);
      EXPECT_TRUE(same(found.states.back(), expected.states.back()));
      EXPECT_TRUE(same(found.results, expected.results));
      PlanCache::instance().clear();
      EXPECT_EQ(host_allocator().statistics().in_use, used);
      EXPECT_LE(objects_alive(), alive + 32);
      EXPECT_EQ(open_files(), files);
      if (HasFailure()) break;
      // A failure may be made good in another way; many runs without one are past the end.
      total_ += failures_;
      quiet = failures_ == 0 ? quiet + 1 : 0;
      if (quiet > 25 && n >= objects_) break;
    }
    EXPECT_GT(total_, GetParam() == Failing::elements ? 0 : 10);
  }

 private:
  // Runs a program in which allocation n fails, unless n is negative.
  Outcome run(const Program& program, int64_t n, const Outcome* expected = nullptr) {
    Outcome outcome;
    Model model;
    for (size_t i = 0; i < 4; ++i) model.file[i] = folder_ + "/" + std::to_string(i);
    int64_t before = objects_made();
    if (n >= 0) fail_after(GetParam(), n);
    for (size_t i = 0; i < program.size(); ++i) {
      if (!expected) outcome.states.push_back(model.state());
      bool succeeded = program[i](model);
      if (succeeded) continue;
      stop_failing();
      ++failures_;
      EXPECT_EQ(mt_error(), MT_ENOMEM) << "call " << i << ": " << mt_error_message();
      EXPECT_NE(std::string(mt_error_message()).find("out of memory"), std::string::npos);
      mt_clear();
      if (expected) {
        std::vector<Numbers> state = model.state();
        for (size_t k = 0; k < state.size(); ++k) {
          EXPECT_TRUE(same({state[k]}, {expected->states[i][k]}))
              << "state " << k << ", call " << i;
        }
      }
      EXPECT_TRUE(program[i](model)) << "call " << i << " again: " << mt_error_message();
      mt_clear();
    }
    stop_failing();
    if (GetParam() != Failing::elements) objects_ = std::max(objects_, objects_made() - before);
    outcome.states.push_back(model.state());
    outcome.results = model.numbers_of_results();
    return outcome;
  }

  std::string folder_;
  int64_t objects_ = 0, failures_ = 0, total_ = 0;
};

inline std::string name_of_failing(const ::testing::TestParamInfo<Failing>& info) {
  constexpr const char* names[] = {"OneObject", "Objects", "Elements"};
  return names[static_cast<int>(info.param)];
}

inline auto every_failing() {
  return ::testing::Values(Failing::object_once, Failing::objects, Failing::elements);
}

}  // namespace mt::testing
