// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/check.h"
#include "ops/ops.h"

namespace mt::testing {
namespace {

const Tensor a = make({3}, {-2, 0.5, 3}), b = make({3}, {4, 2, -1});

Tensor run(const char* text, const std::vector<Tensor>& tensors = {a, b}) {
  return expression(text, tensors, cpu());
}
std::string message(const char* text) {
  return message_of([&] { run(text); });
}

TEST(Expression, Operators) {
  expect_near(run("relu(a + b) * 2"), {4, 5, 4});
  expect_near(run("a + b * 2 - -a"), {4, 5, 4});
  expect_near(run("x, bias -> relu(x + bias) * 2"), {4, 5, 4});
  expect_near(run("a - b - 1"), {-7, -2.5, 3});
  expect_near(run("-a ** 2"), {-4, -0.25, -9});
  expect_near(run("2 ** 3 ** 2 + a * 0"), {512, 512, 512});
  expect_near(run("b ** -a"), {16, 1 / std::sqrt(2.0), -1});
  expect_near(run("a % 2"), {0, 0.5, 1});
  expect_near(run("(a + b) / 2"), {1, 1.25, 1});
  expect_near(run("a > 0 & b > 0 ? a : a < 0 ? 10 : 20"), {10, 0.5, 20});
  expect_near(run("where(a <= b, a, b)"), {-2, 0.5, -1});
  expect_near(run("clip(a, -1, 1.5e0)"), {-1, 0.5, 1.5});
  expect_near(run("!(a == 3) + 0 * b ? 1 : 0"), {1, 1, 0});
  expect_near(run("maximum(a, b) - .5"), {3.5, 1.5, 2.5});
  expect_near(run("(a != b) ^ (a > 0)"), {1, 0, 0});
}

TEST(Expression, NumbersAreWeak) {
  Tensor half = make({2}, {1, 2}, Dtype::float16), whole = make({2}, {6, 7}, Dtype::int8);
  EXPECT_EQ(run("a * (1 / 3) + sqrt(2)", {half}).dtype(), Dtype::float16);
  EXPECT_EQ(run("a * 2 + 1", {whole}).dtype(), Dtype::int8);
  EXPECT_EQ(run("a * 2.0", {whole}).dtype(), Dtype::float32);
  expect_near(run("~a & 3 | 8", {whole}), {9, 8});
  expect_near(run("1 + 2 * 3", {}), {7});
}

TEST(Expression, DifferentiatesAndFuses) {
  Function f = [](const std::vector<Tensor>& t) {
    return expression("sigmoid(a * b) + tanh(a) ** 2 / (1 + b * b)", t, t[0].device());
  };
  check_gradients(f, {noise({2, 3}, 1), noise({3}, 2)}, 2);
  check_devices(f, {{4, 5}, {5}});
  EXPECT_EQ(group_count(run("exp(a) * b + 1")), 1);
}

TEST(Expression, NamesFaults) {
  EXPECT_EQ(message("a +"), "expression: \"a +\": at 3: expected a value, found the end");
  EXPECT_EQ(message("a b"), "expression: \"a b\": at 2: expected an operator or the end");
  EXPECT_EQ(message("a + c"), "expression: \"a + c\": at 4: there is no tensor 'c'");
  EXPECT_EQ(message("foo(a)"), "expression: \"foo(a)\": at 0: there is no function 'foo'");
  EXPECT_EQ(message("exp(a, b)"), "expression: \"exp(a, b)\": at 0: exp takes 1 values, not 2");
  EXPECT_EQ(message("(a + b"), "expression: \"(a + b\": at 6: expected ')'");
  EXPECT_EQ(message("a < b < a"),
            "expression: \"a < b < a\": at 7: comparisons do not chain; join them by '&'");
  EXPECT_EQ(message("x -> x"), "expression: \"x -> x\": at 2: there are 1 names for 2 tensors");
  EXPECT_EQ(message("x, x -> x"), "expression: \"x, x -> x\": at 4: the name stands twice");
  EXPECT_EQ(message("a ? b"), "expression: \"a ? b\": at 5: expected ':'");
  EXPECT_EQ(message("2x"), "expression: \"2x\": at 1: expected an operator");
  EXPECT_EQ(message("1e999 * a"), "expression: \"1e999 * a\": at 5: the number is out of range");
  EXPECT_EQ(message("@"), "expression: \"@\": at 0: expected a value");
  EXPECT_NE(message(std::string(1000, '(').c_str()), "");
  EXPECT_NE(message((std::string(1000, '-') + "a").c_str()), "");
  // Of a long one what lies about the fault.
  const std::string sum(100, 'a'), many = sum + " ? " + std::string(100000, 'b');
  EXPECT_EQ(message((std::string(100000, ' ') + "@" + std::string(100000, ' ')).c_str()),
            "expression: \"..." + std::string(100, ' ') + "@" + std::string(99, ' ') +
                "...\": at 100000: expected a value");
  EXPECT_LT(message(many.c_str()).size(), 500u);
}

}  // namespace
}  // namespace mt::testing
