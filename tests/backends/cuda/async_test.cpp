// SPDX-License-Identifier: Apache-2.0
// What works by itself on Hopper, under the grid simulator: a ring of stages that one warp fills by
// bulk copies and a warpgroup multiplies from. Each planted fault differs from the right kernel in
// one place, and is found whatever the order of threads and arrivals.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "backends/cuda/device/warpgroup_unit.h"
#include "backends/cuda/simulator/stream.h"

namespace {

using namespace mt::cuda;

enum class Planted {
  nothing,
  no_wait_for_bytes,
  no_wait_for_room,
  too_many_bytes,
  too_few_bytes,
  too_few_arrivals,
  too_many_arrivals,
  room_too_early,
  no_barrier_after_making,
  no_wait_for_products,
  wrong_parity,
  misaligned,
  operand_changed,
  one_wait_for_two,
  no_beginning,
  other_dimensions,
};

constexpr int stages = 2, rows = 64, columns = 128, stage_bytes = (rows + columns) * 128;
constexpr size_t ring = stages * stage_bytes;
constexpr int lanes = 5 * 32;  // one warp copies, four multiply

// out[64, 128] = a[64, k] b[128, k].
template <Planted planted>
__global__ void product(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                        int k_end, float* out) {
  auto full = [](int stage) { return ring + static_cast<size_t>(stage) * 16; };
  auto empty = [&](int stage) { return full(stage) + 8; };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      make_arrivals(full(stage), 1);
      make_arrivals(empty(stage), planted == Planted::too_few_arrivals    ? 5
                                  : planted == Planted::too_many_arrivals ? 3
                                                                          : 4);
    }
    publish_arrivals();
  }
  if (planted != Planted::no_barrier_after_making) __syncthreads();
  float sums[64] = {};
  int stage = 0;
  unsigned parity = 0;
  for (int k = 0; k < k_end; k += 64) {
    auto at = static_cast<size_t>(stage * stage_bytes);
    if (threadIdx.x == 128) {
      if (planted != Planted::no_wait_for_room) wait_for_arrivals(empty(stage), parity ^ 1);
      arrive_expecting(full(stage), planted == Planted::too_many_bytes  ? stage_bytes + 128
                                    : planted == Planted::too_few_bytes ? stage_bytes - 128
                                                                        : stage_bytes);
      copy_box(at + (planted == Planted::misaligned ? 128 : 0), a, k, 0, 0, full(stage));
      copy_box(at + rows * 128, b, k, 0, 0, full(stage));
    } else if (threadIdx.x < 128) {
      if (planted != Planted::no_wait_for_bytes) {
        wait_for_arrivals(full(stage), planted == Planted::wrong_parity ? parity ^ 1 : parity);
      }
      begin_products();
      for (int step = 0; step < 64; step += 16) {
        multiply_group<Factor::bfloat16, true, true>(
            sums, operand<true>(at, step), operand<true>(at + rows * 128, step), k + step > 0);
      }
      commit_products();
      if (planted == Planted::room_too_early && threadIdx.x % 32 == 0) arrive(empty(stage));
      if (planted != Planted::no_wait_for_products) wait_for_products<0>();
      if (planted != Planted::room_too_early && threadIdx.x % 32 == 0) arrive(empty(stage));
    }
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  if (threadIdx.x >= 128) return;
  unsigned row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  for (unsigned i = 0; i < 64; ++i) {
    store(out, (row + i / 2 % 2 * 8) * columns + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2, sums[i]);
  }
}

// sums[64, 128] and others[64, 64] = a[64, 64] b[64, ...], with a in registers, and b an array of
// four dimensions.
template <Planted planted>
__global__ void of_registers(const __grid_constant__ TensorMap b, const uint32_t* a, float* out) {
  constexpr size_t box = 64 * 128, full = 2 * box;
  const unsigned thread = threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4;
  if (thread == 0) {
    make_arrivals(full, 1);
    publish_arrivals();
    arrive_expecting(full, 2 * box);
    for (int x = 0; x < 128; x += 64) {
      if (planted == Planted::other_dimensions) {
        copy_box(static_cast<size_t>(x / 64) * box, b, x, 0, 0, full);
      } else {
        copy_box(static_cast<size_t>(x / 64) * box, b, x, 0, 0, 1, full);
      }
    }
  }
  uint32_t left[4][4];
  for (unsigned k = 0; k < 4; ++k) {
    for (unsigned i = 0; i < 4; ++i) {
      left[k][i] = load(a, (row + i % 2 * 8) * 32 + 8 * k + i / 2 * 4 + thread % 4);
    }
  }
  __syncthreads();
  wait_for_arrivals(full, 0);
  float sums[64], others[32];
  if (planted != Planted::no_beginning) begin_products();
  for (int k = 0; k < 4; ++k) {
    multiply_registers<Factor::bfloat16, false>(sums, left[k], operand<false>(0, 16 * k), k > 0);
  }
  commit_products();
  for (int k = 0; k < 4; ++k) {
    multiply_registers<Factor::bfloat16, false>(others, left[k], operand<false>(box, 16 * k),
                                                k > 0);
  }
  commit_products();
  wait_for_products<1>();
  for (unsigned i = 0; i < 64; ++i) {
    store(out, (row + i / 2 % 2 * 8) * 192 + i / 4 * 8 + thread % 4 * 2 + i % 2, sums[i]);
  }
  if (planted == Planted::operand_changed) left[3][1] ^= 1;
  if (planted != Planted::one_wait_for_two) wait_for_products<0>();
  for (unsigned i = 0; i < 32; ++i) {
    store(out, (row + i / 2 % 2 * 8) * 192 + 128 + i / 4 * 8 + thread % 4 * 2 + i % 2, others[i]);
  }
  if (planted == Planted::one_wait_for_two) wait_for_products<0>();
}

class Async : public testing::Test {
 protected:
  static constexpr int k = 200;
  int steps_ = k;

  void SetUp() override {
    for (auto [rows_of, memory] : {std::pair{rows, &a_}, std::pair{columns, &b_}}) {
      auto count = static_cast<size_t>(rows_of * k);
      std::vector<uint16_t> bits(count);
      for (size_t i = 0; i < count; ++i) bits[i] = mt::float_to_bfloat16(number(rows_of, i));
      *memory = allocate(count * 2);
      grid::copy_in(*memory, bits.data(), count * 2);
    }
    out_ = allocate(rows * columns * 4);
    grid::use_device(grid::hopper);
  }
  void TearDown() override {
    grid::use_device(0);
    for (void* memory : {a_, b_, out_}) {
      grid::take_back(memory);
      grid::release(memory);
    }
  }
  static void* allocate(size_t bytes) {
    void* memory = grid::allocate(bytes);
    grid::hand_out(memory, bytes);
    return memory;
  }
  static float number(int rows_of, size_t i) {
    return static_cast<float>((i * 37 + static_cast<size_t>(rows_of)) % 31) - 15;
  }

  template <Planted planted>
  std::string fault_of() {
    TensorMap a = tensor_map({1, rows, k, k, k, rows}, a_);
    TensorMap b = tensor_map({1, columns, k, k, k, columns}, b_);
    try {
      launch("product", product<planted>, {1}, {lanes}, ring + stages * 16, Stream{}, a, b, steps_,
             static_cast<float*>(out_));
      return "";
    } catch (const grid::Fault& fault) {
      return fault.what();
    }
  }
  // In any order; one of the words is what is said.
  template <Planted planted>
  void expect_fault(std::initializer_list<const char*> words) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      grid::shuffle_by(seed);
      std::string fault = fault_of<planted>();
      bool found = false;
      for (const char* word : words) found |= fault.find(word) != fault.npos;
      EXPECT_TRUE(found) << seed << ": " << fault;
    }
  }

  void *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;
};

TEST_F(Async, MultipliesWhatArrives) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    grid::shuffle_by(seed);
    ASSERT_EQ(fault_of<Planted::nothing>(), "");
  }
  std::vector<float> found(rows * columns);
  grid::copy_out(found.data(), out_, found.size() * 4);
  for (size_t i = 0; i < found.size(); ++i) {
    float sum = 0;
    for (size_t step = 0; step < k; ++step) {
      sum += number(rows, i / columns * k + step) * number(columns, i % columns * k + step);
    }
    ASSERT_EQ(found[i], sum) << i;
  }
}

TEST_F(Async, FindsReadsBeforeTheBytesHaveCome) {
  expect_fault<Planted::no_wait_for_bytes>({"nothing has written", "a race: reads"});
  expect_fault<Planted::wrong_parity>({"nothing has written", "a race: reads", "do not come"});
}

TEST_F(Async, FindsStagesThatAreFilledWhileTheyAreRead) {
  expect_fault<Planted::no_wait_for_room>({"a race: writes", "more arrivals than"});
  expect_fault<Planted::room_too_early>({"a race: writes", "nothing has written", "a race: reads"});
}

TEST_F(Async, CountsBytesAndArrivals) {
  expect_fault<Planted::too_many_bytes>({"do not come"});
  expect_fault<Planted::too_few_bytes>({"more bytes arrive than are expected"});
  expect_fault<Planted::too_few_arrivals>({"do not come"});
  expect_fault<Planted::too_many_arrivals>({"more arrivals than", "a race", "nothing has written"});
}

TEST_F(Async, FindsBarriersThatAreStillBeingMade) {
  expect_fault<Planted::no_barrier_after_making>({"being made", "nobody has made"});
}

TEST_F(Async, FindsProductsThatNobodyWaitsFor) {
  steps_ = 64;
  expect_fault<Planted::no_wait_for_products>({"ends while products are under way"});
}

TEST_F(Async, FindsBoxesThatBeginInTheMiddleOfAPattern) {
  expect_fault<Planted::misaligned>({"a misaligned bulk copy"});
}

class AsyncRegisters : public testing::Test {
 protected:
  void SetUp() override {
    grid::use_device(grid::hopper);
    memory_ = grid::allocate(bytes);
    grid::hand_out(memory_, bytes);
    std::vector<uint16_t> bits(3 * 64 * 128);
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = mt::float_to_bfloat16(number(i));
    grid::copy_in(memory_, bits.data(), bits.size() * 2);
  }
  void TearDown() override {
    grid::use_device(0);
    grid::take_back(memory_);
    grid::release(memory_);
  }
  static float number(size_t i) { return static_cast<float>(i * 37 % 31) - 15; }

  // b is [2, 1, 64, 128], of which the second is taken, and a lies before it.
  template <Planted planted>
  std::string fault_of() {
    auto a = static_cast<uint16_t*>(memory_);
    TensorMap b = tensor_map({1, 64, 128, 128, 128, 64, 2, 64 * 128}, a + 64 * 128);
    try {
      launch("of_registers", of_registers<planted>, {1}, {128}, 2 * 64 * 128 + 8, Stream{}, b,
             reinterpret_cast<const uint32_t*>(a), static_cast<float*>(memory_) + out);
      return "";
    } catch (const grid::Fault& fault) {
      return fault.what();
    }
  }
  std::vector<float> found() const {
    std::vector<float> numbers(64 * 192);
    grid::copy_out(numbers.data(), static_cast<float*>(memory_) + out, numbers.size() * 4);
    return numbers;
  }
  static constexpr size_t out = 3 * 64 * 128 / 2, bytes = (out + 64 * 192) * 4;
  void* memory_ = nullptr;
};

TEST_F(AsyncRegisters, Multiply) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    grid::shuffle_by(seed);
    ASSERT_EQ(fault_of<Planted::nothing>(), "");
  }
  std::vector<float> all = found();
  for (size_t i = 0; i < all.size(); ++i) {
    size_t row = i / 192, column = i % 192 < 128 ? i % 192 : i % 192 - 64;
    float sum = 0;
    for (size_t k = 0; k < 64; ++k) {
      sum += number(row * 64 + k) * number(2 * 64 * 128 + k * 128 + column);
    }
    ASSERT_EQ(all[i], sum) << i;
  }
}

TEST_F(AsyncRegisters, AreNotTheThreadsOwnMeanwhile) {
  EXPECT_NE(fault_of<Planted::operand_changed>().find("changes while"), std::string::npos);
  EXPECT_NE(fault_of<Planted::no_beginning>().find("begin_products() does not"), std::string::npos);
  // Sums that are under way are NaN; those that have been waited for are not.
  ASSERT_EQ(fault_of<Planted::one_wait_for_two>(), "");
  std::vector<float> all = found();
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(std::isnan(all[i]), i % 192 >= 128) << i;
}

TEST_F(AsyncRegisters, BoxesHaveTheDimensionsOfTheirArray) {
  EXPECT_NE(fault_of<Planted::other_dimensions>().find("a box of other dimensions"),
            std::string::npos);
}

}  // namespace
