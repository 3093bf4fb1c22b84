// SPDX-License-Identifier: Apache-2.0
// The grid simulator runs right kernels to their end and refuses wrong ones. Each planted fault
// differs from a right kernel in one place.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "backends/cuda/device/copy.h"
#include "backends/cuda/device/grid.h"
#include "backends/cuda/device/vectors.h"

namespace {

using namespace mt::cuda;

// A vector on the simulated device.
class Simulator : public testing::Test {
 protected:
  template <class T>
  T* device(const std::vector<T>& values) {
    T* memory = uninitialised<T>(values.size());
    grid::copy_in(memory, values.data(), values.size() * sizeof(T));
    return memory;
  }
  template <class T>
  T* uninitialised(size_t count) {
    void* memory = grid::allocate(count * sizeof(T));
    grid::hand_out(memory, count * sizeof(T));
    memory_.push_back(memory);
    return static_cast<T*>(memory);
  }
  template <class T>
  std::vector<T> host(const T* memory, size_t count) {
    std::vector<T> values(count);
    grid::copy_out(values.data(), memory, count * sizeof(T));
    return values;
  }
  void TearDown() override {
    for (void* memory : memory_) {
      grid::take_back(memory);
      grid::release(memory);
    }
  }
  // What the simulator says of a launch; empty when nothing.
  template <class F>
  std::string fault_of(F&& f) {
    try {
      f();
      return "";
    } catch (const grid::Fault& fault) {
      return fault.what();
    }
  }

 private:
  std::vector<void*> memory_;
};

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

template <bool off_by_one>
__global__ void add(const float* a, const float* b, float* out, int64_t count) {
  int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (off_by_one ? i > count : i >= count) return;
  store(out, i, load(a, i) + load(b, i));
}

TEST_F(Simulator, RunsEveryThreadOnce) {
  std::vector<float> a(1000), b(1000);
  std::iota(a.begin(), a.end(), 0.0f);
  std::iota(b.begin(), b.end(), 5.0f);
  float *x = device(a), *y = device(b), *z = uninitialised<float>(1000);
  launch("add", add<false>, {8}, {128}, 0, Stream{}, x, y, z, 1000);
  std::vector<float> sum = host(z, 1000);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(sum[i], a[i] + b[i]);
}

TEST_F(Simulator, FindsABoundThatIsOffByOne) {
  float *x = device(std::vector<float>(1000)), *y = device(std::vector<float>(1000));
  float* z = uninitialised<float>(1000);
  std::string fault =
      fault_of([&] { launch("add", add<true>, {8}, {128}, 0, Stream{}, x, y, z, 1000); });
  EXPECT_TRUE(has(fault, "outside of all memory")) << fault;
  EXPECT_TRUE(has(fault, "add, block 7, thread (104, 0, 0), simulator_test.cpp:")) << fault;
}

TEST_F(Simulator, FindsMemoryThatNothingHasWritten) {
  float *x = device(std::vector<float>(128)), *z = uninitialised<float>(128);
  float* y = uninitialised<float>(128);
  std::string fault =
      fault_of([&] { launch("add", add<false>, {1}, {128}, 0, Stream{}, x, y, z, 128); });
  EXPECT_TRUE(has(fault, "nothing has written")) << fault;
}

// Each block turns its part around by way of shared memory.
enum class Planted {
  nothing,
  no_barrier,
  part_of_the_tile,
  barrier_in_a_branch,
  too_little_memory
};
template <Planted planted>
__global__ void reverse(const int* in, int* out) {
  auto tile = shared<int>();
  unsigned i = threadIdx.x, n = blockDim.x;
  if (planted != Planted::part_of_the_tile || i != 3) tile[i] = load(in, blockIdx.x * n + i);
  if (planted == Planted::barrier_in_a_branch) {
    if (i < 32) __syncthreads();
  } else if (planted != Planted::no_barrier) {
    __syncthreads();
  }
  store(out, blockIdx.x * n + i, tile[n - 1 - i]);
}

TEST_F(Simulator, SharesMemoryWithinABlock) {
  std::vector<int> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0);
  int *x = device(numbers), *y = uninitialised<int>(256);
  launch("reverse", reverse<Planted::nothing>, {4}, {64}, 64 * sizeof(int), Stream{}, x, y);
  std::vector<int> turned = host(y, 256);
  for (int i = 0; i < 256; ++i)
    ASSERT_EQ(turned[static_cast<size_t>(i)], i / 64 * 64 + 63 - i % 64);
}

TEST_F(Simulator, FindsPlantedFaults) {
  int *x = device(std::vector<int>(256)), *y = uninitialised<int>(256);
  auto fault = [&](auto kernel, size_t bytes) {
    return fault_of([&] { launch("reverse", kernel, {4}, {64}, bytes, Stream{}, x, y); });
  };
  // Whichever order the threads run in, the missing barrier shows.
  for (uint64_t seed = 0; seed < 20; ++seed) {
    grid::shuffle_by(seed);
    std::string found = fault(reverse<Planted::no_barrier>, 256);
    EXPECT_TRUE(has(found, "a race") || has(found, "nothing has written")) << found;
  }
  std::string found = fault(reverse<Planted::part_of_the_tile>, 256);
  EXPECT_TRUE(has(found, "shared memory that nothing has written")) << found;
  found = fault(reverse<Planted::barrier_in_a_branch>, 256);
  EXPECT_TRUE(has(found, "waits at a barrier that other threads never reach") ||
              has(found, "a race") || has(found, "nothing has written"))
      << found;
  found = fault(reverse<Planted::nothing>, 252);
  EXPECT_TRUE(has(found, "beyond shared memory")) << found;
}

// Copies a part of its input to shared memory while it does something else, and turns it around.
enum class Forgotten { nothing, commit, wait, barrier, last_wait };
template <Forgotten forgotten>
__global__ void copied(const int* in, int* out) {
  auto tile = shared<int>();
  unsigned i = threadIdx.x, n = blockDim.x;
  copy_async(tile, i, in, blockIdx.x * n + i, i % 8 != 0);
  if (forgotten != Forgotten::commit) commit_copies();
  if (forgotten != Forgotten::wait) wait_for_copies<0>();
  if (forgotten != Forgotten::barrier) __syncthreads();
  store(out, blockIdx.x * n + i, tile[n - 1 - i]);
  if (forgotten != Forgotten::last_wait) return;
  copy_async(tile, n + i, in, i, true);
  commit_copies();
}

TEST_F(Simulator, CopiesArriveWhenTheyAreWaitedFor) {
  std::vector<int> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0);
  int *x = device(numbers), *y = uninitialised<int>(256);
  auto fault = [&](auto kernel) {
    return fault_of([&] { launch("copied", kernel, {4}, {64}, 512, Stream{}, x, y); });
  };
  EXPECT_EQ(fault(copied<Forgotten::nothing>), "");
  std::vector<int> turned = host(y, 256);
  for (int i = 0; i < 256; ++i) {
    int from = i / 64 * 64 + 63 - i % 64;
    ASSERT_EQ(turned[static_cast<size_t>(i)], from % 8 == 0 ? 0 : from);
  }
  for (auto kernel : {copied<Forgotten::commit>, copied<Forgotten::wait>}) {
    std::string found = fault(kernel);
    EXPECT_TRUE(has(found, "shared memory that nothing has written")) << found;
  }
  std::string found = fault(copied<Forgotten::barrier>);
  EXPECT_TRUE(has(found, "a race") || has(found, "nothing has written")) << found;
  found = fault(copied<Forgotten::last_wait>);
  EXPECT_TRUE(has(found, "ends while copies are under way")) << found;
}

__global__ void two_barriers(int which) {
  if (static_cast<int>(threadIdx.x) < which) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}

TEST_F(Simulator, FindsThreadsAtDifferentBarriers) {
  EXPECT_EQ(fault_of([] { launch("two_barriers", two_barriers, {2}, {64}, 0, Stream{}, 0); }), "");
  std::string found =
      fault_of([] { launch("two_barriers", two_barriers, {2}, {64}, 0, Stream{}, 7); });
  EXPECT_TRUE(has(found, "waits at a barrier while other threads wait at another")) << found;
}

// Who reads one number, what comes between, and who writes it then.
enum class Between { nothing, shuffle, warp_barrier, barrier };
template <unsigned readers, Between between, unsigned writer = 0>
__global__ void read_then_write(float* x) {
  if (threadIdx.x < readers) load(x);
  if (between == Between::shuffle) __shfl_sync(0xffffffff, 0, 0);
  if (between == Between::warp_barrier) __syncwarp();
  if (between == Between::barrier) __syncthreads();
  if (threadIdx.x == writer) store(x, 0, 1.0f);
}
// Of the second block nobody waits for the first.
__global__ void read_again_then_write(float* x, unsigned writing_block) {
  load(x);
  __syncthreads();
  if (threadIdx.x != 0 || blockIdx.x != writing_block) return;
  load(x);
  store(x, 0, 1.0f);
}

// In whichever order threads and blocks run.
TEST_F(Simulator, FindsWhoWritesWhatOthersRead) {
  float* x = device(std::vector<float>(1));
  auto fault = [&](auto kernel, unsigned threads) {
    return fault_of([&] { launch("r", kernel, {1}, {threads}, 0, Stream{}, x); });
  };
  auto again = [&](unsigned blocks) {
    return fault_of([&] { launch("r", read_again_then_write, {blocks}, {64}, 0, Stream{}, x, 0); });
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    grid::shuffle_by(seed);
    EXPECT_EQ(fault(read_then_write<32, Between::warp_barrier>, 64), "");
    EXPECT_EQ(fault(read_then_write<32, Between::warp_barrier, 7>, 64), "");
    EXPECT_EQ(fault(read_then_write<64, Between::barrier, 40>, 64), "");
    EXPECT_EQ(again(1), "");
    EXPECT_TRUE(has(fault(read_then_write<32, Between::nothing>, 64), "a race"));
    EXPECT_TRUE(has(fault(read_then_write<32, Between::shuffle>, 64), "a race"));
    EXPECT_TRUE(has(fault(read_then_write<32, Between::warp_barrier, 40>, 64), "a race"));
    EXPECT_TRUE(has(fault(read_then_write<33, Between::warp_barrier>, 64), "a race"));
    EXPECT_TRUE(has(again(2), "a race"));
  }
}

// Vectors of four, and numbers by themselves beside them.
using Four = Adjacent<float, 4>;
__global__ void copy_vectors(const float* in, float* out) {
  const int64_t i = 4 * static_cast<int64_t>(threadIdx.x);
  store(reinterpret_cast<Four*>(out + i), 0, load(reinterpret_cast<const Four*>(in + i)));
}
// The last number of 16 bytes, and those as a vector.
template <class T, bool reads>
__global__ void write_within(T* x, unsigned writer, unsigned of_vector) {
  constexpr int count = 16 / sizeof(T);
  auto* vector = reinterpret_cast<Adjacent<T, count>*>(x);
  if (threadIdx.x == of_vector) reads ? void(load(vector)) : store(vector, 0, {});
  if (threadIdx.x == writer) store(x, count - 1, T{1});
}
template <class T>
__global__ void write_side_by_side(T* x) {
  store(x, threadIdx.x, T{1});
}

TEST_F(Simulator, FindsVectorsThatAreMisaligned) {
  float *x = device(std::vector<float>(136)), *y = uninitialised<float>(136);
  auto fault = [&](int in, int out) {
    return fault_of([&] { launch("v", copy_vectors, {1}, {32}, 0, Stream{}, x + in, y + out); });
  };
  EXPECT_EQ(fault(4, 0), "");
  EXPECT_TRUE(has(fault(1, 0), "a misaligned read"));
  EXPECT_TRUE(has(fault(0, 2), "a misaligned write"));
}

TEST_F(Simulator, FindsWhoWritesIntoAVector) {
  auto expect = [&](auto kernel, auto number) {
    auto fault = [&](unsigned writer, unsigned of_vector) {
      auto* x = device(std::vector<decltype(number)>(16));
      return fault_of([&] { launch("w", kernel, {1}, {32}, 0, Stream{}, x, writer, of_vector); });
    };
    for (uint64_t seed = 0; seed < 20; ++seed) {
      grid::shuffle_by(seed);
      EXPECT_EQ(fault(0, 0), "");
      EXPECT_TRUE(has(fault(1, 0), "a race"));
    }
    // Whose neighbours are others'.
    auto* x = uninitialised<decltype(number)>(16);
    EXPECT_EQ(fault_of([&] {
                launch("w", write_side_by_side<decltype(number)>, {1}, {16}, 0, Stream{}, x);
              }),
              "");
  };
  expect(write_within<float, false>, 0.0f);
  expect(write_within<float, true>, 0.0f);
  expect(write_within<uint16_t, false>, uint16_t{});
  expect(write_within<uint16_t, true>, uint16_t{});
  expect(write_within<uint8_t, false>, uint8_t{});
  expect(write_within<uint8_t, true>, uint8_t{});
}

template <bool all_blocks_to_one>
__global__ void last_writer(int* out) {
  if (threadIdx.x == 0) store(out, all_blocks_to_one ? 0 : blockIdx.x, 1);
}

TEST_F(Simulator, FindsBlocksThatWriteTheSamePlace) {
  int* x = uninitialised<int>(8);
  EXPECT_EQ(fault_of([&] { launch("w", last_writer<false>, {8}, {32}, 0, Stream{}, x); }), "");
  std::string found = fault_of([&] { launch("w", last_writer<true>, {8}, {32}, 0, Stream{}, x); });
  EXPECT_TRUE(has(found, "a race")) << found;
}

// The sum of a warp's numbers.
template <bool some_leave>
__global__ void warp_sum(const int* in, int* out) {
  int sum = load(in, blockIdx.x * 64 + threadIdx.x);
  if (some_leave && threadIdx.x == 40) return;
  for (unsigned delta = 16; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffff, sum, delta);
  if (threadIdx.x % 32 == 0) store(out, blockIdx.x * 2 + threadIdx.x / 32, sum);
}

TEST_F(Simulator, ExchangesWithinWarps) {
  std::vector<int> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 1);
  int *x = device(numbers), *y = uninitialised<int>(8);
  launch("warp_sum", warp_sum<false>, {4}, {64}, 0, Stream{}, x, y);
  std::vector<int> sums = host(y, 8);
  for (int w = 0; w < 8; ++w) EXPECT_EQ(sums[static_cast<size_t>(w)], 32 * (32 * w) + 528);
  std::string found =
      fault_of([&] { launch("warp_sum", warp_sum<true>, {4}, {64}, 0, Stream{}, x, y); });
  EXPECT_TRUE(has(found, "waits for lanes of its warp that do not come")) << found;
}

TEST_F(Simulator, EnforcesTheLimitsOfALaunch) {
  auto fault = [&](Dim3 blocks, Dim3 threads, size_t bytes) {
    return fault_of(
        [&] { launch("two_barriers", two_barriers, blocks, threads, bytes, Stream{}, 0); });
  };
  EXPECT_EQ(fault({1}, {1024}, 0), "");
  EXPECT_TRUE(has(fault({1}, {1056}, 0), "1024 threads"));
  EXPECT_TRUE(has(fault({0}, {32}, 0), "empty"));
  EXPECT_TRUE(has(fault({1, 65536}, {32}, 0), "too large a grid"));
  EXPECT_TRUE(has(fault({1}, {32}, 101377), "99 KiB"));
}

// By its name it runs first: what the address sanitizer keeps for each fiber is soon more than may
// be forked.
using SimulatorDeathTest = Simulator;
TEST_F(SimulatorDeathTest, KeepsTheHostAwayFromDeviceMemory) {
  volatile int* x = device(std::vector<int>(8));
  EXPECT_DEATH((void)x[0], "");
}

}  // namespace
