// SPDX-License-Identifier: Apache-2.0
// Functions of the user's own, and what a program does besides training: leaves, tapes, maps, text.
#include <mtorch/profile.h>

#include <barrier>
#include <thread>

#include "out_of_memory/fails_everywhere.h"

namespace mt::testing {
namespace {

class FunctionsOutOfMemory : public OutOfMemory {};

bool frees(char* text) {
  mt_free_string(text);
  return text != nullptr;
}

TEST_P(FunctionsOutOfMemory, ALeafIsMadeOrStaysWhatItIs) {
  auto require = [](size_t result, bool wanted) {
    return [=](Model& m) {
      const bool before = mt_requires_grad(m.results[result]);
      const bool done = mt_set_requires_grad(m.results[result], wanted) == MT_OK;
      EXPECT_EQ(mt_requires_grad(m.results[result]), done ? wanted : before);
      return done;
    };
  };
  fails_everywhere({
      makes(0, [](Model&, mt_tensor**) { return mt_full(MT_DIMS(4), 2, MT_F32, nullptr); }),
      changes([](Model& m) { return mt_eval(m.results.data(), 1); }),
      require(0, true),
      makes(1, [](Model&, mt_tensor** r) { return mt_exp(r[0]); }),
      makes(2, [](Model&, mt_tensor** r) { return mt_sum(r[1], nullptr, 0); }),
      changes([](Model& m) { return mt_backward(m.results[2]); }),
      makes(3, [](Model&, mt_tensor** r) { return mt_gradient(r[0]); }),
      changes([](Model& m) { return mt_assign(m.results[0], m.results[3]); }),
      require(0, false),
      require(3, true),
      changes([](Model& m) { return mt_set_gradient(m.results[3], m.results[0]); }),
  });
}

TEST_P(FunctionsOutOfMemory, AValueIsDrawnOrNothingIs) {
  fails_everywhere({
      makes(0, [](Model&, mt_tensor**) { return mt_zeros(MT_DIMS(6), MT_F32, nullptr); }),
      changes([](Model& m) { return mt_init_uniform(m.results[0], 0, 1); }),
      makes(1, [](Model&, mt_tensor**) { return mt_zeros(MT_DIMS(3, 6), MT_F32, nullptr); }),
      changes([](Model& m) { return mt_init_orthogonal(m.results[1], 1); }),
      makes(2, [](Model&, mt_tensor** r) { return mt_matmul(r[1], r[0]); }),
      changes([](Model& m) { return mt_eval(&m.results[2], 1); }),
  });
}

TEST_P(FunctionsOutOfMemory, StatisticsChangeTogether) {
  fails_everywhere({
      makes(0, [](Model&, mt_tensor**) { return mt_full(MT_DIMS(6), 2, MT_F32, nullptr); }),
      makes(1, [](Model&, mt_tensor**) { return mt_full(MT_DIMS(6), 3, MT_F32, nullptr); }),
      [](Model& m) {
        mt_batch_norm_options options = MT_BATCH_NORM_OPTIONS_INIT;
        options.training = true;
        mt_tensor *mean = m.results[0], *variance = m.results[1];
        m.results[2] = mt_batch_norm(m.x, nullptr, nullptr, mean, variance, &options);
        if (m.results[2]) return true;
        stop_failing();
        EXPECT_EQ(numbers_of(mean), Numbers(6, 2));
        EXPECT_EQ(numbers_of(variance), Numbers(6, 3));
        return false;
      },
      changes([](Model& m) { return mt_eval(m.results.data(), 3); }),
  });
}

struct Squares {
  int applied = 0, destroyed = 0;

  static mt_status forward(void*, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    out[0] = mt_mul(in[0], in[0]);
    out[1] = mt_neg(in[0]);
    return mt_error();
  }
  static mt_status backward(void*, mt_tensor* const* in, size_t, mt_tensor* const*, size_t,
                            mt_tensor* const* dy, mt_tensor** dx) {
    dx[0] = mt_sub(mt_mul(mt_mul(in[0], mt_number(2)), dy[0]), dy[1]);
    return mt_error();
  }
  mt_status apply(mt_tensor* x, mt_tensor** results) {
    mt_operator squares{sizeof(mt_operator),
                        "squares of all numbers there are",
                        forward,
                        backward,
                        [](void* user) { ++static_cast<Squares*>(user)->destroyed; },
                        this};
    mt_status status = mt_custom(&squares, &x, 1, results, 2);
    applied += status == MT_OK;
    return status;
  }
};

TEST_P(FunctionsOutOfMemory, AnOperatorOfTheUsersOwn) {
  Squares squares;
  for (bool eager : {false, true}) {
    mt_set_eager(eager);
    fails_everywhere({
        changes([&](Model& m) { return squares.apply(m.w[0], m.results.data()); }),
        makes(2, [](Model&, mt_tensor** r) { return mt_mul(r[0], r[1]); }),
        makes(3, [](Model&, mt_tensor** r) { return mt_sum(r[2], nullptr, 0); }),
        changes(
            [](Model& m) { return mt_grad(&m.results[3], 1, &m.w[0], 1, nullptr, &m.results[4]); }),
        changes([](Model& m) { return mt_backward(m.results[3]); }),
        changes([](Model&) { return mt_eval(nullptr, 0); }),
    });
    EXPECT_EQ(squares.applied, squares.destroyed);
  }
}

TEST_P(FunctionsOutOfMemory, ASegmentIsComputedTwice) {
  auto segment = [](void* user, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    Model& m = *static_cast<Model*>(user);
    out[0] = mt_relu(mt_add(mt_matmul(in[0], m.w[0]), m.w[1]));
    return mt_error();
  };
  auto slope = [](void*, mt_tensor* const* in, size_t, mt_tensor** out, size_t) {
    out[0] = mt_tanh(in[0]);
    return mt_error();
  };
  fails_everywhere({
      changes([=](Model& m) { return mt_checkpoint(segment, &m, &m.x, 1, &m.results[0], 1); }),
      makes(1, [](Model& m, mt_tensor** r) { return mt_matmul(r[0], m.w[2]); }),
      makes(2, [](Model&, mt_tensor** r) { return mt_sum(r[1], nullptr, 0); }),
      changes([](Model& m) { return mt_backward(m.results[2]); }),
      changes([](Model&) { return mt_eval(nullptr, 0); }),
      makes(3, [](Model&, mt_tensor**) { return mt_full(MT_DIMS(2), 0.5, MT_F64, nullptr); }),
      changes(
          [=](Model& m) { return mt_gradient_check(slope, nullptr, &m.results[3], 1, nullptr); }),
  });
}

TEST_P(FunctionsOutOfMemory, ATapeShowsAndReplays) {
  fails_everywhere({[](Model& m) {
    mt_tensor** r = m.results.data();
    mt_tape* tape = mt_tape_begin();
    bool done = tape && (r[0] = mt_add(mt_matmul(m.x, m.w[0]), m.w[1])) &&
                (r[1] = mt_sum(mt_tanh(r[0]), nullptr, 0)) && mt_tape_end(tape) == MT_OK &&
                frees(mt_tape_to_string(tape)) && frees(mt_tape_to_dot(tape)) &&
                mt_tape_gradient(tape, r[1], &m.w[1], 1, &r[2]) == MT_OK && (r[3] = mt_neg(m.x)) &&
                mt_tape_replay(tape, &m.x, 1, &r[3], &r[1], 1, &r[4]) == MT_OK &&
                mt_eval(&r[4], 1) == MT_OK;
    mt_tape_release(tape);
    return done;
  }});
}

TEST_P(FunctionsOutOfMemory, AKernelRunsOnAllThreads) {
  auto doubled = [](void*, const mt_cell* at, const void* const* in, void* const* out,
                    const double* numbers) -> mt_status {
    const int64_t i = at->block[0] * at->block_size[0] + at->thread[0];
    static_cast<float*>(out[0])[i] = static_cast<const float*>(in[0])[i] * float(numbers[0]);
    return MT_OK;
  };
  static int made = 0, destroyed = 0;
  fails_everywhere({[=](Model& m) {
    mt_kernel_definition definition{};
    definition.struct_size = sizeof definition;
    definition.name = "doubles_all_numbers_that_there_are";
    definition.cell = doubled;
    definition.destroy = [](void*) { ++destroyed; };
    mt_launch launch = MT_LAUNCH_INIT;
    launch.grid[0] = 5, launch.block[0] = 6;
    mt_kernel_result form{mt_dims(m.x), 2, MT_F32};
    const double factor = 2;
    mt_kernel* kernel = mt_kernel_new(&definition);
    const bool done =
        kernel &&
        mt_kernel_call(kernel, &launch, &m.x, 1, &factor, 1, &form, &m.results[0], 1) == MT_OK &&
        mt_eval(&m.results[0], 1) == MT_OK;
    mt_kernel_release(kernel);
    made += kernel != nullptr;
    return done;
  }});
  EXPECT_EQ(destroyed, made);
}

TEST_P(FunctionsOutOfMemory, ValuesAreMappedAndPrinted) {
  fails_everywhere({
      makes(0, [](Model& m, mt_tensor**) { return mt_matmul(m.x, m.w[0]); }),
      [](Model& m) {
        bool mapped = mt_map(m.results[0]) != nullptr;
        mt_unmap(m.results[0]);  // which is a mistake where it is not mapped, and does no harm
        return mapped;
      },
      [](Model& m) { return frees(mt_to_string(m.results[0])); },
      makes(1, [](Model&, mt_tensor** r) { return mt_relu(r[0]); }),
      [](Model& m) { return frees(mt_explain(m.results[1])); },
      [](Model& m) {
        mt_profile* profile = mt_profile_start();
        bool done = profile && mt_eval(&m.results[1], 1) == MT_OK &&
                    mt_profile_stop(profile) == MT_OK && frees(mt_profile_text(profile)) &&
                    mt_profile_save(profile, m.file[0].c_str()) == MT_OK;
        mt_profile_release(profile);
        return done;
      },
  });
}

TEST_P(FunctionsOutOfMemory, AParameterIsAddedOrStaysWhatItIs) {
  Program program = {changes([](Model& m) {
    mt_parameters_release(m.kept);
    m.kept = mt_parameters_new(MT_F32, nullptr);
    return m.kept ? MT_OK : mt_error();
  })};
  for (size_t i = 0; i < 12; ++i) {
    const std::string name = "a parameter that nobody calls by its name, " + std::to_string(i);
    program.push_back(
        makes(i, [](Model&, mt_tensor**) { return mt_zeros(MT_DIMS(2), MT_F32, nullptr); }));
    program.push_back([=](Model& m) {
      const bool added = mt_parameters_add(m.kept, name.c_str(), m.results[i]) == MT_OK;
      EXPECT_EQ(mt_requires_grad(m.results[i]), added);
      EXPECT_EQ(mt_parameters_count(m.kept), (i + added));
      return added;
    });
  }
  program.push_back(changes([](Model&) { return mt_eval(nullptr, 0); }));
  fails_everywhere(program);
}

TEST_P(FunctionsOutOfMemory, ALayerIsMadeOrNothingIs) {
  auto adds = [](std::function<mt_layer*(Model&)> make) {
    return [=](Model& m) {
      const size_t before = mt_parameters_count(m.kept);
      const bool made = make(m) != nullptr;
      if (!made) {
        EXPECT_EQ(mt_parameters_count(m.kept), before);
      }
      return made;
    };
  };
  fails_everywhere({
      changes([](Model& m) {
        mt_parameters_release(m.kept);
        m.kept = mt_parameters_new(MT_F32, nullptr);
        return m.kept ? MT_OK : mt_error();
      }),
      adds([](Model& m) { return mt_layer_lstm(m.kept, "layers of memory", 6, 4, 2, true); }),
      adds([](Model& m) { return mt_layer_transformer(m.kept, "the block", 4, 2, nullptr); }),
      adds([](Model& m) { return mt_layer_batch_norm(m.kept, "norm", 5, 0.1, 1e-5); }),
      adds([](Model& m) { return mt_layer_embedding(m.kept, "the words", 9, 4); }),
      changes([](Model&) { return mt_eval(nullptr, 0); }),
  });
}

TEST_P(FunctionsOutOfMemory, LayersAreMadeAndTrained) {
  fails_everywhere(
      {[](Model& m) {
        uint64_t key = 0, counter = 0;
        mt_generator_state(nullptr, &key, &counter);
        mt_parameters* p = mt_parameters_new(MT_F32, nullptr);
        mt_conv_options same = MT_CONV_OPTIONS_INIT;
        same.same = true;
        mt_tensor *y = nullptr, *loss = nullptr;
        mt_layer *conv = nullptr, *norm = nullptr, *lstm = nullptr, *attention = nullptr;
        mt_optimizer* optimizer = nullptr;
        bool done = p && (conv = mt_layer_conv1d(p, "convolution", 5, 4, 3, &same)) &&
                    (norm = mt_layer_batch_norm(p, "norm", 4, 0.1, 1e-5)) &&
                    (lstm = mt_layer_lstm(p, "memory", 6, 4, 2, true)) &&
                    (attention = mt_layer_attention(p, "attention", 4, 2, nullptr)) &&
                    (optimizer = mt_optimizer_adam(p, 0.1, nullptr)) &&
                    (y = mt_apply(conv, mt_reshape(m.x, MT_DIMS(1, 5, 6)))) &&
                    (y = mt_apply(norm, y)) && (y = mt_apply(lstm, y)) &&
                    (y = mt_apply(attention, y)) && (loss = mt_mean(mt_square(y), nullptr, 0)) &&
                    mt_backward(loss) == MT_OK && mt_optimizer_step(optimizer) == MT_OK &&
                    (m.results[0] = mt_detach(loss)) && mt_eval(nullptr, 0) == MT_OK;
        mt_optimizer_release(optimizer);
        mt_parameters_release(p);
        if (!done) {  // what was drawn was drawn, by the calls that succeeded
          stop_failing();
          const mt_status code = mt_error();
          const std::string message = mt_error_message();
          mt_clear();
          mt_generator_set_state(nullptr, key, counter);
          mt_set_error(code, message.c_str());
        }
        return done;
      }},
      GetParam() == Failing::elements ? 1 : 37);
}

TEST_P(FunctionsOutOfMemory, ThreadsCanEnd) {
  constexpr int count = 40;
  std::barrier together(count);
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      mt_tensor *one = mt_ones(MT_DIMS(3), MT_F32, nullptr), *x = mt_exp(one);
      MT_SCOPE { EXPECT_EQ(mt_requires_grad(mt_neg(x)), false); }
      mt_release(x);
      mt_release(one);
      together.arrive_and_wait();
      fail_after(GetParam(), 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop_failing();
}

INSTANTIATE_TEST_SUITE_P(, FunctionsOutOfMemory, every_failing(), name_of_failing);

}  // namespace
}  // namespace mt::testing
