// SPDX-License-Identifier: Apache-2.0
// Any handle on any thread, through the C interface. Meant to be run under the thread sanitizer
// too, which sees what the values here do not show.
#include <atomic>
#include <cmath>
#include <set>

#include "api/threads.h"

namespace {

class ThreadsApi : public Api {};

TEST_F(ThreadsApi, OneThreadGoesOnWithAValueThatOthersCompute) {
  for (int round = 0; round < 30; ++round) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor* x = mt_reshape(counted(24), MT_DIMS(4, 6));
    mt_tensor* y = mt_exp(x);
    mt_tensor* pending = turned(y);
    Numbers expected = numbers_of(mt_add(turned(mt_exp(x)), mt_number(1)));
    std::atomic<bool> go{false};
    std::thread reader([&] {
      while (!go) std::this_thread::yield();
      mt_eval(&pending, 1);
    });
    go = true;
    mt_tensor* views[8];
    for (mt_tensor*& view : views) {
      view = mt_reshape(turned(turned(pending)), MT_DIMS(6, 4));
      view = mt_add(view, mt_number(1));
    }
    for (mt_tensor* view : views) EXPECT_EQ(numbers_of(view), expected);
    reader.join();
    mt_scope_end(scope);
  }
}

// A network of its own on every thread, trained by an optimizer.
Numbers trained(int seed, bool traced) {
  mt_seed(static_cast<uint64_t>(seed));
  mt_parameters* parameters = mt_parameters_new(MT_F32, nullptr);
  mt_tensor* w = mt_normal(MT_DIMS(8, 4), 0, 1, MT_F32, nullptr);
  mt_tensor* b = mt_zeros(MT_DIMS(4), MT_F32, nullptr);
  mt_parameters_add(parameters, "w", w);
  mt_parameters_add(parameters, "b", b);
  mt_optimizer* optimizer = mt_optimizer_adam(parameters, 0.01, nullptr);
  struct Step {
    mt_parameters* parameters;
    mt_optimizer* optimizer;
    mt_tensor *w, *b;
  } all{parameters, optimizer, w, b};
  mt_function step = [](void* user, mt_tensor* const* inputs, size_t, mt_tensor** results,
                        size_t) -> mt_status {
    Step& s = *static_cast<Step*>(user);
    mt_tensor* y = mt_tanh(mt_add(mt_matmul(inputs[0], s.w), s.b));
    mt_tensor* noise = mt_uniform(MT_DIMS(4), 0, 0.1, MT_F32, nullptr);
    results[0] = mt_mean(mt_square(mt_sub(y, noise)), nullptr, 0);
    mt_backward(results[0]);
    mt_optimizer_step(s.optimizer);
    mt_parameters_zero_grad(s.parameters);
    return mt_error();
  };
  mt_trace* trace = mt_trace_new(step, &all);
  for (int i = 0; i < 12; ++i) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor *x = mt_normal(MT_DIMS(16, 8), 0, 1, MT_F32, nullptr), *loss = nullptr;
    if (traced) {
      mt_trace_call(trace, &x, 1, &loss, 1);
    } else {
      step(&all, &x, 1, &loss, 1);
    }
    if (i % 3 == 0) mt_item(loss);
    mt_scope_end(scope);
  }
  Numbers result = numbers_of(w);
  mt_trace_release(trace);
  mt_optimizer_release(optimizer);
  mt_parameters_release(parameters);
  return result;
}

TEST_F(ThreadsApi, EachThreadTrainsAModel) {
  for (bool traced : {false, true}) {
    Numbers alone[thread_count], together[thread_count];
    for (int i = 0; i < thread_count; ++i) {
      std::thread([&, i] {
        mt_scope* scope = mt_scope_begin();
        alone[i] = trained(i, traced);
        mt_scope_end(scope);
      }).join();
    }
    on_threads([&](int i) { together[i] = trained(i, traced); });
    for (int i = 0; i < thread_count; ++i) EXPECT_EQ(alone[i], together[i]) << i;
  }
}

// sum(exp(x) * x) by way of what is shared: its gradient is exp(x) (x + 1).
struct Shared {
  mt_tensor *x, *e, *y;
};
Shared shared_history() {
  Shared s;
  s.x = mt_require_grad(mt_mul(counted(40), mt_number(0.25)));
  s.e = mt_exp(s.x);
  s.y = total(mt_mul(s.e, s.x));
  return s;
}

TEST_F(ThreadsApi, OneHistoryIsDifferentiatedByAll) {
  for (int round = 0; round < 20; ++round) {
    mt_scope* scope = mt_scope_begin();
    Shared s = shared_history();
    Numbers expected = numbers_of(mt_mul(mt_exp(s.x), mt_add(s.x, mt_number(1))));
    if (round % 2) mt_eval(&s.y, 1);
    on_threads([&](int i) {
      if (i % 2) mt_item(s.y);
      mt_tensor* gradient = nullptr;
      ASSERT_EQ(mt_grad(&s.y, 1, &s.x, 1, nullptr, &gradient), MT_OK) << mt_error_message();
      Numbers found = numbers_of(gradient);
      for (size_t j = 0; j < found.size(); ++j) EXPECT_NEAR(found[j], expected[j], 1e-5);
    });
    mt_scope_end(scope);
  }
}

TEST_F(ThreadsApi, AHistoryIsForgottenWhileOthersWalkIt) {
  std::atomic<int> found{0}, forgotten{0};
  for (int round = 0; round < 40; ++round) {
    mt_scope* scope = mt_scope_begin();
    Shared s = shared_history();
    Numbers expected = numbers_of(mt_mul(mt_exp(s.x), mt_add(s.x, mt_number(1))));
    if (round % 2) mt_eval(&s.y, 1);
    mt_retain(s.y);
    on_threads([&](int i) {
      if (i == 0) {
        EXPECT_EQ(mt_backward(s.y), MT_OK) << mt_error_message();
        mt_release(s.y);
        return;
      }
      mt_tensor* gradient = nullptr;
      if (mt_grad(&s.y, 1, &s.x, 1, nullptr, &gradient) == MT_OK) {
        ++found;
        Numbers numbers = numbers_of(gradient);
        for (size_t j = 0; j < numbers.size(); ++j) EXPECT_NEAR(numbers[j], expected[j], 1e-5);
      } else {
        ++forgotten;
        EXPECT_TRUE(failed_with(MT_ENOGRAD, "forgotten"));
      }
    });
    Numbers collected = numbers_of(mt_gradient(s.x));
    for (size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(collected[j], expected[j], 1e-5);
    EXPECT_FALSE(mt_requires_grad(s.y));
    mt_scope_end(scope);
  }
  EXPECT_EQ(found + forgotten, 40 * (thread_count - 1));
}

TEST_F(ThreadsApi, AllCollectGradientsInOneLeaf) {
  for (int round = 0; round < 20; ++round) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor* w = mt_require_grad(floats({1, 2, 3}));
    on_threads([&](int i) {
      for (int k = 0; k < 10; ++k) {
        mt_tensor* loss = total(mt_mul(w, mt_number(i + 1)));
        EXPECT_EQ(mt_backward(loss), MT_OK) << mt_error_message();
        if (k == 5) mt_item(loss);
      }
    });
    EXPECT_EQ(numbers_of(mt_gradient(w)), Numbers({100, 100, 100}));
    mt_scope_end(scope);
  }
}

TEST_F(ThreadsApi, ALeafIsReleasedDuringBackward) {
  for (int round = 0; round < 50; ++round) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor* w = mt_take(mt_require_grad(counted(10)));
    mt_tensor* loss = total(mt_square(mt_exp(w)));
    on_threads(
        [&](int i) {
          if (i == 0) {
            EXPECT_EQ(mt_backward(loss), MT_OK) << mt_error_message();
          } else {
            mt_release(w);
          }
        },
        2);
    mt_scope_end(scope);
  }
}

TEST_F(ThreadsApi, PendingOperandsComeFromEveryThread) {
  for (int round = 0; round < 20; ++round) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor* made[thread_count];
    on_threads([&](int i) { made[i] = mt_take(mt_exp(mt_number(i))); });
    on_threads([&](int i) {
      mt_tensor* sum = mt_number(0);
      for (int k = 0; k < thread_count; ++k) sum = mt_add(sum, made[(i + k) % thread_count]);
      double expected = 0;
      for (int k = 0; k < thread_count; ++k) expected += std::exp(k);
      EXPECT_NEAR(mt_item(sum), expected, 1e-4);
    });
    for (mt_tensor* handle : made) mt_release(handle);
    mt_scope_end(scope);
  }
}

TEST_F(ThreadsApi, HandlesAndScopesEndElsewhere) {
  const int64_t before = used_bytes();
  for (int round = 0; round < 20; ++round) {
    std::vector<mt_tensor*> kept[thread_count];
    on_threads([&](int i) {
      for (int k = 0; k < 50; ++k) {
        mt_tensor* y = mt_mul(counted(32), mt_number(k));
        kept[i].push_back(k % 2 ? mt_retain(y) : mt_take(y));
        if (k % 10 == 0) mt_eval(&y, 1);
      }
    });
    on_threads([&](int i) {
      for (mt_tensor* handle : kept[(i + 1) % thread_count]) {
        EXPECT_EQ(mt_dim(handle, 0), 32);
        mt_release(handle);
      }
    });
    EXPECT_EQ(used_bytes(), before);
  }
  // What one thread's scope owns, another takes out or releases an owner of, meanwhile.
  for (int round = 0; round < 50; ++round) {
    mt_tensor* handles[20];
    mt_scope* scope = mt_scope_begin();
    for (mt_tensor*& handle : handles) handle = mt_retain(mt_sin(mt_number(round)));
    std::thread other([&] {
      for (int i = 0; i < 20; ++i) i % 2 ? mt_release(handles[i]) : (void)mt_take(handles[i]);
      EXPECT_EQ(mt_error(), MT_OK) << mt_error_message();
    });
    for (int i = 0; i < 20; ++i) mt_cos(mt_number(i));
    other.join();
    mt_scope_end(scope);
    for (int i = 0; i < 20; i += 2) {
      EXPECT_NEAR(mt_item(handles[i]), std::sin(round), 1e-6);
      mt_release(handles[i]), mt_release(handles[i]);
    }
  }
}

TEST_F(ThreadsApi, ThreadsBeginWithTheSeedGivenLast) {
  auto draw = [] { return mt_item(mt_uniform(nullptr, 0, 0, 1, MT_F64, nullptr)); };
  for (uint64_t seed : {2, 3, 0}) {
    mt_seed(seed);
    const double expected = draw();
    double later = 0, own = 0;
    on_threads(
        [&](int) {
          later = draw();
          mt_generator* generator = mt_generator_new(seed + 1);
          mt_generator_use(generator);
          own = draw();
          mt_generator_use(nullptr);
          mt_generator_release(generator);
        },
        1);
    EXPECT_EQ(later, expected);
    EXPECT_NE(own, expected);
  }
}

TEST_F(ThreadsApi, OneGeneratorServesAllThreads) {
  mt_generator* generator = mt_generator_new(5);
  std::set<double> expected, found;
  mt_generator_use(generator);
  for (int i = 0; i < 50 * thread_count; ++i) {
    expected.insert(mt_item(mt_uniform(nullptr, 0, 0, 1, MT_F64, nullptr)));
  }
  mt_generator_use(nullptr);
  mt_generator_set_state(generator, 5, 0);
  std::vector<double> drawn[thread_count];
  on_threads([&](int i) {
    mt_generator_use(generator);
    for (int k = 0; k < 50; ++k) {
      drawn[i].push_back(mt_item(mt_uniform(nullptr, 0, 0, 1, MT_F64, nullptr)));
    }
    mt_generator_use(nullptr);
  });
  for (auto& numbers : drawn) found.insert(numbers.begin(), numbers.end());
  EXPECT_EQ(found, expected);
  uint64_t key = 0, counter = 0;
  mt_generator_state(generator, &key, &counter);
  EXPECT_EQ(counter, 50u * thread_count);
  mt_generator_release(generator);
}

TEST_F(ThreadsApi, ATraceDrawsFromTheGeneratorOfItsCall) {
  auto draw = [](void* user, mt_tensor* const*, size_t, mt_tensor** results, size_t) {
    if (user) mt_generator_use(static_cast<mt_generator*>(user));
    results[0] = mt_uniform(nullptr, 0, 0, 1, MT_F64, nullptr);
    if (user) mt_generator_use(nullptr);
    return mt_error();
  };
  auto drawn = [](mt_trace* trace) {
    mt_tensor* result = nullptr;
    EXPECT_EQ(mt_trace_call(trace, nullptr, 0, &result, 1), MT_OK) << mt_error_message();
    return mt_item(result);
  };
  mt_generator* generator = mt_generator_new(7);
  mt_trace *trace = mt_trace_new(draw, nullptr), *own = mt_trace_new(draw, generator);
  mt_seed(1);
  const double first = drawn(trace), second = drawn(trace);
  on_threads(
      [&](int) {
        mt_seed(1);
        EXPECT_EQ(drawn(trace), first);
        EXPECT_EQ(drawn(trace), second);
      },
      1);
  mt_generator_use(generator);
  mt_generator_set_state(generator, 1, 0);
  EXPECT_EQ(drawn(trace), first);
  mt_generator_use(nullptr);
  mt_generator_set_state(generator, 1, 0);
  EXPECT_EQ(drawn(own), first);
  EXPECT_EQ(drawn(own), second) << "what it names itself stays";
  mt_trace_release(trace);
  mt_trace_release(own);
  mt_generator_release(generator);
}

TEST_F(ThreadsApi, NewPlansAreMadeByAllAtOnce) {
  for (int round = 0; round < 30; ++round) {
    on_threads([&](int i) {
      int64_t n = 3 + round;  // the same structure, new to everybody
      mt_tensor* x = mt_broadcast_to(mt_number(i), MT_DIMS(n, 2));
      EXPECT_EQ(mt_item(total(mt_add(mt_mul(x, x), mt_number(1)))), 2.0 * n * (i * i + 1));
      mt_memory memory = MT_MEMORY_INIT;
      EXPECT_EQ(mt_memory_read(nullptr, &memory), MT_OK);
      if (i == 0) mt_release_cached_memory(nullptr);
    });
  }
}

TEST_F(ThreadsApi, MappedMemoryStaysWhileOthersCompute) {
  for (int round = 0; round < 20; ++round) {
    mt_scope* scope = mt_scope_begin();
    mt_tensor* x = mt_mul(counted(1000), mt_number(2));
    on_threads([&](int i) {
      if (i % 2) {
        const float* elements = static_cast<const float*>(mt_map(x));
        double sum = 0;
        for (int k = 0; k < 1000; ++k) sum += elements[k];
        EXPECT_EQ(sum, mt_item(total(x)));
        mt_unmap(x);
      } else {
        mt_tensor* more = mt_add(x, mt_number(1));
        mt_eval(&more, 1);
      }
    });
    mt_scope_end(scope);
  }
}

TEST_F(ThreadsApi, TheNumberOfThreadsChangesWhileOthersRun) {
  int threads = mt_threads();
  mt_tensor* x = mt_reshape(counted(90000), MT_DIMS(300, 300));
  Numbers expected = numbers_of(mt_matmul(x, x));
  on_threads([&](int i) {
    for (int k = 0; k < 5; ++k) {
      if (i == 0) mt_set_threads(1 + k % 3);
      EXPECT_EQ(numbers_of(mt_matmul(x, x)), expected);
    }
  });
  mt_set_threads(threads);
}

}  // namespace
