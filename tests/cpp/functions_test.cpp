// SPDX-License-Identifier: Apache-2.0
// Functions that C++ hands to the library, and what is recorded: gradients, traces, tapes, kernels.
#include <cmath>

#include "support.h"

namespace mtorch {
namespace {

TEST(Gradient, OfLeavesAndAsAFunction) {
  Tensor x = tensor({1.0, 2.0}).require_grad();
  EXPECT_FALSE(x.gradient().has_value());
  sum(square(x)).backward();
  EXPECT_EQ(x.gradient().to_vector<double>(), (std::vector<double>{2, 4}));
  x.zero_grad();
  EXPECT_FALSE(x.gradient().has_value());
  Tensor y = sum(pow(x, 3));
  Tensor first = grad({y}, {x})[0];
  EXPECT_EQ(grad({sum(first)}, {x})[0].to_vector<double>(), (std::vector<double>{6, 12}));
  {
    NoGrad none;
    EXPECT_FALSE(square(x).requires_grad());
  }
  EXPECT_TRUE(square(x).requires_grad());
  gradient_check([](const Tensors& in) -> Tensors { return {tanh(in[0])}; }, {detach(x)}, 2);
  Tensor through = checkpoint([](const Tensors& in) -> Tensors { return {exp(in[0])}; }, {x})[0];
  EXPECT_NEAR(grad({sum(through)}, {x})[0].to_vector<double>()[1], std::exp(2.0), 1e-12);
}

TEST(Callback, ItsExceptionComesOutAsItself) {
  struct Mine {};
  Function fails = [](const Tensors&) -> Tensors { throw Mine(); };
  Tensor x = ones({2}).require_grad();
  EXPECT_THROW(checkpoint(fails, {x}), Mine);
  EXPECT_THROW(Trace{fails}({x}), Mine);
  EXPECT_THROW(custom({"mine", fails}, {x}), Mine);
  EXPECT_THROW(checkpoint([](const Tensors&) -> Tensors { return {}; }, {x}), Error);
  EXPECT_THROW(
      checkpoint([](const Tensors& in) -> Tensors { return {matmul(in[0], ones({3}))}; }, {x}),
      Error);
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Custom, HasItsOwnGradient) {
  auto watched = std::make_shared<int>(0);
  std::weak_ptr<int> alive = watched;
  Tensor x = tensor({3.0}).require_grad();
  {
    Operator twice{"twice", [watched](const Tensors& in) { return in[0] * 2; },
                   [](const Tensors&, const Tensors&, const Tensors& dy) {
                     return dy[0] * 7;  // wrong, to tell it from 2
                   }};
    Tensor y = twice({x});
    EXPECT_EQ(y.item(), 6);
    y.backward();
  }
  watched.reset();
  EXPECT_EQ(x.gradient().item(), 7);
  EXPECT_TRUE(alive.expired());
}

// C would take what comes before it for all.
TEST(Text, WithANulIsRefused) {
  const std::string text("a\0b", 3);
  auto refused = [](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      return error.code() == MT_EINVAL &&
             std::string(error.what()).find("NUL") != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(refused([&] { Parameters().add(text, ones({1})); }));
  EXPECT_TRUE(refused([&] { Parameters().has(text); }));
  EXPECT_TRUE(refused([&] { save_npy(ones({1}), text); }));
  EXPECT_TRUE(refused([&] { load_npy(text); }));
  EXPECT_TRUE(refused([&] { ones({1}, f32, text); }));
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Profile, CountsWhatRuns) {
  Profile profile;
  sum(matmul(ones({2, 3}), ones({3, 4}))).item();
  profile.stop();
  EXPECT_NE(profile.text().find("contraction 2 x 4 x 3"), std::string::npos) << profile.text();
  EXPECT_THROW(profile.save("/no/such/folder/x.json"), Error);
}

TEST(Tape, CanBeReadAndDifferentiated) {
  Tensor x = tensor({2.0f});
  Tape tape;
  Tensor y = exp(x * x);
  tape.end();
  EXPECT_EQ(tape.operator_name(tape.length() - 1), "exp");
  EXPECT_NE(tape.to_string().find("exp"), std::string::npos);
  EXPECT_NEAR(tape.gradient(y, {x})[0].item(), 4 * std::exp(4.0), 1e-3);
}

TEST(Kernel, RunsForEachCell) {
  Kernel scale({.name = "scale",
                .cell = [](const mt_cell& at, const void* const* in, void* const* out,
                           const double* numbers) {
                  int64_t i = at.block[0] * at.block_size[0] + at.thread[0];
                  if (i >= 10) return;
                  float x = static_cast<const float*>(in[0])[i];
                  if (x < 0) throw std::runtime_error("a negative number");
                  static_cast<float*>(out[0])[i] = x * static_cast<float>(numbers[0]);
                }});
  Tensor x = arange(0, 10);
  Tensors y = scale({x}, {.grid = {3}, .block = {4}}, {{{2, 5}, f32}}, {0.5});
  EXPECT_EQ(y[0].shape(), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(sum(y[0]).item(), 22.5);
  try {
    scale({x - 5}, {.grid = {3}, .block = {4}}, {{{10}, f32}}, {0.5});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), MT_EUSER);
    EXPECT_STREQ(error.what(), "scale: block (0, 0, 0), thread (0, 0, 0): a negative number");
  }
  EXPECT_THROW(Kernel({.name = "nothing"}), Error);
}

TEST(Function, ReturnsOneTensorOrSeveral) {
  Tensor x = tensor({1.0, 2.0}).require_grad();
  EXPECT_EQ(numbers(checkpoint([](const Tensors& in) { return in[0] * 3; }, {x})[0]),
            (std::vector<float>{3, 6}));
  Trace both([](const Tensors& in) -> Tensors { return {in[0] + 1, in[0] * 2}; });
  EXPECT_EQ(numbers(both({x}, 2)[1]), (std::vector<float>{2, 4}));
  Trace one([calls = 0](const Tensors& in) mutable { return in[0] + ++calls; });
  EXPECT_EQ(numbers(one({x})[0]), (std::vector<float>{2, 3}));
  gradient_check([](const Tensors& in) { return sum(exp(in[0])); }, {x}, 2);
  Operator given{"given", [](const Tensors& in) { return in[0]; }};
  EXPECT_FALSE(given.backward);
  EXPECT_THROW(given({x}).backward(ones_like(x)), Error);
}

TEST(Function, LastResultsMayBeLeftOut) {
  Function half = [](const Tensors& in) { return Tensors{in[0] * 2, Tensor()}; };
  Tensor x = tensor({1.0, 2.0}).require_grad();
  Trace trace(half);
  for (const Tensors& results :
       {trace({x}, 2), trace({x}, 2), checkpoint(half, {x}, 2), custom({"half", half}, {x}, 2)}) {
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(numbers(results[0]), (std::vector<float>{2, 4}));
    EXPECT_FALSE(results[1].has_value());
  }
  EXPECT_EQ(trace.count(), 1u);
  EXPECT_THROW(checkpoint([](const Tensors&) { return Tensor(); }, {x}), Error);
}

TEST(Function, NoneIsNoneWhateverItIsMadeOf) {
  std::function<Tensor(const Tensors&)> empty;
  Tensor (*nowhere)(const Tensors&) = nullptr;
  EXPECT_FALSE(Function(empty));
  EXPECT_FALSE(Function(nowhere));
  EXPECT_FALSE(Function(std::function<Tensors(const Tensors&)>()));
  EXPECT_TRUE(Function([](const Tensors& in) { return in[0]; }));
  EXPECT_TRUE(Function([](const auto& in) { return in[0]; }));
  nowhere = [](const Tensors& in) { return in[0] + 1; };
  Tensor x = tensor({1.0, 2.0}).require_grad();
  EXPECT_EQ(numbers(Function(nowhere)({x})[0]), (std::vector<float>{2, 3}));
  std::function<Tensor(const Tensors&, const Tensors&, const Tensors&)> none;
  Operator given{"given", [](const Tensors& in) { return in[0] * 2; }, none};
  try {
    given({x}).backward(ones_like(x));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), MT_ENOGRAD);
  }
}

TEST(Function, ClassesAreAlongTheLastAxis) {
  Tensor texts = reshape(square(arange(0, 8, 1, f32)), {2, 2, 2}), targets = zeros({2, 2}, i64);
  EXPECT_EQ(cross_entropy(texts, targets).item(), cross_entropy(texts, targets, -1).item());
  EXPECT_NE(cross_entropy(texts, targets).item(), cross_entropy(texts, targets, 1).item());
}

}  // namespace
}  // namespace mtorch
