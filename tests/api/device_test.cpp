// SPDX-License-Identifier: Apache-2.0
// Devices, their memory, threads, and the eager mode.
#include <cmath>
#include <set>
#include <thread>
#include <vector>

#include "api/support.h"

namespace {

class Device : public Api {};

TEST_F(Device, AreListed) {
  std::set<std::string> names;
  for (size_t i = 0; i < mt_device_count(); ++i) {
    names.insert(mt_device_name(i));
    EXPECT_TRUE(mt_device_available(mt_device_name(i)));
    char* text = mt_device_description(mt_device_name(i));
    EXPECT_GT(std::string(text).size(), 3u);
    mt_free_string(text);
  }
  EXPECT_TRUE(names.count("cpu") && names.count("cpu:reference"));
  EXPECT_EQ(mt_device_name(mt_device_count()), nullptr);
  EXPECT_FALSE(mt_device_available("abacus"));
}

TEST_F(Device, AGpuThatIsNotThereIsAnErrorAndNoMore) {
  EXPECT_FALSE(mt_device_available("cuda:one"));
  EXPECT_FALSE(mt_device_available("cuda:1000"));
  mt_tensor* x = floats({1, 2, 3});
  if (mt_device_available("cuda:0")) GTEST_SKIP() << "it is there";
  EXPECT_EQ(mt_to_device(x, "cuda:0"), nullptr);
  EXPECT_TRUE(failed_with(MT_EDEVICE, "cuda"));
  EXPECT_EQ(mt_set_default_device("cuda:0"), MT_EDEVICE);
  mt_clear();
  EXPECT_EQ(numbers_of(mt_square(x)), Numbers({1, 4, 9}));
}

TEST_F(Device, CopiesBetweenDevicesAreDifferentiable) {
  mt_tensor* x = mt_require_grad(floats({1, 2, 3, 4}, {2, 2}));
  mt_tensor* there = mt_to_device(mt_matrix_transpose(x), "cpu:reference");
  EXPECT_STREQ(mt_device_of(there), "cpu:reference");
  EXPECT_EQ(numbers_of(there), Numbers({1, 3, 2, 4}));
  mt_tensor* back = mt_to_device(mt_square(there), "cpu");
  mt_backward(mt_sum(back, nullptr, 0));
  EXPECT_STREQ(mt_device_of(mt_gradient(x)), "cpu");
  EXPECT_EQ(numbers_of(mt_gradient(x)), Numbers({2, 4, 6, 8}));
}

TEST_F(Device, TheDefaultCanBeSet) {
  EXPECT_EQ(mt_set_default_device("cpu:reference"), MT_OK);
  EXPECT_STREQ(mt_default_device(), "cpu:reference");
  EXPECT_STREQ(mt_device_of(floats({1})), "cpu:reference");
  EXPECT_EQ(mt_set_default_device("cpu"), MT_OK);
  EXPECT_STREQ(mt_device_of(floats({1})), "cpu");
}

TEST_F(Device, MemoryIsCounted) {
  mt_memory before = MT_MEMORY_INIT, during = MT_MEMORY_INIT;
  mt_memory_read("cpu", &before);
  mt_reset_peak_memory("cpu");
  MT_SCOPE {
    std::vector<float> numbers(100000, 1);
    floats(numbers);
    mt_memory_read("cpu", &during);
  }
  EXPECT_GE(during.used, before.used + 400000);
  mt_memory after = MT_MEMORY_INIT;
  mt_memory_read("cpu", &after);
  EXPECT_EQ(after.used, before.used);
  EXPECT_GE(after.peak, during.used);
  EXPECT_EQ(after.limit, 0);
  EXPECT_GE(after.allocations, before.allocations);
  mt_release_cached_memory("cpu");
  mt_memory released = MT_MEMORY_INIT;
  mt_memory_read("cpu", &released);
  EXPECT_LE(released.cached, after.cached);
  // An older program's struct is shorter.
  mt_memory shorter = MT_MEMORY_INIT;
  shorter.struct_size = offsetof(mt_memory, peak);
  shorter.peak = -1;
  EXPECT_EQ(mt_memory_read("cpu", &shorter), MT_OK);
  EXPECT_EQ(shorter.peak, -1);
  EXPECT_EQ(shorter.used, released.used);
}

TEST_F(Device, ThreadsAreBounded) {
  const int threads = mt_threads();
  for (int wrong : {0, -1, 1025, 100000}) {
    EXPECT_EQ(mt_set_threads(wrong), MT_EINVAL);
    EXPECT_TRUE(failed_with(MT_EINVAL, "1 to 1024"));
  }
  EXPECT_EQ(mt_threads(), threads);
}

TEST_F(Device, ThreadsDoNotChangeResults) {
  int threads = mt_threads();
  EXPECT_GE(threads, 1);
  mt_tensor* x = mt_reshape(mt_arange(0, 200000, 1, MT_F32, nullptr), MT_DIMS(400, 500));
  mt_tensor* y = mt_sum(mt_sin(mt_matmul(x, mt_matrix_transpose(x))), nullptr, 0);
  double first = 0;
  for (int count : {1, 2, 3, 7}) {
    mt_set_threads(count);
    EXPECT_EQ(mt_threads(), count);
    mt_tensor* again = mt_sum(mt_sin(mt_matmul(x, mt_matrix_transpose(x))), nullptr, 0);
    if (count == 1) first = mt_item(again);
    EXPECT_EQ(mt_item(again), first);
  }
  mt_set_threads(threads);
  EXPECT_EQ(mt_item(y), first);
}

thread_local int64_t long_works = 0;

TEST_F(Device, WhatTakesLongIsAnnounced) {
  EXPECT_EQ(mt_before_work(nullptr), MT_ENULL);
  mt_clear();
  ASSERT_EQ(mt_before_work([] { ++long_works; }), MT_OK);
  auto announced = [](auto work) {
    int64_t before = long_works;
    work();
    return long_works > before;
  };
  auto compute = [](mt_tensor* x) { EXPECT_EQ(mt_eval(&x, 1), MT_OK); };
  mt_tensor *tiny = mt_ones(MT_DIMS(4), MT_F32, nullptr),
            *large = mt_ones(MT_DIMS(100, 100), MT_F32, nullptr);
  compute(tiny);
  compute(large);
  EXPECT_FALSE(announced([&] { compute(mt_add(tiny, tiny)); }));
  EXPECT_FALSE(announced([&] { mt_add(large, large); }));
  EXPECT_TRUE(announced([&] { compute(mt_add(large, large)); }));
  EXPECT_TRUE(announced([&] { compute(mt_matmul(large, large)); }));
  const std::vector<char> bytes(1 << 17);
  EXPECT_FALSE(announced([&] { mt_from_data(bytes.data(), MT_DIMS(1000), MT_U8, nullptr); }));
  EXPECT_TRUE(announced([&] { mt_from_data(bytes.data(), MT_DIMS(1 << 17), MT_U8, nullptr); }));
  mt_tensor* places = mt_zeros(MT_DIMS(1 << 17), MT_I64, nullptr);
  compute(places);
  EXPECT_FALSE(announced([&] { mt_index_select(tiny, mt_slice(places, 0, 0, 9, 1), 0); }));
  EXPECT_TRUE(announced([&] { mt_index_select(tiny, places, 0); }));
  // Another thread's value, even a small one: it may be in the middle of something.
  mt_tensor* pending = mt_add(tiny, tiny);
  bool in_thread = false;
  std::thread([&] {
    MT_SCOPE in_thread = announced([&] { compute(mt_add(pending, pending)); });
  }).join();
  EXPECT_TRUE(in_thread);
}

TEST_F(Device, EagerRunsGiveTheSameBits) {
  auto run = [] {
    mt_tensor* w = mt_require_grad(mt_linspace(-1, 1, 50, MT_F32, nullptr));
    mt_tensor* y = mt_mean(mt_mul(mt_tanh(w), mt_exp(mt_mul(w, mt_number(0.3)))), nullptr, 0);
    mt_backward(y);
    mt_sgd(&w, 1, 0.1);
    return numbers_of(w);
  };
  Numbers fused = run();
  EXPECT_FALSE(mt_eager());
  mt_set_eager(true);
  EXPECT_TRUE(mt_eager());
  EXPECT_EQ(run(), fused);
  mt_set_eager(false);
}

TEST_F(Device, TheFirstNanIsNamed) {
  mt_tensor* x = floats({-1, 1});
  mt_set_nan_check(true);
  EXPECT_TRUE(mt_nan_check() && mt_eager());
  EXPECT_EQ(mt_exp(mt_sqrt(x)), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "sqrt"));
  mt_tensor* infinite = floats({INFINITY, 1});
  EXPECT_EQ(mt_mse_loss(infinite, infinite, MT_REDUCTION_MEAN), nullptr);
  EXPECT_TRUE(failed_with(MT_EINVAL, "mse_loss: sub made a NaN in float32"));
  for (mt_dtype dtype : {MT_F16, MT_BF16, MT_F64}) {
    EXPECT_EQ(mt_log(mt_astype(x, dtype)), nullptr);
    EXPECT_TRUE(failed_with(MT_EINVAL, "log"));
  }
  mt_tensor* nan = floats({NAN, 1});
  EXPECT_NE(mt_exp(nan), nullptr) << "the operand held it already";
  EXPECT_EQ(numbers_of(mt_square(x)), Numbers({1, 1}));
  mt_set_nan_check(false);
  EXPECT_NE(mt_sqrt(x), nullptr);
}

TEST_F(Device, HandlesGoFromThreadToThread) {
  mt_tensor* x = floats({1, 2, 3});
  mt_tensor* pending = mt_square(x);
  double total = 0;
  std::thread([&] {
    MT_SCOPE { total = mt_item(mt_sum(mt_add(pending, x), nullptr, 0)); }
    EXPECT_EQ(mt_error(), MT_OK);
  }).join();
  EXPECT_EQ(total, 20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) MT_SCOPE {
          EXPECT_EQ(mt_item(mt_sum(mt_mul(pending, x), nullptr, 0)), 36);
        }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(Device, TwoThreadsTrainTwoModels) {
  auto train = [](double target, double* result) {
    MT_SCOPE {
      mt_tensor* w = mt_require_grad(mt_zeros(MT_DIMS(3), MT_F32, nullptr));
      for (int step = 0; step < 100; ++step) MT_SCOPE {
          mt_backward(mt_sum(mt_square(mt_sub(w, mt_number(target))), nullptr, 0));
          mt_sgd(&w, 1, 0.2);
          mt_zero_grad(&w, 1);
        }
      *result = mt_item(mt_mean(w, nullptr, 0));
    }
    EXPECT_EQ(mt_error(), MT_OK);
  };
  double a = 0, b = 0;
  std::thread first(train, 1, &a), second(train, -2, &b);
  first.join();
  second.join();
  EXPECT_NEAR(a, 1, 1e-6);
  EXPECT_NEAR(b, -2, 1e-6);
}

}  // namespace
