// SPDX-License-Identifier: Apache-2.0
// What is only widened goes from memory to memory in one step, or straight to its sums.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

Tensor now(Tensor value) {
  evaluate(value);
  return value;
}

const std::vector<std::pair<Dtype, Dtype>> widened = {
    {Dtype::float16, Dtype::float32}, {Dtype::bfloat16, Dtype::float32},
    {Dtype::uint8, Dtype::int32},     {Dtype::int8, Dtype::int32},
    {Dtype::uint16, Dtype::int32},    {Dtype::int16, Dtype::int32},
    {Dtype::boolean, Dtype::int32},   {Dtype::uint32, Dtype::int64},
    {Dtype::uint8, Dtype::float32},   {Dtype::int8, Dtype::float32},
    {Dtype::uint16, Dtype::float32},  {Dtype::int16, Dtype::float32},
    {Dtype::boolean, Dtype::float32}, {Dtype::uint8, Dtype::float64}};

TEST(Loads, WidenedNumbersAreThoseThatWereStored) {
  cpu::set_thread_count(1);  // whose share is all
  cpu::for_each_instruction_set([] {
    for (auto [narrow, wide] : widened) {
      for (int64_t n : {1, 15, 1000, 3001, 500000}) {
        const Tensor numbers = noise({2, n}, 1, Dtype::float32) * 100.0;
        const Tensor x = now(cast(numbers, narrow));
        const auto stored = read(x);
        const Tensor all = cast(x, wide);
        EXPECT_EQ(group_count(all), 1);
        EXPECT_EQ(read(all), stored) << name_of(narrow) << " " << n;
        // Read again, in another order, repeated, and beside what else is made of it.
        const Tensor again = cast(x, wide), sum = again + again;
        const Tensor both[] = {again, sum};
        evaluate(both, 2);
        EXPECT_EQ(read(again), stored) << name_of(narrow) << " " << n;
        EXPECT_EQ(read(sum), read(now(cast(x, wide)) + now(cast(x, wide))));
        EXPECT_EQ(read(now(cast(transpose(x), wide))), read(transpose(x))) << name_of(narrow);
        EXPECT_EQ(read(now(cast(flip(x, {1}), wide))), read(flip(x, {1}))) << name_of(narrow);
        const Tensor thirds = slice(reshape(x, {2 * n}), 0, 0, (2 * n + 2) / 3, 3);
        EXPECT_EQ(read(now(cast(thirds, wide))), read(thirds)) << name_of(narrow);
        if (2 * n % 1000 == 0) {  // as an image, of which a thread's share is more than its stack
          const Tensor image = reshape(x, {1000, 2 * n / 1000});
          for (const Tensor& turned : {flip(image, {1}), flip(image, {0, 1}), transpose(image),
                                       slice(image, 1, 0, (2 * n / 1000 + 1) / 2, 2)}) {
            EXPECT_EQ(read(now(cast(turned, wide))), read(turned)) << name_of(narrow) << " " << n;
          }
        }
        const Tensor row = slice(x, 0, 1, 1, 1);
        EXPECT_EQ(read(cast(expand(row, {3, n}), wide)), read(expand(row, {3, n})));
      }
    }
  });
  cpu::set_thread_count(0);
}

// A cast that is kept has to be in memory, whatever its reduction could read instead.
TEST(Loads, CastNumbersAreKeptBesideTheirReductions) {
  cpu::for_each_instruction_set([] {
    for (int from = 0; from < dtype_count; ++from) {
      for (int to = 0; to < dtype_count; ++to) {
        for (const Shape& shape : {Shape{8}, Shape{100}, Shape{3, 70}}) {
          const Tensor numbers = abs(noise(shape, 1, Dtype::float32)) * 9.0;
          const Tensor x = now(cast(numbers, static_cast<Dtype>(from)));
          const Tensor kept = now(cast(x, static_cast<Dtype>(to)));
          for (const bool rows : {false, true}) {
            const Dims axes = rows ? Dims{-1} : Dims{};
            const Tensor all = cast(x, static_cast<Dtype>(to));
            const Tensor results[] = {all, sum(all, axes), max(all, axes), min(all, axes)};
            evaluate(results, 4);
            SCOPED_TRACE(std::string(name_of(x.dtype())) + " to " + name_of(all.dtype()));
            EXPECT_EQ(read(all), read(kept));
            EXPECT_EQ(read(results[1]), read(sum(kept, axes)));
            EXPECT_EQ(read(results[2]), read(max(kept, axes)));
            EXPECT_EQ(read(results[3]), read(min(kept, axes)));
            // The sum alone.
            const Tensor again = cast(x, static_cast<Dtype>(to));
            const Tensor both[] = {again, sum(again, axes)};
            evaluate(both, 2);
            EXPECT_EQ(read(again), read(kept));
            EXPECT_EQ(read(both[1]), read(sum(kept, axes)));
          }
        }
      }
    }
  });
}

// Shapes [outer, rows, columns]: of few and of many rows, panels of them, and stretches of columns.
TEST(Loads, SumsDownColumnsOfHalvesAreThoseOfWidenedNumbers) {
  for (int threads : {1, 3}) {
    cpu::set_thread_count(threads);
    cpu::for_each_instruction_set([] {
      for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
        for (const Shape& shape : {Shape{1, 5, 70}, Shape{1, 1000, 1000}, Shape{3, 131, 33},
                                   Shape{1, 9, 2500}, Shape{1, 40000, 3}, Shape{2, 4, 1}}) {
          const Tensor x = now(cast(noise(shape, 1, Dtype::float32) * 9.0, dtype));
          const Tensor wide = now(cast(x, Dtype::float32));
          EXPECT_EQ(read(sum(x, {1})), read(cast(now(sum(wide, {1})), dtype))) << to_string(shape);
          EXPECT_EQ(read(sum(cast(x, Dtype::float32), {1})), read(sum(wide, {1})))
              << to_string(shape);
        }
      }
    });
  }
  cpu::set_thread_count(0);
}

}  // namespace
}  // namespace mt::testing
