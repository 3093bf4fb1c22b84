// SPDX-License-Identifier: Apache-2.0
// Attention and its gradient at sizes that cross blocks, panels and slices: nearly what float64
// gives on the CPU, more nearly where no weights are rounded to 16 bits, as they are on the tensor
// cores.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "autodiff/backward.h"
#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "graph/evaluate.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class CudaAttention : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed) {
    Graph tame;
    return source_value(tame, {shape, dtype, seed, false}, 0, device);
  }

  // Some keys of each query, but none of one.
  static Tensor chosen(const Tensor& mask, Device& d) {
    Tensor query = iota({mask.shape()[mask.rank() - 2], 1}, Dtype::int32, d);
    return logical_and(less(mask, number(0.5, d)), not_equal(query, number(65, d)));
  }
  static Tensor leaf(const Tensor& x) {
    Tensor result = detach(x);
    evaluate(result);
    result->requires_gradient = true;
    result->variable = Ref<Variable>(new Variable);
    return result;
  }

  // f(device) is query, key, value and perhaps a mask. Gives the gradients and the result.
  template <class F>
  std::vector<Value> all_of(const char* name, F&& f, const Attention& how) {
    std::vector<Tensor> x = f(find_device(name));
    std::vector<Tensor> leaves{leaf(x[0]), leaf(x[1]), leaf(x[2])};
    Tensor y = attention(leaves[0], leaves[1], leaves[2], x.size() > 3 ? x[3] : Tensor(), how);
    // What arrives at y is the same whatever has been rounded.
    Tensor factors = numbers(y.shape(), Dtype::bfloat16, y.device(), 9);
    factors = cast(cast(cast(factors, Dtype::float32) * arriving_, Dtype::float16), y.dtype());
    std::vector<Tensor> results = gradients({sum(y * factors, {}, false)}, {}, leaves);
    results.push_back(y);
    for (Tensor& result : results) result = cast(result, Dtype::float64);
    return values_of(results);
  }

  // As all_of() on the CPU, for numbers of the same values in float64.
  template <class F>
  std::vector<Value> exact(F&& f, const Attention& how) {
    auto wide = [&](Device& d) {
      std::vector<Tensor> x = f(d);
      for (Tensor& operand : x) {
        if (operand.dtype() != Dtype::boolean) operand = cast(operand, Dtype::float64);
      }
      return x;
    };
    return all_of("cpu", wide, how);
  }
  template <class F>
  void expect_exact(double tolerance, F&& f, const Attention& how) {
    expect_near(tolerance, all_of(device_, f, how), exact(f, how));
  }
  // Calls f, which tests device_, for the oldest kind that serves and for a Hopper.
  template <class F>
  void on_each_kind(F&& f) {
    int tested = 0;
    for (const std::string device : {"cuda:0", "cuda:1"}) {
      if (!simulated::is_there() && device != simulated::hopper()) continue;
      device_ = device.c_str();
      f();
      ++tested;
    }
    device_ = "cuda:0";
    EXPECT_EQ(tested, simulated::is_there() ? 2 : 1);
  }
  // Nearly what the CPU gives, but not that, so that it must have been on the tensor cores.
  template <class F>
  void expect_rounded(double tolerance, F&& f, const Attention& how) {
    std::vector<Value> ours = all_of(device_, f, how);
    EXPECT_NE(difference(ours, all_of("cpu", f, how)), "");
    expect_near(tolerance, ours, exact(f, how));
  }
  // Relative to the largest number of a result, which may be so small that float16 has few bits.
  static void expect_near(double tolerance, const std::vector<Value>& ours,
                          const std::vector<Value>& expected) {
    for (size_t i = 0; i < ours.size(); ++i) {
      ASSERT_EQ(ours[i].bytes.size(), expected[i].bytes.size());
      double largest = 0, most = 0;
      for (size_t at = 0; at < ours[i].bytes.size(); at += sizeof(double)) {
        double own, other;
        std::memcpy(&own, &ours[i].bytes[at], sizeof own);
        std::memcpy(&other, &expected[i].bytes[at], sizeof other);
        ASSERT_EQ(std::isfinite(own), std::isfinite(other)) << i << " at " << at;
        if (!std::isfinite(own)) continue;
        largest = std::max(largest, std::abs(other));
        most = std::max(most, std::abs(own - other));
      }
      const double least =
          tolerance < of_float16 ? 0 : 0x1p-24;  // float16's numbers are so far apart
      EXPECT_LE(most, tolerance * largest + least) << "result " << i;
    }
  }
  static constexpr double of_bfloat16 = 1.0 / 64, of_float16 = 1.0 / 512;
  static constexpr double of_float32 = 0x1p-17, of_float64 = 0x1p-44;
  const char* device_ = "cuda:0";
  double arriving_ = 1;
};

TEST_F(CudaAttention, CrossesBlocksAndPanels) {
  for (bool causal : {false, true}) {
    expect_exact(of_float32,
                 [&](Device& d) {
                   return std::vector<Tensor>{numbers({2, 70, 20}, Dtype::float32, d, 1),
                                              numbers({2, 150, 20}, Dtype::float32, d, 2),
                                              numbers({2, 150, 24}, Dtype::float32, d, 3)};
                 },
                 {causal});
  }
}

TEST_F(CudaAttention, SeesNothing) {
  for (bool adds : {false, true}) {
    for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
      expect_exact(of_float32,
                   [&](Device& d) {
                     Tensor mask = chosen(numbers({2, 70, 150}, Dtype::float32, d, 4), d);
                     const Tensor zero = cast(number(0, d), Dtype::float32);
                     if (adds) mask = where(mask, zero, number(-INFINITY, d));
                     return std::vector<Tensor>{numbers({2, 70, 20}, dtype, d, 1),
                                                numbers({2, 150, 20}, dtype, d, 2),
                                                numbers({2, 150, 24}, dtype, d, 3), mask};
                   },
                   {adds});
    }
  }
}

TEST_F(CudaAttention, HasManyColumns) {
  expect_exact(of_float64,
               [&](Device& d) {
                 return std::vector<Tensor>{numbers({66, 3}, Dtype::float64, d, 1),
                                            numbers({65, 3}, Dtype::float64, d, 2),
                                            numbers({65, 140}, Dtype::float64, d, 3)};
               },
               {false, 0.3});
}

TEST_F(CudaAttention, TakesMasksAndHeads) {
  // Heads lie between the rows, as a transformer has them, and share their keys' mask.
  auto heads = [&](Dtype dtype, Device& d, uint64_t seed) {
    return permute(numbers({2, 67, 3, 8}, dtype, d, seed), {0, 2, 1, 3});
  };
  for (bool chooses : {false, true}) {
    expect_exact(of_bfloat16,
                 [&](Device& d) {
                   Tensor mask = numbers({2, 1, 67, 67}, Dtype::float32, d, 4);
                   if (chooses) mask = chosen(mask, d);
                   return std::vector<Tensor>{heads(Dtype::float32, d, 1),
                                              heads(Dtype::float32, d, 2),
                                              heads(Dtype::bfloat16, d, 3), mask};
                 },
                 {chooses});
  }
}

// Two blocks of queries, three of keys, and sizes that end within tiles.
TEST_F(CudaAttention, TakesHalf) {
  on_each_kind([&] {
    auto operands = [&](Dtype dtype, const Shape& sizes) {
      return [=, this](Device& d) {
        return std::vector<Tensor>{numbers({2, sizes[0], sizes[2]}, dtype, d, 1),
                                   numbers({2, sizes[1], sizes[2]}, dtype, d, 2),
                                   numbers({2, sizes[1], sizes[3]}, dtype, d, 3)};
      };
    };
    expect_rounded(of_bfloat16, operands(Dtype::bfloat16, {150, 140, 64, 64}), {});
    expect_rounded(of_bfloat16, operands(Dtype::bfloat16, {150, 140, 24, 40}), {true});
    expect_rounded(of_float16, operands(Dtype::float16, {70, 150, 32, 16}), {true, 0.3});
    expect_rounded(of_float16, operands(Dtype::float16, {5, 3, 8, 8}), {});
    // Rows of 128.
    expect_rounded(of_bfloat16, operands(Dtype::bfloat16, {70, 90, 128, 72}), {true});
    expect_rounded(of_float16, operands(Dtype::float16, {70, 90, 80, 128}), {});
  });
}

TEST_F(CudaAttention, TakesMasksAndHeadsInHalf) {
  on_each_kind([&] {
    // Heads of one projection, whose parts are query, key and value.
    auto operands = [&](Device& d) {
      Tensor all = numbers({2, 70, 3, 2, 32}, Dtype::bfloat16, d, 1);
      std::vector<Tensor> x;
      for (int64_t part = 0; part < 3; ++part)
        x.push_back(permute(select(all, 2, part), {0, 2, 1, 3}));
      return x;
    };
    expect_rounded(of_bfloat16, operands, {});
    for (bool chooses : {false, true}) {
      auto masked = [&](Device& d) {
        std::vector<Tensor> x = operands(d);
        Tensor mask = numbers({2, 1, 70, 70}, Dtype::float32, d, 4);
        x.push_back(chooses ? chosen(mask, d) : mask * 3);
        return x;
      };
      expect_rounded(of_bfloat16, masked, {chooses});
      auto hidden = [&](Device& d) {
        std::vector<Tensor> x = masked(d);
        if (!chooses) x[3] = where(chosen(x[3], d), x[3], number(-INFINITY, d));
        return x;
      };
      expect_rounded(of_bfloat16, hidden, {});
    }
    // A query that sees nothing, and heads that share their keys.
    expect_rounded(of_float16,
                   [&](Device& d) {
                     Tensor row = iota({70, 1}, Dtype::int32, d);
                     return std::vector<Tensor>{
                         numbers({3, 70, 16}, Dtype::float16, d, 1),
                         numbers({70, 16}, Dtype::float16, d, 2),
                         numbers({1, 70, 16}, Dtype::float16, d, 3),
                         logical_not(equal(row, full_integer({70, 70}, 65, Dtype::int32, d)))};
                   },
                   {});
  });
}

// Masks as left padding has them, that are as good as infinite and yet are none: over the first
// panel of keys, and over all that some queries see, who then see all alike.
TEST_F(CudaAttention, TakesLargeMasksInHalf) {
  on_each_kind([&] {
    for (Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
      for (int64_t size : {16, 72}) {
        for (double hiding : {-1e9, -1e10, -3.38953139e38}) {
          auto masked = [&](Device& d) {
            Tensor row = iota({70, 1}, Dtype::int32, d), key = iota({1, 150}, Dtype::int32, d);
            Tensor third = remainder(row, full_integer({70, 1}, 3, Dtype::int32, d));
            Tensor hidden = logical_or(less(key, full_integer({1, 150}, 66, Dtype::int32, d)),
                                       equal(third, full_integer({70, 1}, 1, Dtype::int32, d)));
            return std::vector<Tensor>{
                numbers({70, size}, dtype, d, 1), numbers({150, size}, dtype, d, 2),
                numbers({150, size}, dtype, d, 3),
                where(hidden, cast(number(hiding, d), Dtype::float32), number(0, d))};
          };
          SCOPED_TRACE(hiding);
          expect_near(dtype == Dtype::bfloat16 ? of_bfloat16 : of_float16,
                      all_of(device_, masked, {}), all_of("cpu", masked, {}));
        }
      }
    }
  });
}

// Whose powers are beyond float32, where queries end within a tile, too.
TEST_F(CudaAttention, TakesMasksFarAboveScoresInHalf) {
  on_each_kind([&] {
    auto masked = [&](Device& d) {
      return std::vector<Tensor>{
          numbers({70, 64}, Dtype::bfloat16, d, 1), numbers({150, 64}, Dtype::bfloat16, d, 2),
          numbers({150, 64}, Dtype::bfloat16, d, 3),
          numbers({70, 150}, Dtype::float32, d, 4) + cast(number(200, d), Dtype::float32)};
    };
    expect_rounded(of_bfloat16, masked, {});
  });
}

// The slopes of scores would not be float16's normal numbers, though all that is read and all that
// is written is; then what has overflowed.
TEST_F(CudaAttention, TakesWhateverArrivesInHalf) {
  auto operands = [&](const Shape& sizes, double factor, double of_values = 1) {
    return [=, this](Device& d) {
      std::vector<Tensor> x{numbers({sizes[0], sizes[2]}, Dtype::float16, d, 1),
                            numbers({sizes[1], sizes[2]}, Dtype::float16, d, 2),
                            numbers({sizes[1], sizes[2]}, Dtype::float16, d, 3)};
      x[0] = x[0] * factor, x[1] = x[1] * factor, x[2] = x[2] * of_values;
      return x;
    };
  };
  for (int64_t size : {64, 72}) {
    arriving_ = 0x1p-17;
    expect_rounded(of_float16, operands({70, 140, size}, 0x1p-6), {false, 512});
    expect_rounded(of_float16, operands({70, 140, size}, 0x1p-6), {true, 512});
    arriving_ = 0x1p13;
    expect_rounded(of_float16, operands({20, 5, size}, 0x1p5, 64), {false, 0x1p-13});
  }
  arriving_ = 1e6;
  expect_rounded(of_float16, operands({20, 5, 64}, 1), {});
}

// Blocks that go from tile to tile, heads that share keys and values, a scale below 0.
TEST_F(CudaAttention, TakesManyTilesInHalf) {
  auto heads = [&](Dtype dtype, int64_t n, int64_t size) {
    return [=, this](Device& d) {
      Tensor key = numbers({1, 1, 150, size}, dtype, d, 2);
      Tensor value = permute(numbers({150, 1, 1, size}, dtype, d, 3), {1, 2, 0, 3});
      return std::vector<Tensor>{numbers({1, 3, n, size}, dtype, d, 1), key, value};
    };
  };
  on_each_kind([&] {
    expect_rounded(of_bfloat16, heads(Dtype::bfloat16, 200, 64), {true});
    expect_rounded(of_float16, heads(Dtype::float16, 140, 128), {true, -0.2});
    expect_rounded(of_float16, heads(Dtype::float16, 200, 40), {false, -0.3});
  });
}

TEST_F(CudaAttention, HasAKernelForHopper) {
  MT_NEEDS_SIMULATOR();
  auto launches = [&](const char* device, auto&& f) {
    auto time = [&](const char* fast) {
      std::vector<Tensor> x = f(find_device(device));
      for (Tensor& operand : x) evaluate(operand);
      simulated::fast_work() = fast;
      const double before = simulated::clock();
      evaluate(attention(x[0], x[1], x[2], Tensor(), {}));
      simulated::fast_work() = "";
      return simulated::clock() - before;
    };
    return (time("") - time("attention hopper")) / 9;
  };
  // Query, key and value of so many batch dimensions, rows, and numbers in each.
  auto operands = [&](const Shape& batch, int64_t n, int64_t m, int64_t size, auto&& view) {
    return [=, this](Device& d) {
      std::vector<Tensor> x;
      for (int64_t rows : {n, m, m}) {
        Shape shape = batch;
        shape.push_back(rows);
        shape.push_back(size);
        x.push_back(view(numbers(shape, Dtype::bfloat16, d, x.size())));
      }
      return x;
    };
  };
  auto as_is = [](const Tensor& x) { return x; };
  EXPECT_EQ(launches("cuda:1", operands({3}, 64, 64, 16, as_is)), 1);
  EXPECT_EQ(launches("cuda:1", operands({2, 1, 2}, 64, 70, 72, as_is)), 1);
  EXPECT_EQ(launches("cuda:0", operands({3}, 64, 64, 16, as_is)), 0);
  EXPECT_EQ(launches("cuda:1", operands({3}, 63, 64, 16, as_is)), 0);
  EXPECT_EQ(launches("cuda:1", operands({3}, 64, 63, 16, as_is)), 0);
  // Of the gradient one for queries and one for keys.
  auto gradients_take = [&](const char* fast) {
    simulated::fast_work() = fast;
    const double before = simulated::clock();
    all_of("cuda:1", operands({2}, 64, 70, 16, as_is), {});
    simulated::fast_work() = "";
    return simulated::clock() - before;
  };
  const double usual = gradients_take("");
  EXPECT_EQ((usual - gradients_take("attention hopper gradient")) / 9, 2);
  // Two dimensions are left of these heads, and three of those.
  auto turned = [](const Tensor& x) { return permute(x, {0, 2, 1, 3, 4}); };
  EXPECT_EQ(launches("cuda:1", operands({1, 2, 3}, 64, 64, 16, turned)), 1);
  EXPECT_EQ(launches("cuda:1", operands({2, 2, 2}, 64, 64, 16, turned)), 0);
  // A row that all keys are.
  auto one_row = [](const Tensor& x) { return expand(slice(x, 1, 0, 1, 1), x.shape()); };
  EXPECT_EQ(launches("cuda:1", operands({3}, 64, 64, 16, one_row)), 0);
}

// Sizes, strides and places that do not suit vectors, and mixed types: the other kernel.
TEST_F(CudaAttention, TakesHalfThatDoesNotSuit) {
  auto expect = [&](auto&& f) {
    expect_exact(of_bfloat16,
                 [&](Device& d) {
                   std::vector<Tensor> x{numbers({70, 16}, Dtype::bfloat16, d, 1),
                                         numbers({70, 16}, Dtype::bfloat16, d, 2),
                                         numbers({70, 16}, Dtype::bfloat16, d, 3)};
                   f(x, d);
                   return x;
                 },
                 {true});
  };
  expect([](auto& x, Device&) { x[2] = slice(x[2], 1, 0, 12, 1); });
  expect([&](auto& x, Device& d) { x[1] = transpose(numbers({16, 70}, Dtype::bfloat16, d, 2)); });
  expect([&](auto& x, Device& d) {
    x[0] = slice(numbers({70, 24}, Dtype::bfloat16, d, 1), 1, 3, 16, 1);
  });
  expect([&](auto& x, Device& d) { x[0] = numbers({70, 16}, Dtype::float32, d, 1); });
  expect([&](auto& x, Device& d) { x[2] = numbers({70, 136}, Dtype::bfloat16, d, 3); });
}

}  // namespace
}  // namespace mt::testing
