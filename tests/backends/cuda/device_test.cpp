// SPDX-License-Identifier: Apache-2.0
// What a program sees of the devices: memory and its limit, failures, memory shared with others.
#include <cmath>

#include "api/support.h"
#include "backends/cuda/simulated.h"

namespace {

class CudaDevice : public Api {};

mt_memory memory_of(const char* device) {
  mt_memory memory = MT_MEMORY_INIT;
  EXPECT_EQ(mt_memory_read(device, &memory), MT_OK);
  return memory;
}

TEST_F(CudaDevice, CountsItsMemory) {
  mt_release_cached_memory("cuda:0");
  mt_reset_peak_memory("cuda:0");
  const char* another = simulated::is_there() ? "cuda:1" : "cpu";
  mt_memory before = memory_of("cuda:0"), other = memory_of(another);
  EXPECT_EQ(before.cached, 0);
  mt_tensor* x = mt_take(mt_full(MT_DIMS(1 << 20), 1, MT_F32, "cuda:0"));
  mt_eval(&x, 1);
  mt_memory held = memory_of("cuda:0");
  EXPECT_GE(held.used, before.used + (4 << 20));
  EXPECT_GE(held.peak, held.used);
  EXPECT_GT(held.allocations, before.allocations);
  mt_release(x);
  mt_memory after = memory_of("cuda:0");
  EXPECT_EQ(after.used, before.used);
  EXPECT_GE(after.cached, 4 << 20);
  mt_release_cached_memory("cuda:0");
  EXPECT_EQ(memory_of("cuda:0").cached, 0);
  mt_reset_peak_memory("cuda:0");
  EXPECT_EQ(memory_of("cuda:0").peak, before.used);
  EXPECT_EQ(memory_of(another).used, other.used);
}

TEST_F(CudaDevice, SaysWhichOperatorHadNoMemory) {
  mt_tensor* x = mt_full(MT_DIMS(1000), 2, MT_F32, "cuda:0");
  mt_eval(&x, 1);
  mt_set_memory_limit("cuda:0", memory_of("cuda:0").used + (1 << 20));
  EXPECT_EQ(memory_of("cuda:0").limit, memory_of("cuda:0").used + (1 << 20));
  mt_tensor* y = mt_exp(mt_add(mt_reshape(x, MT_DIMS(1000, 1)), x));
  EXPECT_NE(mt_eval(&y, 1), MT_OK);
  EXPECT_TRUE(failed_with(MT_ENOMEM, "exp: out of memory: 4000000 bytes on cuda:0"));
  mt_to_device(mt_ones(MT_DIMS(1000, 1000), MT_F32, "cpu"), "cuda:0");
  EXPECT_TRUE(failed_with(MT_ENOMEM, "to_device: out of memory: 4000000 bytes on cuda:0"));
  mt_set_memory_limit("cuda:0", 0);
  EXPECT_EQ(mt_eval(&y, 1), MT_OK);  // nothing had changed
  EXPECT_NEAR(mt_item(mt_mean(y, nullptr, 0)), std::exp(4.0), 1e-3);
  // The simulated device has 2 GiB, and no GPU has 4 TiB.
  const bool small = simulated::is_there();
  mt_tensor* large = mt_full(MT_DIMS(1 << 20, small ? 1 << 10 : 1 << 20), 1, MT_F32, "cuda:0");
  EXPECT_NE(mt_eval(&large, 1), MT_OK);
  EXPECT_TRUE(failed_with(MT_ENOMEM, small ? "4294967296 bytes on cuda:0" : "bytes on cuda:0"));
}

// Of groups that are several launches, and of plans that would be a graph.
TEST_F(CudaDevice, IsProfiledGroupByGroup) {
  mt_tensor* x = mt_normal(MT_DIMS(4, 64), 0, 1, MT_F32, "cuda:0");
  mt_tensor* w = mt_normal(MT_DIMS(64, 64), 0, 1, MT_F32, "cuda:0");
  mt_eval(&x, 1);
  mt_eval(&w, 1);
  mt_profile* profile = mt_profile_start();
  for (int i = 0; i < 3; ++i) MT_SCOPE {
      mt_tensor* y = x;
      for (int layer = 0; layer < 4; ++layer) y = mt_softmax(mt_matmul(y, w), -1);
      mt_item(mt_sum(mt_cumulative_sum(y, 1), nullptr, 0));
    }
  mt_profile_stop(profile);
  char* text = mt_profile_text(profile);
  std::string table = text;
  mt_free_string(text);
  mt_profile_release(profile);
  EXPECT_NE(table.find("contraction 4 x 64 x 64, then "), std::string::npos) << table;
  EXPECT_NE(table.find("cumulative_sum [4,64]"), std::string::npos) << table;
}

// What fails on the device is told by the call that waits for it.
TEST_F(CudaDevice, SaysWhatMayHaveFailed) {
  MT_NEEDS_SIMULATOR();
  mt_tensor* x = mt_full(MT_DIMS(100), 2, MT_F32, "cuda:0");
  EXPECT_EQ(mt_item(mt_sum(x, nullptr, 0)), 200);
  mt_tensor* y = mt_sort(mt_neg(x), 0, false);
  mt_eval(&y, 1);
  simulated::failed_work() = "an illegal memory access was encountered";
  std::vector<float> values(100);
  EXPECT_EQ(mt_copy_to_host(y, values.data(), 400), MT_EDEVICE);
  std::string message = mt_error_message();
  EXPECT_NE(message.find("an illegal memory access was encountered; it happened in one of: "),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("sort"), std::string::npos) << message;
  EXPECT_EQ(message.find("a reduction"), std::string::npos) << message;  // had been waited for
  mt_clear();
  // Or by what is launched next, which is not to blame.
  y = mt_sort(mt_neg(x), 0, false);
  mt_eval(&y, 1);
  simulated::failed_work() = "an illegal memory access was encountered";
  mt_profile* profile = mt_profile_start();
  mt_tensor* z = mt_exp(x);
  EXPECT_EQ(mt_eval(&z, 1), MT_EDEVICE);
  mt_profile_stop(profile);
  mt_profile_release(profile);
  message = mt_error_message();
  EXPECT_NE(message.find("; it happened in one of: "), std::string::npos) << message;
  EXPECT_NE(message.find("sort"), std::string::npos) << message;
  mt_clear();
}

// Directly where the devices reach each other, else by way of the host; back again, what has been
// changed meanwhile, and of memory that others have next.
TEST_F(CudaDevice, CopiesToAnotherDevice) {
  const bool counts = simulated::is_there();
  const char* another = "cpu";
  for (size_t i = 0; i < mt_device_count(); ++i) {
    if (std::string(mt_device_name(i)) == "cuda:1") another = "cuda:1";
  }
  for (bool reach : {true, false}) {
    simulated::peers() = reach;
    const int copies = simulated::peer_copies();
    MT_SCOPE {
      mt_tensor* x = mt_square(mt_reshape(mt_arange(0, 500, 1, MT_F32, "cuda:0"), MT_DIMS(5, 100)));
      mt_tensor* there = mt_to_device(mt_transpose(x, 0, 1), another);
      EXPECT_STREQ(mt_device_of(there), another);
      EXPECT_EQ(simulated::peer_copies(), copies + (counts && reach));
      mt_tensor* back = mt_to_device(mt_neg(mt_transpose(there, 0, 1)), "cuda:0");
      EXPECT_EQ(mt_item(mt_sum(mt_abs(mt_add(back, x)), nullptr, 0)), 0);
      EXPECT_EQ(simulated::peer_copies(), copies + 2 * (counts && reach));
    }
  }
  simulated::peers() = true;
}

TEST_F(CudaDevice, SharesItsMemory) {
  const bool counts = simulated::is_there();
  const char* device = counts ? "cuda:1" : "cuda:0";
  mt_tensor* x = mt_take(mt_full(MT_DIMS(3, 4), 2, MT_F32, device));
  EXPECT_NE(mt_device_stream(device), counts ? mt_device_stream("cuda:0") : nullptr);
  EXPECT_EQ(mt_device_stream("cpu"), nullptr);
  int waits = simulated::stream_waits(), device_waits = simulated::device_waits();
  DLManagedTensorVersioned* managed = mt_to_dlpack(x, 0);
  ASSERT_NE(managed, nullptr) << mt_error_message();
  EXPECT_EQ(mt_let_stream_wait(device, nullptr), MT_OK);
  EXPECT_EQ(simulated::stream_waits(), waits + 1 * counts);
  EXPECT_EQ(mt_wait_for_stream(device, mt_device_stream(device)), MT_OK);
  EXPECT_EQ(simulated::stream_waits(), waits + 2 * counts);
  EXPECT_EQ(mt_wait_for_stream("cpu", nullptr), MT_OK);
  mt_release(x);
  mt_tensor* y = mt_take(mt_from_dlpack(managed));
  ASSERT_NE(y, nullptr) << mt_error_message();
  EXPECT_STREQ(mt_device_of(y), device);
  MT_SCOPE { EXPECT_EQ(mt_item(mt_sum(mt_square(y), nullptr, 0)), 48); }
  EXPECT_EQ(simulated::device_waits(), device_waits);
  mt_release(y);  // gives the memory back, which waits for whoever has worked on it
  EXPECT_EQ(simulated::device_waits(), device_waits + 1 * counts);
}

}  // namespace
