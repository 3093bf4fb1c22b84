// SPDX-License-Identifier: Apache-2.0
// Training, its parts and its files.
#include "out_of_memory/fails_everywhere.h"

namespace mt::testing {
namespace {

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

INSTANTIATE_TEST_SUITE_P(, OutOfMemory, every_failing(), name_of_failing);

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
