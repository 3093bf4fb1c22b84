// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/generated_kernels.h"

#include <chrono>
#include <fstream>

#include "backends/cuda/driver/nvrtc.h"
#include "graph/modes.h"
#include "ops/ops.h"
#include "ops/precision.h"

namespace mt::testing {
namespace {

TEST_F(CudaGenerated, ElementByElement) {
  auto chain = [&](const Shape& shape, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d),
           h = numbers({shape.back()}, Dtype::bfloat16, d, 2);
    Tensor i = numbers(shape, Dtype::int16, d, 3),
           t = transpose(numbers({shape[1], shape[0]}, Dtype::float64, d, 4));
    Tensor mask = less(tanh(x) + cast(h, Dtype::float32), cast(i, Dtype::float32));
    Tensor a = where(mask, gelu(x * 0.5),
                     cast(t, Dtype::float32) + uniform(shape, 0, 1, Dtype::float32, d));
    Tensor b = remainder(i, full_integer(shape, 7, Dtype::int16, d)) +
               cast(iota(shape, Dtype::int32, d), Dtype::int16);
    Tensor c = cast(a * 1e3, Dtype::uint8) + cast(erf(t) * 1e3, Dtype::uint8);
    return std::vector<Tensor>{a, b, c, cast(a, Dtype::float16), erf(t), logical_not(mask)};
  };
  expect_the_same(true, [&](Device& d) { return chain({37, 41}, d); });
  // Another size, the same text, but for what vectors fit now.
  expect_the_same(false, [&](Device& d) { return chain({5, 301}, d); });
  expect_the_same(true, [&](Device& d) { return chain({5, 300}, d); });
}

TEST_F(CudaGenerated, RowByRow) {
  auto softmax_and_norm = [&](const Shape& shape, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d);
    Tensor e = exp(x - max(x, {-1}, true)), s = e / sum(e, {-1}, true);
    Tensor c = s - mean(s, {-1}, true), v = mean(square(c), {-1}, true);
    return std::vector<Tensor>{c * rsqrt(v + 1e-5), v, cast(s, Dtype::bfloat16)};
  };
  expect_the_same(true, [&](Device& d) { return softmax_and_norm({19, 77}, d); });
  expect_the_same(false, [&](Device& d) { return softmax_and_norm({3, 1001}, d); });
  // What is stored, in vectors: of parts of a warp, of rows that end with one.
  expect_the_same(true, [&](Device& d) { return softmax_and_norm({3, 1000}, d); });
  expect_the_same(false, [&](Device& d) { return softmax_and_norm({70, 128}, d); });
}

// Operands between vectors, those that are the same for a row or for a column, and those that are
// overwritten.
TEST_F(CudaGenerated, RowsOfViews) {
  auto norm = [&](int64_t rows, int64_t columns, int64_t skip, Device& d) {
    Tensor x = slice(numbers({rows, columns + 8}, Dtype::bfloat16, d), 1, skip, columns, 1);
    Tensor w = cast(numbers({columns}, Dtype::bfloat16, d, 2), Dtype::float32);
    Tensor y = cast(x, Dtype::float32) * numbers({rows, 1}, Dtype::float32, d, 3);
    Tensor centred = y - mean(y, {-1}, true);
    return std::vector<Tensor>{cast(centred * w, Dtype::bfloat16), sum(centred, {-1})};
  };
  expect_the_same(true, [&](Device& d) { return norm(5, 264, 8, d); });
  expect_the_same(true, [&](Device& d) { return norm(5, 264, 1, d); });
  expect_the_same(false, [&](Device& d) { return norm(9, 256, 3, d); });
  const void* place = nullptr;
  auto in_place = [&](Device& d) {
    Tensor x = numbers({40, 640}, Dtype::float32, d);
    evaluate(x);
    place = x->storage->data();
    return std::vector<Tensor>{x / sum(abs(x), {-1}, true)};
  };
  expect_the_same(true, in_place);
  GradientMode no_history(false);
  Tensor y = in_place(find_device("cuda:0"))[0];
  evaluate(y);
  EXPECT_EQ(y->storage->data(), place);
}

// Several panels of long rows and of columns; what is reduced may be kept as well.
TEST_F(CudaGenerated, PanelByPanel) {
  auto reductions = [&](const Shape& shape, int64_t axis, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d), h = numbers(shape, Dtype::float16, d, 2);
    Tensor y = tanh(x) * 2.0;
    return std::vector<Tensor>{sum(y + cast(h, Dtype::float32), {axis}), max(h, {axis}),
                               min(cast(x, Dtype::float64) + 1.0, {axis}),
                               prod(cast(y, Dtype::int32), {axis}), y};
  };
  expect_the_same(true, [&](Device& d) { return reductions({2, 33000}, 1, d); });
  expect_the_same(false, [&](Device& d) { return reductions({3, 20001}, 1, d); });
  expect_the_same(true, [&](Device& d) { return reductions({300, 5}, 0, d); });
  expect_the_same(false, [&](Device& d) { return reductions({2000, 9}, 0, d); });
}

// What rows are for, and totals of their columns: with values of the rows, and without.
TEST_F(CudaGenerated, RowsAndTotals) {
  auto norm = [&](const Shape& shape, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d), dy = numbers(shape, Dtype::bfloat16, d, 2);
    Tensor y = x - mean(x, {1}, true), scale = sum(square(y), {1}, true);
    return std::vector<Tensor>{cast(dy, Dtype::float32) * scale - y, scale,
                               sum(cast(dy, Dtype::float32) * y, {0}), max(y, {0}), sum(dy, {0})};
  };
  expect_the_same(true, [&](Device& d) { return norm({300, 70}, d); });
  expect_the_same(false, [&](Device& d) { return norm({130, 40}, d); });
  auto bias = [&](const Shape& shape, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d), dy = numbers(shape, Dtype::float32, d, 2);
    Tensor dx = where(less(number(0, d), x), dy, number(0, d));
    return std::vector<Tensor>{dx, sum(dx, {0}), prod(cast(x, Dtype::int32), {0})};
  };
  expect_the_same(true, [&](Device& d) { return bias({140, 200}, d); });
  expect_the_same(false, [&](Device& d) { return bias({30, 1000}, d); });
}

// What follows a contraction is a kernel of its own, whatever made the sums.
TEST_F(CudaGenerated, EpilogueByEpilogue) {
  auto layer = [&](const Shape& sizes, Dtype dtype, Device& d) {
    Tensor x = numbers({sizes[0], sizes[1]}, dtype, d),
           w = numbers({sizes[1], sizes[2]}, dtype, d, 2);
    return std::vector<Tensor>{gelu(matmul(x, w) + numbers({sizes[2]}, dtype, d, 3)) * 0.5};
  };
  expect_the_same(true, [&](Device& d) { return layer({45, 30, 50}, Dtype::float32, d); });
  expect_the_same(false, [&](Device& d) { return layer({7, 4100, 9}, Dtype::float32, d); });
  expect_the_same(
      true,
      [&](Device& d) {
        return layer({48, 40, 56}, Dtype::bfloat16, d);
      },
      "cuda:0", true);
}

// On Hopper the tiles are finished as they come, by warps that follow those which multiply: several
// tiles to a block, that end within a tile, of both widths; with broadcasts, transposes and others.
TEST_F(CudaGenerated, TileByTile) {
  auto finished = [&](const Shape& x_shape, const Shape& w_shape, Dtype dtype, Device& d) {
    GradientMode no_history(false);
    Tensor x = numbers(x_shape, dtype, d), w = numbers(w_shape, dtype, d, 2);
    Tensor product = matmul(x, w);
    Shape shape = product.shape(), turned = shape;
    std::swap(turned[shape.rank() - 1], turned[shape.rank() - 2]);
    Tensor y = gelu(product + numbers({shape.back()}, dtype, d, 3)) +
               transpose(numbers(turned, dtype, d, 4));
    return std::vector<Tensor>{y * uniform(shape, 0, 1, dtype, d), cast(y, Dtype::float32)};
  };
  auto expect = [&](int fast, const Shape& x, const Shape& w, Dtype dtype) {
    simulated::fast_work() = "contract hopper finishing";
    double before = simulated::clock();
    expect_the_same(
        fast == 1, [&](Device& d) { return finished(x, w, dtype, d); }, simulated::hopper(), true);
    if (simulated::is_there()) {
      EXPECT_EQ(static_cast<int>(simulated::clock() - before) % 10, fast);
    }
    simulated::fast_work() = "";
  };
  expect(1, {136, 72}, {72, 264}, Dtype::bfloat16);
  expect(1, {5, 136, 64}, {5, 64, 72}, Dtype::float16);
  expect(0, {64, 4104}, {4104, 72}, Dtype::bfloat16);  // in panels, which are added up first
}

// The same of float32 as TF32, of which these numbers lose nothing.
TEST_F(CudaGenerated, TileByTileOfTf32) {
  simulated::fast_work() = "contract hopper finishing";
  const double before = simulated::clock();
  set_matmul_precision(Precision::tf32);
  auto of_halves = [&](const Shape& shape, Device& d, uint64_t seed) {
    Tensor x = cast(numbers(shape, Dtype::bfloat16, d, seed), Dtype::float32);
    evaluate(&x, 1);
    return x;
  };
  expect_the_same(
      true,
      [&](Device& d) {
        GradientMode no_history(false);
        Tensor x = of_halves({136, 100}, d, 1), w = of_halves({264, 100}, d, 2);
        return std::vector<Tensor>{
            gelu(matmul(x, transpose(w)) + numbers({264}, Dtype::float32, d, 3))};
      },
      simulated::hopper(), true);
  set_matmul_precision(Precision::strict);
  if (simulated::is_there()) {
    EXPECT_EQ(static_cast<int>(simulated::clock() - before) % 10, 1);
  }
  simulated::fast_work() = "";
}

// Many updates with one program are one launch.
TEST_F(CudaGenerated, SegmentBySegment) {
  expect_the_same(true, [&](Device& d) {
    std::vector<Tensor> updated;
    for (int64_t size : {1, 1500, 33, 4000}) {
      Tensor w = numbers({size}, Dtype::float32, d), g = numbers({size}, Dtype::float32, d, 2);
      updated.push_back(w - g * 0.125);
    }
    return updated;
  });
}

// Compiled on a thread of their own: until one is there the interpreter gives the same bits.
TEST_F(CudaGenerated, ComeWhenTheyAreReady) {
  MT_NEEDS_SIMULATOR();
  GradientMode no_history(false);
  auto layer = [&](const char* name) {
    Device& d = find_device(name);
    Tensor x = numbers({33, 20}, Dtype::float32, d), w = numbers({20, 41}, Dtype::float32, d, 2);
    return value_of(tanh(matmul(x, w)) * 0.25 - 3.0);
  };
  const Value expected = layer("cpu");
  unsetenv("MT_CUDA_GENERATE");
  simulated::fast_work() = "epilogue";
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  int interpreted = 0;
  bool ready = false;
  for (; !ready && std::chrono::steady_clock::now() < end; ++interpreted) {
    const double before = simulated::clock();
    EXPECT_EQ(difference({layer("cuda:0")}, {expected}), "");
    ready = static_cast<int>(simulated::clock() - before) % 10 == 1;
  }
  EXPECT_TRUE(ready);
  EXPECT_GT(interpreted, 1);
  simulated::fast_work() = "";
  setenv("MT_CUDA_GENERATE", "wait", 1);
}

// The same texts go through NVRTC, for the oldest and a newer GPU: the only part of a GPU's way
// that a machine without one can go.
TEST_F(CudaGenerated, CompilesWithNvrtc) {
#ifdef MT_HAVE_NVRTC
  MT_NEEDS_SIMULATOR();
  if (cuda::nvrtc_version() == 0) GTEST_SKIP() << "NVRTC is not installed";
  int count = 0;
  for (const auto& file : files::directory_iterator(folder())) {
    if (file.path().extension() != ".cpp") continue;
    std::ifstream in(file.path());
    std::string text(std::istreambuf_iterator<char>(in), {});
    bool on_hopper = text.find("hopper") != text.npos;
    int capability = count++ % 2 && !on_hopper ? 80 : 90;
    EXPECT_GT(cuda::compile_cubin(text, capability).size(), 1000u) << file.path();
  }
  EXPECT_GT(count, 3);
#else
  GTEST_SKIP() << "built without CUDA";
#endif
}

}  // namespace
}  // namespace mt::testing
