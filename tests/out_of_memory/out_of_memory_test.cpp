// SPDX-License-Identifier: Apache-2.0
// Every allocation of a program fails once, or it and all that follow until the call is over. The
// call that it belongs to says so and has changed nothing: it can be made again, and the program
// ends with the same bits as one that had all the memory it wanted. Nothing is lost meanwhile.
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
namespace {

std::ptrdiff_t open_files() {
  std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

using Call = std::function<bool(Model&)>;  // whether it succeeded
using Program = std::vector<Call>;

Call makes(size_t result, std::function<mt_tensor*(Model&, mt_tensor**)> make) {
  return [=](Model& model) {
    return (model.results[result] = make(model, model.results.data())) != nullptr;
  };
}
Call changes(std::function<mt_status(Model&)> change) {
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

  void fails_everywhere(const Program& program) {
    Outcome expected = run(program, -1);
    ASSERT_EQ(mt_error(), MT_OK) << mt_error_message();
    run(program, -1);  // now all caches are as full as they get
    int64_t alive = objects_alive(), used = host_allocator().statistics().in_use;
    std::ptrdiff_t files = open_files();
    // Failures that last are met in fewer places, because each is much like the one before.
    const int64_t step = GetParam() == Failing::objects ? 5 : 1;
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
    EXPECT_GT(total_, GetParam() == Failing::elements ? 3 : 30);
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

Program training() {
  Program program = {
      changes([](Model& m) { return mt_parameters_zero_grad(m.parameters); }),
      makes(0, [](Model& m, mt_tensor**) { return mt_matmul(m.x, m.w[0]); }),
      makes(1, [](Model& m, mt_tensor** r) { return mt_add(r[0], m.w[1]); }),
      makes(2, [](Model&, mt_tensor** r) { return mt_relu(r[1]); }),
      makes(3, [](Model&, mt_tensor** r) { return mt_dropout(r[2], 0.25, true); }),
      makes(4, [](Model& m, mt_tensor** r) { return mt_matmul(r[3], m.w[2]); }),
      makes(5, [](Model& m, mt_tensor** r) { return mt_add(r[4], m.w[3]); }),
      makes(6, [](Model& m,
                  mt_tensor** r) { return mt_cross_entropy(r[5], m.y, -1, MT_REDUCTION_MEAN); }),
  };
  Program rest = {
      changes([](Model& m) { return mt_backward(m.results[6]); }),
      makes(7, [](Model& m, mt_tensor**) { return mt_clip_grad_norm(m.parameters, 0.5); }),
      changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
      changes([](Model& m) { return mt_sgd(m.w, 4, 0.01); }),
      changes([](Model&) { return mt_eval(nullptr, 0); }),
      // Once more on what is computed now, so that gradients are added up.
      makes(8, [](Model& m, mt_tensor**) { return mt_sum(mt_exp(m.w[0]), nullptr, 0); }),
      changes([](Model& m) { return mt_backward(m.results[8]); }),
      changes([](Model& m) { return mt_eval(&m.results[8], 1); }),
  };
  program.insert(program.end(), rest.begin(), rest.end());
  return program;
}

TEST_P(OutOfMemory, ADeferredStep) { fails_everywhere(training()); }

TEST_P(OutOfMemory, AnEagerStep) {
  mt_set_eager(true);
  fails_everywhere(training());
}

TEST_P(OutOfMemory, ATracedStep) {
  auto call = [](size_t result) {
    return changes([=](Model& m) {
      mt_tensor* inputs[] = {m.x, m.y};
      return mt_trace_call(m.trace, inputs, 2, &m.results[result], 1);
    });
  };
  fails_everywhere({call(0), call(1), call(2)});  // recorded once, replayed twice
}

TEST_P(OutOfMemory, OperatorsOfEveryKind) {
  fails_everywhere({
      makes(0,
            [](Model&, mt_tensor**) { return mt_uniform(MT_DIMS(6, 4), 0, 1, MT_F32, nullptr); }),
      makes(1, [](Model&, mt_tensor** r) { return mt_sort(r[0], 1, false); }),
      makes(2, [](Model&, mt_tensor** r) { return mt_cumulative_sum(r[1], 0); }),
      makes(3,
            [](Model&, mt_tensor** r) {
              mt_tensor* parts[] = {r[0], r[1], r[2], r[0], r[1], r[2]};
              return mt_concat(parts, 6, 1);
            }),
      makes(4, [](Model& m, mt_tensor** r) { return mt_embedding(m.y, r[3]); }),
      makes(5, [](Model&, mt_tensor** r) { return mt_einsum("ij,ij->i", r, 2); }),
      makes(6, [](Model&,
                  mt_tensor** r) { return mt_transpose(mt_reshape(r[3], MT_DIMS(12, 12)), 0, 1); }),
      makes(7, [](Model&, mt_tensor** r) { return mt_softmax(r[6], -1); }),
      makes(8, [](Model&, mt_tensor** r) { return mt_to_device(r[7], "cpu:reference"); }),
      makes(9, [](Model&, mt_tensor** r) { return mt_to_device(mt_exp(r[8]), "cpu"); }),
      makes(10, [](Model&, mt_tensor** r) { return mt_expression("relu(a + b) * 2", r, 2); }),
      changes([](Model&) { return mt_eval(nullptr, 0); }),
      changes([](Model& m) { return mt_eval(&m.results[9], 1); }),
  });
}

// An update overwrites what it replaces, so what its plan computes beside it must not fail.
TEST_P(OutOfMemory, UpdatesAreAppliedOnceBesideWhatFails) {
  std::vector<Numbers> expected;
  int failures = 0;
  for (int64_t n = -1; n < 100; ++n) {
    Model model;
    mt_sgd(model.w, 4, 0.01);
    mt_init_orthogonal(model.x, 1);
    if (n >= 0) fail_after(GetParam(), n);
    if (mt_eval(nullptr, 0) != MT_OK) ++failures;
    stop_failing();
    mt_clear();
    if (n < 0) expected = model.state();
    EXPECT_TRUE(same(model.state(), expected)) << "allocation " << n;
  }
  EXPECT_GT(failures, 0);
}

TEST_P(OutOfMemory, BatchesAreTaken) {
  auto next = [](size_t result) {
    return changes([=](Model& m) {
      mt_tensor* batch[2];
      mt_status status = mt_loader_next(m.loader, batch);
      m.results[result] = batch[0];
      return status;
    });
  };
  fails_everywhere({
      changes([](Model& m) {
        mt_tensor* data[] = {m.x, m.y};
        mt_loader_options options = MT_LOADER_OPTIONS_INIT;
        options.shuffle = true;
        options.seed = -1;  // what is drawn is state, too
        m.loader = mt_loader_new(data, 2, 2, &options);
        return mt_error();
      }),
      next(0),
      next(1),
      next(2),
      next(3),  // of the next epoch
      changes([](Model&) { return mt_eval(nullptr, 0); }),
  });
}

TEST_P(OutOfMemory, TheOptimizersStateIsReadAndSet) {
  auto read = changes([](Model& m) {
    mt_parameters_release(m.kept);
    m.kept = mt_optimizer_state(m.optimizer);
    return m.kept ? MT_OK : mt_error();
  });
  fails_everywhere({
      read, changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
      changes([](Model& m) { return mt_optimizer_set_state(m.optimizer, m.kept); }),
      changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
      read,  // which is pending
  });
}

TEST_P(OutOfMemory, AnOptimizerGetsAGroup) {
  auto add = changes([](Model& m) {
    mt_optimizer* group = mt_optimizer_sgd(m.kept, 0.02, &m.optimizer_options);
    mt_status status = mt_optimizer_add(m.optimizer, group);
    mt_optimizer_release(group);
    return status;
  });
  fails_everywhere({
      makes(0, [](Model&, mt_tensor**) { return mt_full(MT_DIMS(4), 2, MT_F32, nullptr); }),
      changes([](Model& m) {
        mt_parameters_release(m.kept);
        m.kept = mt_parameters_new(MT_F32, nullptr);
        return mt_parameters_add(m.kept, "the one of the group", m.results[0]);
      }),
      changes([](Model& m) { return mt_set_gradient(m.results[0], m.results[0]); }),
      add,
      changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
      changes([](Model& m) { return mt_optimizer_set_learning_rate(m.optimizer, 0.5); }),
      changes([](Model& m) {
        mt_parameters* state = mt_optimizer_state(m.optimizer);
        mt_status status = mt_optimizer_set_state(m.optimizer, state);
        mt_parameters_release(state);
        return status;
      }),
  });
}

TEST_P(OutOfMemory, ParametersAreConverted) {
  auto to = [](mt_dtype dtype, const char* device) {
    return changes([=](Model& m) { return mt_parameters_to(m.parameters, dtype, device); });
  };
  auto step = changes([](Model& m) { return mt_optimizer_step(m.optimizer); });
  fails_everywhere({to(MT_F64, nullptr), step, to(0, "cpu:reference"), step, to(MT_F32, "cpu")});
}

TEST_P(OutOfMemory, AWeightIsShared) {
  fails_everywhere({
      makes(0, [](Model& m, mt_tensor**) { return mt_mul(m.w[0], mt_number(2)); }),
      makes(1, [](Model&, mt_tensor** r) { return mt_detach(r[0]); }),
      changes(
          [](Model& m) { return mt_parameters_share(m.parameters, "parameter w0", m.results[1]); }),
      changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
  });
}

TEST_P(OutOfMemory, FilesAreSavedAndLoaded) {
  fails_everywhere({
      changes([](Model& m) { return mt_parameters_save(m.parameters, m.file[0].c_str()); }),
      changes([](Model& m) { return mt_optimizer_save(m.optimizer, m.file[1].c_str()); }),
      changes([](Model& m) { return mt_save_npy(m.w[0], m.file[2].c_str()); }),
      changes([](Model& m) { return mt_save_npz(m.parameters, m.file[3].c_str(), true); }),
      changes([](Model& m) { return mt_optimizer_step(m.optimizer); }),
      changes([](Model& m) { return mt_parameters_load(m.parameters, m.file[0].c_str()); }),
      changes([](Model& m) { return mt_optimizer_load(m.optimizer, m.file[1].c_str()); }),
      makes(0, [](Model& m, mt_tensor**) { return mt_load_npy(m.file[2].c_str(), nullptr); }),
      changes([](Model& m) {
        mt_parameters* loaded = mt_load_npz(m.file[3].c_str(), nullptr);
        mt_parameters_release(loaded);
        return loaded ? MT_OK : mt_error();
      }),
      changes([](Model&) {
        char* text = mt_device_description("cpu");  // reads what the system says of the processor
        mt_free_string(text);
        return text ? MT_OK : mt_error();
      }),
  });
}

std::string name_of_failing(const ::testing::TestParamInfo<Failing>& info) {
  constexpr const char* names[] = {"OneObject", "Objects", "Elements"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(, OutOfMemory,
                         ::testing::Values(Failing::object_once, Failing::objects,
                                           Failing::elements),
                         name_of_failing);

// Memory that was lent belongs to its owner again when it cannot be wrapped.
TEST(OutOfMemoryOwners, WrapCallsDoneOnlyWhenItSucceeds) {
  float data[4] = {1, 2, 3, 4};
  for (int64_t n = 0;; ++n) {
    int done = 0;
    fail_after(Failing::object_once, n);
    mt_tensor* x = mt_wrap(
        data, MT_DIMS(4), MT_F32, nullptr, [](void* user) { ++*static_cast<int*>(user); }, &done);
    stop_failing();
    EXPECT_EQ(done, 0);
    if (x) {
      mt_release(x);
      EXPECT_EQ(done, 1);
      EXPECT_GT(n, 0);
      break;
    }
    EXPECT_EQ(mt_error(), MT_ENOMEM);
    mt_clear();
  }
}

}  // namespace
}  // namespace mt::testing
