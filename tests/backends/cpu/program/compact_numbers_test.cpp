// SPDX-License-Identifier: Apache-2.0
// Single numbers beside 16-bit floats: the bits that a whole tensor of them gives.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

// Of tensors x and y and numbers r and s.
using Form = std::function<Tensor(Tensor x, Tensor y, Tensor r, Tensor s)>;
const std::vector<Form> forms = {
    [](Tensor x, Tensor, Tensor r, Tensor) { return x * r; },
    [](Tensor x, Tensor, Tensor r, Tensor) { return r - x; },
    [](Tensor x, Tensor, Tensor r, Tensor) { return r / x; },
    [](Tensor x, Tensor, Tensor r, Tensor s) { return minimum(maximum(x, r), s); },
    [](Tensor x, Tensor, Tensor r, Tensor) { return where(greater(x, r), x, r); },
    [](Tensor x, Tensor y, Tensor r, Tensor s) { return where(greater(x, y), r, s); },
    [](Tensor x, Tensor y, Tensor r, Tensor) { return where(greater(r, x), y, x); },
    [](Tensor x, Tensor, Tensor r, Tensor s) { return (x + r) * s - r; },
    [](Tensor x, Tensor, Tensor r, Tensor) { return copysign(r, x); },
    // Read by what has a compact kernel and by what has none.
    [](Tensor x, Tensor y, Tensor r, Tensor) { return x * r + exp(y) * r; },
    [](Tensor x, Tensor, Tensor r, Tensor) { return where(greater(exp(x), r), x, r); },
    [](Tensor x, Tensor, Tensor r, Tensor s) { return where(greater(x, s), exp(r), s); },
    [](Tensor x, Tensor, Tensor r, Tensor) { return sum(x * r, {-1}); },
    [](Tensor x, Tensor, Tensor r, Tensor) { return cast(x * r, Dtype::float32); },
    [](Tensor x, Tensor, Tensor r, Tensor) { return x + sum(x, {-1}, true) * r; },
    [](Tensor x, Tensor y, Tensor r, Tensor) {
      return concat({x, expand(r, y.shape()), y}, 0);
    },
};

// A NaN is a number of its own. Evaluated first, as reading converts, which would be part of it.
std::vector<double> bits(Tensor value) {
  evaluate(value);
  std::vector<double> result = read(value);
  for (double& x : result) x = std::isnan(x) ? 12345 : x;
  return result;
}

TEST(CompactNumbers, GiveTheBitsOfTensors) {
  cpu::for_each_instruction_set([] {
    for (Dtype dtype : {Dtype::bfloat16, Dtype::float16}) {
      for (const Shape& shape : {Shape{1}, Shape{15}, Shape{1000}, Shape{3001}, Shape{3, 70}}) {
        Tensor tensors[] = {cast(noise(shape, 1), dtype), cast(noise(shape, 2), dtype)};
        evaluate(tensors, 2);
        for (double number : {0.3, -7.0, 1e-40, double{INFINITY}, double{NAN}}) {
          // In memory, as a constant, and repeated.
          const Tensor r = make({}, {number}, dtype), one = make({}, {1.7}, dtype);
          const Tensor constant = full({}, number, dtype, cpu());
          Tensor whole[] = {full(shape, number, dtype, cpu()), full(shape, 1.7, dtype, cpu())};
          for (Tensor& t : whole) {
            t = make(shape, read(t), dtype);
          }
          for (size_t f = 0; f < forms.size(); ++f) {
            SCOPED_TRACE("form " + std::to_string(f) + " of " + name_of(dtype) + " " +
                         to_string(shape) + " and " + std::to_string(number));
            const auto want = bits(forms[f](tensors[0], tensors[1], whole[0], whole[1]));
            EXPECT_EQ(bits(forms[f](tensors[0], tensors[1], r, one)), want);
            EXPECT_EQ(bits(forms[f](tensors[0], tensors[1], constant, one)), want);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mt::testing
