// SPDX-License-Identifier: Apache-2.0
// Operators that one kernel does together have the bits that they have one by one.
#include <cmath>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "autodiff/backward.h"
#include "backends/cpu/elementwise/instruction_sets.h"
#include "graph/evaluate.h"
#include "graph/modes.h"
#include "nn/rules.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

using Numbers = const std::vector<Tensor>&;
// What is to be fused, and what is computed by itself.
Tensor later(Tensor value) { return value; }
Tensor now(Tensor value) {
  evaluate(value);
  return value;
}

// Makes of a and b in t, and of t[2], t[3], ..., a value; `at` may compute each product at once.
using Form = std::function<Tensor(Numbers t, const std::function<Tensor(Tensor)>& at)>;

const std::vector<Form> forms = {
    [](Numbers t, auto& at) { return at(t[2] * t[3]) + at(t[0] * t[1]); },
    [](Numbers t, auto& at) { return at(t[2] * t[3]) - at(t[0] * t[1]); },
    [](Numbers t, auto& at) {
      Tensor less = at(t[2] * t[3]);
      return at(t[0] * t[1]) - less;
    },
    [](Numbers t, auto& at) { return at(t[0] * t[1]) + at(at(t[2] * t[2]) * t[3]); },
    [](Numbers t, auto& at) { return at(t[0] * t[1]) - at(at(t[2] * t[2]) * t[3]); },
    [](Numbers t, auto& at) { return at(t[0] * t[1]) + at(at(t[2] * t[3]) * t[3]); },
    [](Numbers t, auto& at) { return at(at(t[0] * t[1]) * t[2]) + t[3]; },
    [](Numbers t, auto& at) { return t[3] + at(at(t[0] * t[1]) * t[2]); },
    [](Numbers t, auto& at) { return at(at(t[0] - t[1]) * t[2]) + t[3]; },
    [](Numbers t, auto& at) { return t[3] + at(t[2] * at(t[0] - t[1])); },
    // The product is read again, before or after it is added.
    [](Numbers t, auto& at) {
      Tensor product = at(t[2] * t[3]);
      return at(at(t[0] * t[1]) + product) * product;
    },
    [](Numbers t, auto& at) {
      Tensor product = at(t[2] * t[3]);
      return at(product * t[1]) + product;
    },
};

void check(Numbers t) {
  for (size_t f = 0; f < forms.size(); ++f) {
    Tensor together = forms[f](t, [](Tensor x) { return x; });
    EXPECT_EQ(group_count(together), 1) << f;
    Tensor apart = forms[f](t, [](Tensor x) {
      evaluate(x);
      return x;
    });
    EXPECT_EQ(read(together), read(apart)) << "form " << f << " of " << to_string(t[0].shape());
  }
}

TEST(JoinSteps, ProductsAddUpToTheSameBits) {
  cpu::for_each_instruction_set([] {
    for (Dtype dtype : {Dtype::float32, Dtype::float64, Dtype::int32}) {
      auto numbers = [&](const Shape& shape, unsigned seed) {
        Tensor x = noise(shape, seed) * 1000.0;
        return cast(x, dtype);
      };
      for (int64_t n : {1, 15, 31, 32, 100, 2500}) {
        Tensor a = numbers({3, n}, 1), b = numbers({3, n}, 2), c = numbers({3, n}, 3);
        Tensor row = numbers({n}, 4), column = numbers({3, 1}, 5), one = numbers({}, 6);
        std::vector<Tensor> all = {a, b, c, row, column, one};
        evaluate(all.data(), all.size());
        check({a, b, c, b});
        check({a, one, c, one});
        check({a, row, c, column});
        check({a, column, c, a});
        check({one, a, c, row});
      }
    }
  });
}

TEST(JoinSteps, DeviationsAndTheirSquares) {
  cpu::for_each_instruction_set([] {
    for (int64_t n : {1, 7, 16, 31, 32, 33, 100, 1030}) {
      Tensor x = noise({3, n}, 1, Dtype::float32), center = mean(x, {1}, true);
      evaluate(x);
      auto both = [&](auto at) {
        Tensor deviation = at(x - center);
        Tensor total = at(sum(at(square(deviation)), {1}, true));
        return deviation * total;
      };
      Tensor apart = both([](Tensor value) {
        evaluate(value);
        return value;
      });
      EXPECT_EQ(read(both([](Tensor value) { return value; })), read(apart)) << n;
    }
  });
}

// As src/ops/normalization.cpp writes them; `at` may compute each value at once.
std::vector<Tensor> normalize(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const std::function<Tensor(Tensor)>& at) {
  const double n = static_cast<double>(x.shape()[1]);
  const Tensor center = at(at(sum(x, {1}, true)) / n), deviations = at(x - center);
  const Tensor squares = at(sum(at(square(deviations)), {1}, true));
  const Tensor scale = at(rsqrt(at(at(squares / n) + 1e-5)));
  return {at(at(at(deviations * scale) * weight) + bias), center, scale, deviations};
}
std::vector<Tensor> by_mean_square(const Tensor& x, const Tensor& weight,
                                   const std::function<Tensor(Tensor)>& at) {
  const double n = static_cast<double>(x.shape()[1]);
  const Tensor scale = at(rsqrt(at(at(at(sum(at(square(x)), {1}, true)) / n) + 1e-5)));
  return {at(at(x * scale) * weight), scale};
}

TEST(JoinSteps, RowsOfHalvesAndTheirSums) {
  cpu::for_each_instruction_set([] {
    for (Dtype dtype : {Dtype::float16, Dtype::bfloat16}) {
      for (int64_t n : {5, 40, 256, 301, 4096, 16389, 70000}) {
        Tensor x = now(cast(noise({3, n + 4}, 1, Dtype::float32), dtype));
        // Rows that follow each other, rows apart, what has no sum but a sign, and no finite one.
        Tensor whole = now(slice(x, 1, 0, n, 1) * 1.0), apart = slice(x, 1, 2, n, 1);
        Tensor zeros = now(full({3, n}, -0.0, dtype, x.device()));
        Tensor endless = now(where(greater(whole, full({}, 0.9, dtype, x.device())),
                                   full({}, INFINITY, dtype, x.device()), whole));
        for (const Tensor& rows : {whole, apart, zeros, endless}) {
          const Tensor wide = now(cast(rows, Dtype::float32));
          const Tensor expected = now(cast(sum(wide, {1}, true), dtype));
          EXPECT_EQ(read(sum(rows, {1}, true)), read(expected)) << n;
          EXPECT_EQ(read(1.0 / sum(rows, {1}, true)), read(1.0 / expected)) << n;  // the sign
          EXPECT_EQ(read(sum(rows, {1}, true) + rows), read(expected + rows)) << n;
        }
      }
    }
  });
}

TEST(JoinSteps, NormalizedRows) {
  constexpr Dtype f32 = Dtype::float32;
  cpu::for_each_instruction_set([&] {
    for (int64_t n : {1, 7, 16, 31, 33, 100, 256, 1030, 3000}) {
      const Tensor weight = noise({n}, 1, f32), bias = noise({n}, 2, f32);
      Tensor x = noise({37, n}, 3, f32) * 3.0 + 1.0;
      x = where(x > 3.9, x * 1e19, x);  // of some rows the squares overflow
      Tensor given[] = {weight, bias, x};
      evaluate(given, 3);
      const std::vector<Tensor> apart = normalize(x, weight, bias, now);
      const std::vector<Tensor> plain = by_mean_square(x, weight, now);
      // Wanted by others are: nothing, the mean and the scale, the deviations too.
      for (size_t wanted : {1, 3, 4}) {
        std::vector<Tensor> together = normalize(x, weight, bias, later);
        together.resize(wanted);  // what is left may be read, and so is stored
        evaluate(together.data(), wanted);
        for (size_t k = 0; k < wanted; ++k) {
          EXPECT_EQ(read(together[k]), read(apart[k])) << k << " of " << n << ", " << wanted;
        }
        wanted = std::min<size_t>(wanted, 2);
        together = by_mean_square(x, weight, later);
        together.resize(wanted);
        evaluate(together.data(), wanted);
        for (size_t k = 0; k < wanted; ++k) {
          EXPECT_EQ(read(together[k]), read(plain[k])) << k << " of " << n << ", " << wanted;
        }
      }
      // Beside others' steps, in the place of what nobody wants any more.
      auto beside = [&](auto& at) {
        const std::vector<Tensor> all = normalize(at(x + x), weight, bias, at);
        return at(abs(all[0])) + all[3];
      };
      EXPECT_EQ(read(beside(later)), read(beside(now))) << n;
      Tensor own = noise({37, n}, 4, f32);
      evaluate(own);
      Tensor copy = now(own * 1.0);
      Tensor replaced = normalize(std::move(own), weight, bias, later)[0];
      EXPECT_EQ(read(replaced), read(normalize(copy, weight, bias, now)[0])) << n;
    }
  });
}

// As src/ops/softmax.cpp writes it.
std::vector<Tensor> shares(const Tensor& x, const std::function<Tensor(Tensor)>& at) {
  const Tensor largest = at(max(x, {1}, true)), exponentials = at(exp(at(x - largest)));
  const Tensor sums = at(sum(exponentials, {1}, true)), inverse = at(reciprocal(sums));
  return {at(exponentials * inverse), largest, sums, inverse, exponentials};
}
// What is NaN as a number, to be compared.
std::vector<double> read_all(const Tensor& x) {
  std::vector<double> values = read(x);
  for (double& value : values) value = std::isnan(value) ? 1e300 : value;
  return values;
}

TEST(JoinSteps, SharesOfExponentials) {
  cpu::for_each_instruction_set([&] {
    for (int64_t n : {1, 7, 16, 31, 33, 100, 256, 1030, 3000}) {
      // Some exponentials are denormal numbers, some vanish; some rows have infinities.
      Tensor x = noise({37, n}, 1, Dtype::float32) * 70.0;
      x = where(x > 69.9, x * 1e38, where(x > -69.0, x, x * 1e38));
      evaluate(x);
      const std::vector<Tensor> apart = shares(x, now);
      // Wanted by others are: nothing, the rows' numbers, the exponentials too.
      for (size_t wanted : {1, 3, 5}) {
        std::vector<Tensor> together = shares(x, later);
        together.resize(wanted);
        evaluate(together.data(), wanted);
        for (size_t k = 0; k < wanted; ++k) {
          EXPECT_EQ(read_all(together[k]), read_all(apart[k]))
              << k << " of " << n << ", " << wanted;
        }
      }
      // Beside others' steps, in the place of what nobody wants any more.
      auto beside = [&](auto& at) {
        const std::vector<Tensor> all = shares(at(x + x), at);
        return at(at(abs(all[0])) + at(all[4] * all[2])) + all[1];
      };
      EXPECT_EQ(read_all(beside(later)), read_all(beside(now))) << n;
      Tensor own = noise({37, n}, 2, Dtype::float32);
      evaluate(own);
      Tensor copy = now(own * 1.0);
      Tensor replaced = shares(std::move(own), later)[0];
      EXPECT_EQ(read(replaced), read(shares(copy, now)[0])) << n;
    }
  });
}

// A row's largest number is 0; the others are so small that all exponentials are normal numbers,
// but for one at each place in turn.
TEST(JoinSteps, SharesOfExponentialsThatAreNormalButForOne) {
  cpu::for_each_instruction_set([&] {
    for (int64_t n : {2, 8, 33, 70, 100}) {
      for (double one : {-86.0, -87.0, -87.5, -100.0, -1e30, double{-INFINITY}, double{NAN}}) {
        std::vector<double> values = read(abs(noise({n, n}, 1, Dtype::float32)) * -20.0);
        for (int64_t r = 0; r < n; ++r) {
          values[r * n + (r + 1) % n] = 0;
          values[r * n + r] = one;
        }
        const Tensor x = now(make({n, n}, values, Dtype::float32));
        EXPECT_EQ(read_all(shares(x, later)[0]), read_all(shares(x, now)[0])) << n << " " << one;
      }
    }
  });
}

// What somebody else wants, or reads in parts of a row, is still written.
TEST(JoinSteps, LeaveWhatOthersRead) {
  const auto values_of = [](std::vector<Tensor> results) {
    evaluate(results.data(), results.size());
    set_eager_mode(false);
    std::vector<std::vector<double>> values;
    for (const Tensor& result : results) values.push_back(read(result));
    return values;
  };
  const auto shared = [&](const Tensor& x, bool eager, bool both) {
    set_eager_mode(eager);
    const Tensor e = exp(x - max(x, {1}, true)), inverse = reciprocal(sum(e, {1}, true));
    const Tensor y = e * inverse;
    if (both) return values_of({sin(y) * e});
    return values_of({sin(y) * y, inverse});
  };
  const auto norm = [&](const Tensor& x, const Tensor& w, const Tensor& dy, bool eager) {
    set_eager_mode(eager);
    const double n = static_cast<double>(x.shape()[1]);
    const Tensor deviation = x - sum(x, {1}, true) / n;
    const Tensor scale = rsqrt(sum(square(deviation), {1}, true) / n + 1e-5);
    const Tensor bias = sum(dy, {0}, false), g = dy * w;
    const Tensor weight = sum(dy * (deviation * scale), {0}, false);
    const Tensor factor = sum(g * deviation, {1}, true) * -0.5 * scale * scale * scale / n;
    const Tensor slope = g * scale + factor * deviation * 2.0;
    return values_of({slope + -sum(slope, {1}, true) / n, weight, bias, g});
  };
  cpu::for_each_instruction_set([&] {
    for (int64_t rows : {4, 37}) {
      for (int64_t n : {100, 5000, 9000}) {
        Tensor x = noise({rows, n}, 1, Dtype::float32);
        evaluate(x);
        for (bool both : {false, true}) {
          EXPECT_EQ(shared(x, false, both), shared(x, true, both)) << rows << " of " << n;
        }
      }
    }
    Tensor given[] = {noise({1100, 256}, 1, Dtype::float32), noise({256}, 2, Dtype::float32),
                      noise({1100, 256}, 3, Dtype::float32)};
    evaluate(given, 3);
    EXPECT_EQ(norm(given[0], given[1], given[2], false), norm(given[0], given[1], given[2], true));
  });
}

// A layer norm's gradients, of it alone, of one of two in a row, beside a residual path, with what
// arrives in a register; with the forward pass or after it.
TEST(JoinSteps, GradientsOfNorms) {
  const auto run = [](int64_t rows, int64_t n, int way) {
    auto leaf = [&](const Shape& shape, unsigned seed) {
      Tensor x = noise(shape, seed, Dtype::float32);
      evaluate(x);
      require_gradient(x);
      return x;
    };
    Tensor x = leaf({rows, n}, 1), weight = leaf({n}, 2), bias = leaf({n}, 3);
    Tensor dy = noise({rows, n}, 4, Dtype::float32);
    evaluate(dy);
    Tensor y = layer_norm(x * 3.0, 1, weight, bias, 1e-5);
    if (way & 1) y = layer_norm(y, 1, weight, bias, 1e-5);
    if (way & 2) y = y + x;
    if (way & 4) y = y * 0.7;
    if (way & 8) evaluate(y);
    std::vector<Tensor> results;
    {
      GradientMode none(false);  // else all that they are made of is held, and so stored
      results = gradients({y}, {dy}, {x, weight, bias});
      y = nullptr;
    }
    evaluate(results.data(), results.size());
    std::vector<std::vector<double>> values;
    for (const Tensor& result : results) values.push_back(read(result));
    return values;
  };
  cpu::for_each_instruction_set([&] {
    for (int64_t n : {31, 33, 100, 256, 1030}) {
      for (int64_t rows : {3, 1100}) {  // sums over so many are part of what goes through rows
        for (int way = 0; way < 16; ++way) {
          const auto together = run(rows, n, way);
          set_eager_mode(true);
          const auto apart = run(rows, n, way);
          set_eager_mode(false);
          EXPECT_EQ(together, apart) << rows << " of " << n << ", " << way;
        }
      }
    }
  });
}

// The averages and the weight after a step of Adam, as src/nn/rules.cpp makes it.
std::vector<Tensor> update(const AdamOptions& options, Numbers t, double correction, bool at_once) {
  std::vector<Tensor> shared;
  for (double x : {0.01, correction, 0.9999}) shared.push_back(number(x, t[0].device()));
  std::vector<Tensor> results{t[2], t[3]};
  set_eager_mode(at_once);
  mt::Numbers n(Dtype::float32, t[0].device(), shared);
  results.push_back(make_rule(options)->update(t[0], t[1], n, &results));
  set_eager_mode(false);
  return results;
}

TEST(JoinSteps, AnUpdateOfAdam) {
  const AdamOptions ways[] = {
      {.weight_decay = 0.1, .decoupled = true}, {}, {.weight_decay = 0.1, .decoupled = false}};
  cpu::for_each_instruction_set([&] {
    for (int64_t n : {1, 7, 16, 17, 100, 2500, 30000}) {
      // Of squares some are 0, and some very small or large.
      for (double scale : {1.0, 0.0, 1e-38, 1e30}) {
        std::vector<Tensor> t = {noise({n}, 1), noise({n}, 2), noise({n}, 3),
                                 square(noise({n}, 4)) * scale};
        if (scale != 1) t[1] = t[1] * 1e-22;
        for (Tensor& x : t) x = cast(x, Dtype::float32);
        evaluate(t.data(), t.size());
        for (const AdamOptions& way : ways) {
          for (double correction : {30.0, 1.0, 1e-35}) {
            const std::vector<Tensor> apart = update(way, t, correction, true);
            std::vector<Tensor> together = update(way, t, correction, false);
            evaluate(together.data(), together.size());
            for (size_t k = 0; k < together.size(); ++k) {
              EXPECT_EQ(read(together[k]), read(apart[k])) << k << " of " << n << ", " << scale;
            }
            // The averages are wanted by nobody else.
            const Tensor alone = update(way, t, correction, false).back();
            EXPECT_EQ(read(alone), read(apart.back())) << n << ", " << scale;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mt::testing
