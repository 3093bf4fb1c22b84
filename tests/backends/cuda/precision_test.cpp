// SPDX-License-Identifier: Apache-2.0
// Products of float32 in precision modes on the CUDA device: rounded, split into parts, and strict
// where the numbers do not fit.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

#include "backends/backend.h"
#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "mtorch/linear.h"
#include "ops/ops.h"
#include "ops/precision.h"

namespace mt::testing {
namespace {

class CudaPrecision : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }
  void TearDown() override { set_matmul_precision(Precision::strict); }

  Tensor numbers(const Shape& shape, uint64_t seed, const char* device = nullptr) {
    Graph tame;
    Device& place = find_device(device ? device : device_);
    return source_value(tame, {shape, Dtype::float32, seed, false}, 0, place);
  }
  // A leaf with each number made another.
  template <class F>
  Tensor changed(const Tensor& x, F&& f) {
    Value value = value_of(x);
    for (size_t i = 0; i < value.bytes.size(); i += 4) {
      float number;
      std::memcpy(&number, value.bytes.data() + i, 4);
      number = f(number);
      std::memcpy(value.bytes.data() + i, &number, 4);
    }
    Device& device = x.device();
    Ref<Storage> storage = Storage::allocate(device, value.bytes.size());
    device.backend->copy_from_host(storage->data(), value.bytes.data(), value.bytes.size());
    return make_leaf(storage, Dtype::float32, contiguous_layout(value.shape));
  }
  // To 11 significant bits, by the mathematics, not by the bits. Which of two equally near ones it
  // is, is the kernel's affair.
  static float to_tf32(float x) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent = std::max(std::ilogb(x), -126);
    return std::ldexp(std::round(std::ldexp(x, 10 - exponent)), exponent - 10);
  }
  Tensor rounded(const Tensor& x) { return cast(cast(x, Dtype::bfloat16), Dtype::float32); }

  template <class F>
  Value in_mode(Precision mode, F&& f) {
    set_matmul_precision(mode);
    Value value = value_of(f());
    set_matmul_precision(Precision::strict);
    return value;
  }

  // A GPU's unit does not sum as strict products do.
  static std::string unlike(const Value& a, const Value& b) {
    return simulated::is_there() ? difference({a}, {b}) : rough_difference({a}, {b});
  }

  const char* device_ = "cuda:0";
};

// Of the simulated devices the second is a Hopper, with kernels of its own.
class CudaSplitPrecision : public CudaPrecision, public ::testing::WithParamInterface<const char*> {
 protected:
  CudaSplitPrecision() { device_ = GetParam(); }
  void SetUp() override {
    if (std::string(device_) != "cuda:0") {
      MT_NEEDS_SIMULATOR();
    }
    CudaPrecision::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CudaSplitPrecision, ::testing::Values("cuda:0", "cuda:1"));

// The simulated unit sums as strict products do, so that what is left is the rounding.
TEST_P(CudaSplitPrecision, RoundsToBfloat16) {
  for (bool exchanged : {false, true}) {
    auto product = [&](bool round) {
      Tensor a = numbers(exchanged ? Shape{197, 150} : Shape{150, 197}, 1);
      Tensor b = numbers(exchanged ? Shape{90, 197} : Shape{197, 90}, 2);
      if (round) a = rounded(a), b = rounded(b);
      if (exchanged) a = transpose(a), b = transpose(b);
      return gelu(matmul(a, b) + numbers({90}, 3));
    };
    Value strict = in_mode(Precision::strict, [&] { return product(false); });
    Value found = in_mode(Precision::bfloat16, [&] { return product(false); });
    EXPECT_EQ(unlike(found, in_mode(Precision::strict, [&] { return product(true); })), "");
    EXPECT_NE(difference({found}, {strict}), "");
  }
}

TEST_P(CudaSplitPrecision, KeepsPanelsAndEpilogues) {
  auto product = [&](bool round) {
    Tensor a = numbers({64, 4100}, 1), b = numbers({4100, 68}, 2);
    if (round) a = rounded(a), b = rounded(b);
    return relu(matmul(a, b));
  };
  Value found = in_mode(Precision::bfloat16, [&] { return product(false); });
  EXPECT_EQ(unlike(found, in_mode(Precision::strict, [&] { return product(true); })), "");
}

TEST_P(CudaSplitPrecision, SplitsWithoutLoss) {
  auto product = [&](Dtype dtype, const char* device) {
    Tensor a = cast(numbers({2, 130, 201}, 1, device), dtype);
    return matmul(a, cast(numbers({2, 201, 90}, 2, device), dtype));
  };
  auto of_floats = [&] { return product(Dtype::float32, device_); };
  Value exact = value_of(cast(product(Dtype::float64, "cpu"), Dtype::float32));
  auto largest_error = [&](const Value& value) {
    float largest = 0;
    for (size_t i = 0; i < value.bytes.size(); i += 4) {
      float x, y;
      std::memcpy(&x, value.bytes.data() + i, 4);
      std::memcpy(&y, exact.bytes.data() + i, 4);
      largest = std::max(largest, std::fabs(x - y));
    }
    return largest;
  };
  Value strict = in_mode(Precision::strict, of_floats);
  Value split = in_mode(Precision::split, of_floats);
  EXPECT_NE(difference({split}, {strict}), "");
  EXPECT_LE(largest_error(split), 2 * largest_error(strict));
  EXPECT_GT(largest_error(in_mode(Precision::bfloat16, of_floats)), 100 * largest_error(strict));
}

// Sums that the unit cuts off would all go the same way: of positive numbers too far for 1e-6 of
// them, the longer the farther.
TEST_P(CudaSplitPrecision, SplitsWithoutLossWhereUnitsCutOff) {
  auto product = [&](Dtype dtype, const char* device) {
    Tensor a = cast(abs(numbers({128, 768}, 1, device)), dtype);
    return matmul(a, cast(abs(numbers({768, 128}, 2, device)), dtype));
  };
  Value exact = value_of(cast(product(Dtype::float64, "cpu"), Dtype::float32));
  simulated::units_truncate() = true;
  Value split = in_mode(Precision::split, [&] { return product(Dtype::float32, device_); });
  simulated::units_truncate() = false;
  float largest = 0;
  for (size_t i = 0; i < exact.bytes.size(); i += 4) {
    float x, y;
    std::memcpy(&x, split.bytes.data() + i, 4);
    std::memcpy(&y, exact.bytes.data() + i, 4);
    largest = std::max(largest, std::fabs(x - y) / y);
  }
  EXPECT_LT(largest, 5e-7);
  EXPECT_NE(largest, 0);
}

TEST_P(CudaSplitPrecision, IsStrictWhereNumbersDoNotFit) {
  for (float wild : {std::numeric_limits<float>::infinity(), 1e-39f}) {
    auto product = [&](bool round) {
      // Of two entries the second has one such number.
      Device& device = find_device(device_);
      Tensor a = numbers({2, 130, 201}, 1), b = numbers({2, 201, 90}, 2);
      Tensor at = iota({2, 130, 201}, Dtype::int32, device);
      Tensor there = equal(at, full_integer({}, 130 * 201 + 777, Dtype::int32, device));
      a = where(there, number(wild, device), a);
      Tensor strict = slice(matmul(a, b), 0, 1, 1, 1);
      if (round) a = rounded(a), b = rounded(b);
      Tensor other = slice(matmul(a, b), 0, 0, 1, 1);
      return concat({other, strict}, 0);
    };
    Value found = in_mode(Precision::bfloat16, [&] { return product(false); });
    EXPECT_EQ(unlike(found, in_mode(Precision::strict, [&] { return product(true); })), "") << wild;
  }
}

// As TF32 by a kernel that a file names, of which each has sizes of its own, since plans keep what
// they have chosen.
struct Tf32Kernel {
  const char *name, *launched;
  int64_t n;
};
class CudaTf32 : public CudaPrecision, public ::testing::WithParamInterface<Tf32Kernel> {
 protected:
  void SetUp() override {
    const std::string name = GetParam().name;
    if (name != "mma_128x128") device_ = simulated::hopper();
    file_ = std::filesystem::temp_directory_path() /
            ("mtorch_tf32_" + name + "_" + std::to_string(getpid()));
    std::ofstream(file_) << "mtorch products 1\nany GPU: mode=tf32 -> " << name << "\n";
    setenv("MT_CUDA_TUNED", file_.c_str(), 1);
    CudaPrecision::SetUp();
  }
  void TearDown() override {
    unsetenv("MT_CUDA_TUNED");
    std::filesystem::remove(file_);
    CudaPrecision::TearDown();
  }
  // By the kernel, once.
  template <class F>
  Value in_tf32(F&& f) {
    simulated::fast_work() = GetParam().launched;
    const double before = simulated::clock();
    Value value = in_mode(Precision::tf32, f);
    if (simulated::is_there()) {
      EXPECT_EQ(static_cast<int>(simulated::clock() - before) % 10, 1) << GetParam().name;
    }
    simulated::fast_work() = "";
    return value;
  }
  // None that lies in the middle between two.
  Tensor untied(const Shape& shape, uint64_t seed) {
    return changed(numbers(shape, seed), [](float x) {
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      if ((bits & 0x1fff) == 0x1000) ++bits;
      std::memcpy(&x, &bits, 4);
      return x;
    });
  }

  std::filesystem::path file_;
};
INSTANTIATE_TEST_SUITE_P(
    Kernels, CudaTf32,
    ::testing::Values(Tf32Kernel{"mma_128x128", "contract tf32", 92},
                      Tf32Kernel{"hopper_128x128", "contract hopper 128x128", 96},
                      Tf32Kernel{"hopper_128x256", "contract hopper 128x256", 100}));

TEST_P(CudaTf32, Rounds) {
  const int64_t n = GetParam().n;
  for (int exchanged = 0; exchanged < 4; ++exchanged) {
    auto product = [&](bool round) {
      Tensor a = untied(exchanged & 1 ? Shape{200, 148} : Shape{148, 200}, 1);
      Tensor b = untied(exchanged & 2 ? Shape{n, 200} : Shape{200, n}, 2);
      if (round) a = changed(a, to_tf32), b = changed(b, to_tf32);
      if (exchanged & 1) a = transpose(a);
      if (exchanged & 2) b = transpose(b);
      return gelu(matmul(a, b) + numbers({n}, 3));
    };
    Value strict = in_mode(Precision::strict, [&] { return product(false); });
    Value found = in_tf32([&] { return product(false); });
    EXPECT_EQ(unlike(found, in_mode(Precision::strict, [&] { return product(true); })), "");
    EXPECT_NE(difference({found}, {strict}), "");
  }
}

// Each number comes back from a product with ones on the diagonal as it has been rounded.
TEST_P(CudaTf32, RoundsEachNumberToANearestOne) {
  const int64_t n = GetParam().n;
  int64_t i = 0, j = 0;
  Tensor one = changed(numbers({n, n}, 1), [&](float) { return i++ % (n + 1) == 0 ? 1.0f : 0.0f; });
  Tensor any = numbers({n, n}, 2) / numbers({n, n}, 3);
  Tensor ties = changed(any, [&](float) {
    ++j;
    return (1024.5f + static_cast<float>(j % 1024)) * (j % 3 ? 1.0f : -0x1p-130f);
  });
  for (const Tensor& numbers : {any, ties}) {
    for (bool exchanged : {false, true}) {
      Value before = value_of(numbers);
      Value after = in_tf32([&] {
        return exchanged ? transpose(matmul(one, transpose(numbers))) : matmul(numbers, one);
      });
      for (size_t at = 0; at < before.bytes.size(); at += 4) {
        float exact, rounded;
        std::memcpy(&exact, &before.bytes[at], 4);
        std::memcpy(&rounded, &after.bytes[at], 4);
        const float nearest = to_tf32(exact);
        ASSERT_EQ(to_tf32(rounded), rounded) << exact;
        ASSERT_EQ(std::fabs(rounded - exact), std::fabs(nearest - exact)) << exact;
      }
    }
  }
}

TEST_P(CudaTf32, KeepsBatchesAndPanelsAndEveryExponent) {
  const float wild[] = {0.0f, -1e-44f, 1e-39f, 3e38f, std::numeric_limits<float>::max()};
  const int64_t n = GetParam().n;
  const bool panels = GetParam().name != std::string("hopper_128x256");  // which takes its time
  for (const Shape& left : {Shape{2, 68, 92}, Shape{1, 65, panels ? 4100 : 192}}) {
    auto product = [&](bool round) {
      size_t i = 0;
      Tensor a =
          changed(untied(left, 1), [&](float x) { return ++i % 301 == 5 ? wild[i % 5] : x; });
      Tensor b = untied({left[0], left[2], n}, 2);
      if (round) a = changed(a, to_tf32), b = changed(b, to_tf32);
      return relu(matmul(a, b));
    };
    Value found = in_tf32([&] { return product(false); });
    Value expected = in_mode(Precision::strict, [&] { return product(true); });
    EXPECT_EQ(unlike(found, expected), "");
  }
}

TEST_F(CudaPrecision, Tf32IsStrictWhereSizesDoNotFit) {
  for (const Shape& sizes : {Shape{33, 41, 64}, Shape{30, 64, 64}, Shape{40, 64, 50}}) {
    auto product = [&] {
      return matmul(numbers({sizes[0], sizes[1]}, 1), numbers({sizes[1], sizes[2]}, 2));
    };
    EXPECT_EQ(
        difference({in_mode(Precision::tf32, product)}, {in_mode(Precision::strict, product)}), "");
  }
}

TEST_F(CudaPrecision, IsAvailable) {
  EXPECT_TRUE(mt_matmul_precision_available(MT_PRECISION_TF32, "cuda:0"));
  EXPECT_TRUE(mt_matmul_precision_available(MT_PRECISION_BF16, "cuda:0"));
  EXPECT_FALSE(mt_matmul_precision_available(MT_PRECISION_STRICT, "cuda:0"));
}

}  // namespace
}  // namespace mt::testing
