// SPDX-License-Identifier: Apache-2.0
// Products in every shape of tile, and of 16-bit floats on the matrix units, in every layout that
// they take: the simulated ones sum in the CPU's order, so the bits are the CPU's; those of a GPU
// do not, so that it may have others.
#include <gtest/gtest.h>

#include "backends/cuda/simulated.h"
#include "backends/devices.h"
#include "fusion/evaluator.h"
#include "fusion/run_graph.h"
#include "fusion/values.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

class CudaContract : public ::testing::Test {
 protected:
  void SetUp() override { install_fusing_evaluator(); }

  Tensor numbers(const Shape& shape, Dtype dtype, Device& device, uint64_t seed) {
    Graph tame;
    return source_value(tame, {shape, dtype, seed, false}, 0, device);
  }
  // A matrix, or several, in memory as they are or with the last two dimensions exchanged.
  Tensor matrix(Shape shape, bool exchanged, Dtype dtype, Device& device, uint64_t seed) {
    int last = shape.rank() - 1;
    if (exchanged) std::swap(shape[last], shape[last - 1]);
    Tensor x = numbers(shape, dtype, device, seed);
    return exchanged ? transpose(x) : x;
  }

  template <class F>
  void expect_the_same(F&& f) {
    Value ours = value_of(f(find_device("cuda:0"))), theirs = value_of(f(find_device("cpu")));
    EXPECT_EQ(difference({ours}, {theirs}), "");
  }
  // Where matrix units may sum.
  template <class F>
  void expect_product(F&& f, const char* device = "cuda:0") {
    Value ours = value_of(f(find_device(device))), theirs = value_of(f(find_device("cpu")));
    auto compare = simulated::is_there() ? difference : rough_difference;
    EXPECT_EQ(compare({ours}, {theirs}), "");
  }
  template <class F>
  void expect_on_hopper(F&& f) {
    expect_product(std::forward<F>(f), simulated::hopper());
  }
};

// Each takes another tile: the large one, 64 x 64, 32 x 32 in batches, and the narrow ones.
TEST_F(CudaContract, HasATileForEveryShape) {
  for (const Shape& sizes : {Shape{300, 33, 290}, Shape{70, 50, 90}, Shape{520, 20, 7},
                             Shape{11, 35, 530}, Shape{3, 90, 70}, Shape{40, 4100, 5}}) {
    for (bool exchanged : {false, true}) {
      expect_the_same([&](Device& d) {
        return relu(matmul(matrix({sizes[0], sizes[1]}, exchanged, Dtype::float32, d, 1),
                           matrix({sizes[1], sizes[2]}, !exchanged, Dtype::float32, d, 2)));
      });
    }
  }
  // Enough of them for the large tile.
  expect_the_same([&](Device& d) {
    return matmul(numbers({1500, 3}, Dtype::float32, d, 1),
                  numbers({3, 1400}, Dtype::float32, d, 2));
  });
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int32}) {
    expect_the_same([&](Device& d) {
      return matmul(numbers({9, 20, 17}, dtype, d, 1), numbers({9, 17, 30}, dtype, d, 2));
    });
  }
}

TEST_F(CudaContract, ReadsWindows) {
  expect_the_same([&](Device& d) {
    Tensor x = numbers({2, 3, 19, 18}, Dtype::float32, d, 1);
    Tensor weight = numbers({5, 3, 3, 2}, Dtype::float32, d, 2);
    return convolution(x, weight, numbers({5}, Dtype::float32, d, 3), {{2, 1}, {1, 1}, {1, 1}, {}});
  });
}

TEST_F(CudaContract, TakesEveryLayout) {
  for (Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
    for (bool a_exchanged : {false, true}) {
      for (bool b_exchanged : {false, true}) {
        expect_product([&](Device& d) {
          return matmul(matrix({136, 40}, a_exchanged, dtype, d, 1),
                        matrix({40, 72}, b_exchanged, dtype, d, 2));
        });
      }
    }
  }
}

TEST_F(CudaContract, TakesSizesThatDoNotFit) {
  // Not multiples of 8, so that another kernel is used; or only along k.
  for (const Shape& sizes : {Shape{33, 40, 56}, Shape{48, 41, 40}, Shape{45, 48, 40}}) {
    expect_product([&](Device& d) {
      return matmul(matrix({sizes[0], sizes[1]}, false, Dtype::bfloat16, d, 1),
                    matrix({sizes[1], sizes[2]}, true, Dtype::bfloat16, d, 2));
    });
  }
  // A view that begins in the middle of a vector.
  expect_product([&](Device& d) {
    Tensor a = slice(numbers({64, 72}, Dtype::bfloat16, d, 1), 1, 3, 40, 1);
    return matmul(a, numbers({40, 48}, Dtype::bfloat16, d, 2));
  });
}

TEST_F(CudaContract, BatchesAndFinishes) {
  expect_product([&](Device& d) {
    Tensor a = matrix({3, 40, 64}, false, Dtype::bfloat16, d, 1);
    Tensor b = matrix({3, 64, 48}, false, Dtype::bfloat16, d, 2);
    return gelu(matmul(a, b) + numbers({48}, Dtype::bfloat16, d, 3)) *
           numbers({3, 40, 48}, Dtype::bfloat16, d, 4);
  });
  // Few outputs with long sums: panels of k.
  expect_product([&](Device& d) {
    return relu(matmul(numbers({32, 4104}, Dtype::float16, d, 1),
                       numbers({4104, 40}, Dtype::float16, d, 2)));
  });
}

// Two tiles for each of two blocks, more slices than the ring has stages, and sizes that end within
// a tile and within a slice.
TEST_F(CudaContract, TakesEveryLayoutOnHopper) {
  auto expect = [&](Dtype dtype, bool a_exchanged, bool b_exchanged) {
    expect_on_hopper([&](Device& d) {
      return matmul(matrix({136, 136}, a_exchanged, dtype, d, 1),
                    matrix({136, 264}, b_exchanged, dtype, d, 2));
    });
  };
  for (int exchanged = 0; exchanged < 4; ++exchanged) {
    expect(Dtype::bfloat16, exchanged & 1, exchanged & 2);
  }
  expect(Dtype::float16, false, false);
}

TEST_F(CudaContract, BatchesAndFinishesOnHopper) {
  expect_on_hopper([&](Device& d) {
    Tensor a = matrix({3, 72, 64}, false, Dtype::bfloat16, d, 1);
    Tensor b = matrix({3, 64, 80}, false, Dtype::bfloat16, d, 2);
    return gelu(matmul(a, b) + numbers({80}, Dtype::bfloat16, d, 3)) *
           numbers({3, 72, 80}, Dtype::bfloat16, d, 4);
  });
  // Rows that all entries share, and an odd number of columns.
  expect_on_hopper([&](Device& d) {
    Tensor b = transpose(numbers({2, 67, 72}, Dtype::float16, d, 2));
    return matmul(numbers({72, 72}, Dtype::float16, d, 1), b);
  });
  // Few outputs with long sums: panels of k.
  expect_on_hopper([&](Device& d) {
    return relu(matmul(numbers({64, 4104}, Dtype::float16, d, 1),
                       numbers({4104, 72}, Dtype::float16, d, 2)));
  });
}

// Batches in two dimensions, rows of other strides, a view in the middle of a vector: other
// kernels.
TEST_F(CudaContract, TakesWhatHopperDoesNotCopy) {
  expect_on_hopper([&](Device& d) {
    Tensor a = permute(numbers({64, 2, 2, 72}, Dtype::bfloat16, d, 1), {2, 1, 0, 3});
    return matmul(a, numbers({2, 2, 72, 64}, Dtype::bfloat16, d, 2));
  });
  expect_on_hopper([&](Device& d) {
    Tensor a = slice(numbers({64, 80}, Dtype::bfloat16, d, 1), 1, 3, 72, 1);
    return matmul(a, numbers({72, 64}, Dtype::bfloat16, d, 2));
  });
}

}  // namespace
}  // namespace mt::testing
