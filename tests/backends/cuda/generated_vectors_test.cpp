// SPDX-License-Identifier: Apache-2.0
// What generated kernels read and write in vectors.
#include <fstream>
#include <regex>

#include "backends/cuda/driver/nvrtc.h"
#include "backends/cuda/generated_kernels.h"
#include "graph/modes.h"
#include "io/dlpack.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// How many texts have these parts.
int64_t texts_with(const std::string& part, const std::string& other = "") {
  if (!simulated::is_there()) return 0;
  int64_t count = 0;
  for (const auto& file : files::directory_iterator(folder())) {
    std::ifstream in(file.path());
    std::string text(std::istreambuf_iterator<char>(in), {});
    count += file.path().extension() == ".cpp" && text.find(part) != text.npos &&
             text.find(other) != text.npos;
  }
  return count;
}
// NVRTC makes accesses of 16 bytes of a text's vectors, each of which it might take apart.
void expect_whole_vectors([[maybe_unused]] int64_t number, [[maybe_unused]] int adjacent) {
#ifdef MT_HAVE_NVRTC
  if (cuda::nvrtc_version() == 0) return;
  std::ifstream in(folder() + "/group" + std::to_string(number) + ".cpp");
  const std::string source(std::istreambuf_iterator<char>(in), {});
  auto count = [](const std::string& text, const char* pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
  };
  const std::ptrdiff_t each = std::max(4 / adjacent, 1);  // of a thread's
  const auto loads = each * count(source, "read_numbers<adjacent>");
  const auto stores = each * count(source, "write_numbers<adjacent>");
  EXPECT_GT(stores, 0);
  for (int unknown : {81, 91}) {  // PTX for the one before
    const std::vector<char> code = cuda::compile_cubin(source, unknown);
    const std::string text(code.begin(), code.end());
    EXPECT_GE(count(text, R"(\bld\.global\.(v4\.[a-z]32|v2\.[a-z]64)\b)"), loads) << text;
    EXPECT_GE(count(text, R"(\bst\.global\.(v4\.[a-z]32|v2\.[a-z]64)\b)"), stores) << text;
  }
#endif
}
std::string adjacent(int count) { return "adjacent = " + std::to_string(count) + ","; }

// Vectors as wide as they can be, with tails, and as many blocks as there are.
TEST_F(CudaGenerated, InVectors) {
  struct Case {
    Dtype dtype;
    int vector;
  };
  for (auto [dtype, vector] : {Case{Dtype::float64, 2}, Case{Dtype::int32, 4},
                               Case{Dtype::bfloat16, 8}, Case{Dtype::int8, 16}}) {
    auto sum = [&, type = dtype](const Shape& shape, Device& d) {
      return std::vector<Tensor>{numbers(shape, type, d) + abs(numbers(shape, type, d, 2))};
    };
    const int64_t before = texts_with(adjacent(vector)), first = texts();
    expect_the_same(true, [&](Device& d) { return sum({1048}, d); });
    EXPECT_EQ(texts_with(adjacent(vector)) > before, simulated::is_there());
    for (int64_t i = first; i < texts(); ++i) expect_whole_vectors(i, vector);
    for (int64_t count : {3, 15, 16, 17, 1025, 4111}) {
      expect_the_same(false, [&](Device& d) { return sum({count}, d); });
    }
  }
  // The widest numbers have whole vectors, all others parts of one.
  auto mixed = [&](const Shape& shape, Device& d) {
    Tensor x = numbers(shape, Dtype::float32, d), h = numbers(shape, Dtype::bfloat16, d, 2);
    Tensor mask = less(x, cast(h, Dtype::float32));
    return std::vector<Tensor>{mask, where(mask, h, cast(x, Dtype::bfloat16)), x * 0.5};
  };
  const int64_t before = texts_with(adjacent(4));
  expect_the_same(true, [&](Device& d) { return mixed({3, 341}, d); });
  EXPECT_EQ(texts_with(adjacent(4)) > before, simulated::is_there());
  expect_the_same(false, [&](Device& d) { return mixed({2, 700}, d); });
}

// What is the same for a vector, or for all elements, may be wider.
TEST_F(CudaGenerated, InVectorsBesideWiderNumbers) {
  auto scaled = [&](int64_t rows, Device& d) {
    Tensor x = numbers({rows, 64}, Dtype::bfloat16, d);
    Tensor of_row = numbers({rows, 1}, Dtype::float32, d, 2);
    Tensor of_all = numbers({}, Dtype::float64, d, 3);
    return std::vector<Tensor>{
        cast(cast(cast(x, Dtype::float32) * of_row, Dtype::float64) * of_all, Dtype::bfloat16)};
  };
  auto found = [] { return texts_with(adjacent(8), "repeat_numbers<adjacent>"); };
  const int64_t before = found();
  expect_the_same(true, [&](Device& d) { return scaled(19, d); });
  EXPECT_EQ(found(), before + simulated::is_there());
}

// What vectors do not fit is read one by one, and what is the same for a vector once.
TEST_F(CudaGenerated, BetweenVectors) {
  auto views = [&](int64_t rows, int64_t columns, int64_t skip, Device& d) {
    Tensor x = numbers({rows, columns + 8}, Dtype::float32, d);
    Tensor of_row = numbers({rows, 1}, Dtype::float32, d, 2);
    Tensor of_column = numbers({columns}, Dtype::bfloat16, d, 3);
    Tensor part = slice(x, 1, skip, columns, 1);
    return std::vector<Tensor>{(part - flip(part, {1})) * of_row + cast(of_column, Dtype::float32)};
  };
  // Lines of whole vectors that begin with one, and between two.
  const int64_t before = texts_with("repeat_numbers<adjacent>");
  expect_the_same(true, [&](Device& d) { return views(5, 204, 4, d); });
  EXPECT_EQ(texts_with("repeat_numbers<adjacent>"), before + simulated::is_there());
  expect_the_same(false, [&](Device& d) { return views(2, 64, 8, d); });
  expect_the_same(true, [&](Device& d) { return views(5, 204, 1, d); });
  expect_the_same(false, [&](Device& d) { return views(7, 40, 3, d); });
  // Lines of other lengths.
  expect_the_same(true, [&](Device& d) { return views(5, 203, 4, d); });
  expect_the_same(false, [&](Device& d) { return views(5, 205, 1, d); });
}

// What begins so many elements into x, as another library's memory.
Tensor shift(const Tensor& x, int64_t skip) {
  return from_dlpack(to_dlpack(slice(x, 0, skip, x.shape()[0] - skip, 1), 0));
}

// Memory of others may begin anywhere; then nothing is in vectors.
TEST_F(CudaGenerated, AddressesBetweenVectors) {
  auto product = [&](int64_t skip, Device& d) {
    Tensor x = shift(numbers({1031}, Dtype::float32, d), skip);
    Tensor y = shift(numbers({1031}, Dtype::float16, d, 2), skip);
    return std::vector<Tensor>{x * cast(y, Dtype::float32)};
  };
  const int64_t before = texts_with(adjacent(1));
  expect_the_same(true, [&](Device& d) { return product(8, d); });
  EXPECT_EQ(texts_with(adjacent(1)), before);
  expect_the_same(true, [&](Device& d) { return product(1, d); });
  EXPECT_EQ(texts_with(adjacent(1)), before + simulated::is_there());
  expect_the_same(false, [&](Device& d) { return product(4, d); });  // of x, but not of y
  expect_the_same(false, [&](Device& d) { return product(16, d); });
}

// In graphs neither: one that was captured for vectors serves no other address.
TEST_F(CudaGenerated, AddressesBetweenVectorsInGraphs) {
  GradientMode no_history(false);
  auto step = [](const Tensor& x) {
    Tensor product = reshape(x / sum(exp(x), {}), {8, 128});
    Tensor square = matmul(product, transpose(product));
    return value_of(exp(matmul(square, product) / sum(square, {}) + sum(product, {-1}, true)));
  };
  auto input = [&](int64_t skip, Device& d) {
    return shift(cast(iota({1024 + skip}, Dtype::int32, d), Dtype::float32) * 0.001, skip);
  };
  const int before = simulated::graph_launches();
  Tensor aligned = input(4, find_device("cuda:0")), between = input(1, find_device("cuda:0"));
  const Value of_aligned = step(input(4, find_device("cpu")));
  const Value of_between = step(input(1, find_device("cpu")));
  for (int i = 0; i < 8; ++i) {
    for (int twice = 0; twice < 2; ++twice) {  // so that the first graph is for vectors
      EXPECT_EQ(difference({step(aligned)}, {of_aligned}), "");
    }
    EXPECT_EQ(difference({step(between)}, {of_between}), "");
  }
  if (simulated::is_there()) {
    EXPECT_GT(simulated::graph_launches(), before + 8);
  }
}

}  // namespace
}  // namespace mt::testing
