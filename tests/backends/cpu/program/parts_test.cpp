// SPDX-License-Identifier: Apache-2.0
// Long rows, whose last steps go through one part after another, have the bits of operators that
// run one by one.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "backends/cpu/parallel/parallel.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

using Tensors = std::vector<Tensor>;

constexpr int64_t rows = 4, columns = 10'001;  // no whole number of parts

void check_bits(const Function& f, const std::vector<Shape>& shapes, Dtype dtype) {
  Tensors inputs;
  for (const Shape& shape : shapes) {
    inputs.push_back(noise(shape, static_cast<unsigned>(inputs.size() + 1), dtype));
    evaluate(inputs.back());
  }
  auto result = [&](bool eager) {
    set_eager_mode(eager);
    Tensor y = f(inputs);
    evaluate(y);
    set_eager_mode(false);
    return y;
  };
  cpu::for_each_instruction_set([&] {
    const Tensor expected = result(true);
    for (int threads : {1, 3}) {
      cpu::set_thread_count(threads);
      const Tensor y = result(false);
      cpu::set_thread_count(0);
      EXPECT_EQ(std::memcmp(y->data(), expected->data(), y->bytes()), 0) << threads << " threads";
    }
  });
}

void check(const Function& f, std::vector<Shape> more = {}) {
  more.insert(more.begin(), Shape{rows, columns});
  for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::bfloat16}) {
    SCOPED_TRACE(name_of(dtype));
    check_bits(f, more, dtype);
  }
}

TEST(Parts, ReadWhatWholeRowsLeft) {
  check([](const Tensors& t) {
    Tensor e = exp(t[0]);
    Tensor y = e / sum(e, {1}, true);
    return y * (t[0] - y) + tanh(y);
  });
  check(
      [](const Tensors& t) {
        Tensor centred = t[0] - mean(t[0], {1}, true);
        return tanh(centred) * rsqrt(mean(square(centred), {1}, true) + 0.5) * t[1] + centred;
      },
      {{columns}});
}

TEST(Parts, ReadElementsInAnotherOrder) {
  check(
      [](const Tensors& t) {
        Tensor y = t[0] - max(t[0], {1}, true);
        return y * flip(t[1], {1}) + transpose(t[2]) * exp(y);
      },
      {{rows, columns}, {columns, rows}});
  check([](const Tensors& t) {
    Tensor places = cast(iota({columns}, Dtype::int64, t[0].device()), t[0].dtype());
    return (t[0] - mean(t[0], {1}, true)) * (places * 1e-4) + t[0];
  });
}

TEST(Parts, MixTypes) {
  check([](const Tensors& t) {
    Tensor e = exp(cast(t[0], Dtype::float32));
    Tensor y = cast(e / sum(e, {1}, true), Dtype::float64);
    return y * cast(t[0], Dtype::float64) + y;
  });
  check([](const Tensors& t) {
    Tensor above = greater(t[0], mean(t[0], {1}, true));
    Tensor sign = cast(above, Dtype::int8) * 2 - 1;
    return where(above, t[0] * cast(sign, t[0].dtype()), -t[0]) * sum(t[0], {1}, true);
  });
}

// Numbers of each row that are computed after some of its elements, in registers that held such.
TEST(Parts, KeepNumbersOfRows) {
  check([](const Tensors& t) {
    const Tensor m = mean(t[0], {1}, true);
    Tensor y = exp(tanh(t[0] * m) + t[0]) * t[0];
    y = tanh(y * exp(m + 1)) + t[0];
    y = exp(tanh(y) * tanh(m + 2)) - t[0];
    return exp(tanh(y) * exp(m - 1)) * t[0];
  });
}

TEST(Parts, GoThroughPieces) {
  for (const Shape& shape : {Shape{3, 4, 50, 51}, Shape{3, 12, 30, 31}, Shape{2, 4, 90, 100}}) {
    SCOPED_TRACE(to_string(shape));
    const Shape weight{shape[1]};
    check_bits([](const Tensors& t) { return tanh(silu(group_norm(t[0], 2, t[1], t[2], 1e-5))); },
               {shape, weight, weight}, Dtype::float32);
  }
}

}  // namespace
}  // namespace mt::testing
