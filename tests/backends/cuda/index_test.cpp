// SPDX-License-Identifier: Apache-2.0
// Operators that run by themselves, at sizes that cross the kernels' blocks and panels, on the CUDA
// device and on the CPU: the same bits.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/devices.h"
#include "backends/transfer.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "ops/gather.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class CudaIndex : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed = 1) {
    Graph wild;
    wild.family = Family::wild;  // infinities and NaN among them
    return source_value(wild, {shape, dtype, seed, false}, 0, device);
  }
  // Integers in [0, size).
  Tensor indices(const Shape& shape, int64_t size, Device& device) {
    Tensor some = cast(numbers(shape, Dtype::uint32, device, 7), Dtype::int64);
    return remainder(some, integer_number(size, device));
  }

  template <class F>
  void expect_the_same(F&& f) {
    Value ours = value_of(f(find_device("cuda:0"))), theirs = value_of(f(find_device("cpu")));
    EXPECT_EQ(difference({ours}, {theirs}), "");
  }
};

TEST_F(CudaIndex, Sorts) {
  for (Dtype dtype : {Dtype::float32, Dtype::bfloat16, Dtype::int8, Dtype::uint64}) {
    for (bool descending : {false, true}) {
      for (const Shape& shape : {Shape{3000}, Shape{5, 257}, Shape{40, 3}, Shape{1}}) {
        expect_the_same(
            [&](Device& d) { return argsort(numbers(shape, dtype, d), 0, descending); });
        expect_the_same([&](Device& d) { return sort(numbers(shape, dtype, d), 0, descending); });
      }
    }
  }
  expect_the_same([&](Device& d) {
    return topk(numbers({7, 900}, Dtype::float64, d), 11, 1, true).indices;
  });
}

TEST_F(CudaIndex, Scans) {
  for (const Shape& shape : {Shape{9000}, Shape{3, 4097}, Shape{8193, 2}, Shape{0, 3}}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int16}) {
      expect_the_same([&](Device& d) { return cumulative_sum(numbers(shape, dtype, d), -1); });
      expect_the_same([&](Device& d) { return cumulative_sum(numbers(shape, dtype, d), 0); });
    }
  }
  expect_the_same([&](Device& d) {
    return cumulative_prod(numbers({300, 3}, Dtype::float32, d), 0);
  });
}

TEST_F(CudaIndex, FindsWhatIsNotZero) {
  for (const Shape& shape : {Shape{5000}, Shape{33, 70}, Shape{1024}, Shape{3}}) {
    expect_the_same([&](Device& d) { return nonzero(indices(shape, 3, d)); });
    expect_the_same([&](Device& d) {
      Tensor x = numbers(shape, Dtype::float32, d);
      return masked_select(x, greater(indices(shape, 3, d), integer_number(1, d)));
    });
  }
  expect_the_same([&](Device& d) { return unique_values(indices({2000}, 77, d)); });
}

TEST_F(CudaIndex, PicksAndAdds) {
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16, Dtype::int32}) {
    expect_the_same([&](Device& d) {
      return gather(numbers({3, 50, 9}, dtype, d), 1, {indices({700}, 50, d)});
    });
    expect_the_same([&](Device& d) {
      return scatter(numbers({3, 700, 9}, dtype, d), 1, {indices({700}, 50, d)}, {50});
    });
    expect_the_same([&](Device& d) {
      Inputs pairs{indices({700}, 50, d), remainder(indices({700}, 49, d), integer_number(9, d))};
      return scatter(numbers({700}, dtype, d), 0, pairs, {50, 9});
    });
    expect_the_same([&](Device& d) {
      return scatter_add(numbers({6, 40}, dtype, d), indices({6, 300}, 40, d),
                         numbers({6, 300}, dtype, d, 3), 1);
    });
    expect_the_same([&](Device& d) {
      return take_along_axis(numbers({6, 40}, dtype, d), indices({6, 300}, 40, d), 1);
    });
  }
  expect_the_same([&](Device& d) {
    return searchsorted(sort(indices({500}, 90, d), 0, false), indices({300}, 99, d), true);
  });
}

TEST_F(CudaIndex, FindsExtremes) {
  for (Dtype dtype : {Dtype::float32, Dtype::float16, Dtype::uint64, Dtype::int8}) {
    for (const Dims& axes : {Dims{}, Dims{0}, Dims{1}, Dims{0, 2}}) {
      expect_the_same([&](Device& d) {
        return argmax(numbers({7, 90, 5}, dtype, d), axes, false);
      });
      expect_the_same([&](Device& d) {
        return argmin(numbers({7, 90, 5}, dtype, d), axes, false);
      });
    }
  }
}

// The host cannot look at indices on the device, so that their extremes are asked for.
TEST_F(CudaIndex, RefusesIndicesOutside) {
  Device& device = find_device("cuda:0");
  Tensor x = numbers({5, 4}, Dtype::float32, device);
  for (int64_t wrong : {5, -6}) {
    Tensor bad = to_device(full_integer({3}, wrong, Dtype::int32, find_device("cpu")), device);
    EXPECT_THROW(index_select(x, bad, 0), std::runtime_error);
  }
  Tensor good = to_device(full_integer({3}, -5, Dtype::int32, find_device("cpu")), device);
  EXPECT_EQ(index_select(x, good, 0).shape(), Shape({3, 4}));
}

}  // namespace
}  // namespace mt::testing
