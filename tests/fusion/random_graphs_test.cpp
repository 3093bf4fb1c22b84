// SPDX-License-Identifier: Apache-2.0
// Random graphs of element-wise operators, reductions, contractions and views: however they are
// grouped, the bits are those of running each operator at once.
#include <cstring>
#include <random>

#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::test {
namespace {

constexpr int64_t rows = 6, columns = 10;

Tensor step(std::mt19937& random, const std::vector<Tensor>& pool) {
  auto pick = [&] { return pool[random() % pool.size()]; };
  Tensor a = pick(), b = pick();
  switch (random() % 14) {
    case 0: return a + b;
    case 1: return a * b;
    case 2: return tanh(a);
    case 3: return a - max(a, {1}, true);
    case 4: return a * sum(b, {1}, true);
    case 5: return a - mean(b, {0}, true);
    case 6: return exp(minimum(a, b));
    case 7: return matmul(matmul(a, transpose(b)), b) * 0.1;
    case 8: return where(a > 0.0, a, b);
    case 9: return flip(a, {0}) + b;
    case 10: return a * reshape(sum(square(b), {1}), {rows, 1}) + sum(a);
    case 11: return reshape(transpose(a), {rows, columns}) - b;
    case 12: return a / (sqrt(sum(abs(a), {1}, true) + 1.0) * 0.5);
    default: return relu(a) - 0.5;
  }
}

TEST(RandomGraphs, RunAsEachOperatorWould) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::vector<std::vector<char>> results[2];
    for (int eager = 0; eager < 2; ++eager) {
      std::mt19937 random(seed);
      std::vector<Tensor> pool{noise({rows, columns}, 2 * seed, Dtype::float32),
                               noise({rows, columns}, 2 * seed + 1, Dtype::float32)};
      set_eager_mode(eager);
      size_t length = 3 + random() % 25;
      while (pool.size() < length) pool.push_back(tanh(step(random, pool)));
      std::vector<Tensor> outputs;
      for (int i = 0; i < 3; ++i) outputs.push_back(pool[random() % pool.size()]);
      outputs.push_back(sum(pool.back(), {1}));
      outputs.push_back(sum(pool.back()));
      pool.clear();
      evaluate(outputs.data(), outputs.size());
      set_eager_mode(false);
      for (const Tensor& output : outputs) {
        Tensor whole = copy(output);
        evaluate(whole);
        const char* data = static_cast<const char*>(whole->data());
        results[eager].emplace_back(data, data + whole->bytes());
      }
    }
    for (size_t i = 0; i < results[0].size(); ++i) {
      ASSERT_EQ(results[0][i], results[1][i]) << "seed " << seed << ", output " << i;
    }
  }
}

}  // namespace
}  // namespace mt::test
