// SPDX-License-Identifier: Apache-2.0
// Values in C++: owners of handles, operators, indices, exceptions.
#include <numeric>
#include <sstream>

#include "support.h"

namespace mtorch {
namespace {

// How many bytes of tensors there are now.
int64_t used() {
  mt_memory memory = MT_MEMORY_INIT;
  check(mt_memory_read("cpu", &memory));
  return memory.used;
}

TEST(Tensor, IsMadeFromNumbersAndRead) {
  std::vector<double> values = {1, 2, 3, 4, 5, 6};
  Tensor x = tensor(values, {2, 3});
  EXPECT_EQ(x.shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_EQ(x.dim(-1), 3);
  EXPECT_EQ(x.device(), "cpu");
  EXPECT_EQ(x.to_vector<double>(), values);
  EXPECT_EQ(x.to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(sum(x).item(), 21);
  EXPECT_EQ(sum(tensor({1, 2, 3})).item<int64_t>(), 6);
  auto mapped = x.map<double>();
  EXPECT_EQ(std::accumulate(mapped.begin(), mapped.end(), 0.0), 21);
  EXPECT_THROW(x.map<float>(), Error);
  std::ostringstream text;
  text << tensor({1.5f});
  EXPECT_EQ(text.str(), tensor({1.5f}).to_string());
}

TEST(Tensor, IsMadeFromBooleansAndReadAsSuch) {
  const std::vector<bool> values = {true, false, true, true};
  Tensor x = tensor(values, {2, 2});
  EXPECT_EQ(x.dtype(), boolean);
  EXPECT_EQ(x.to_vector<bool>(), values);
  EXPECT_EQ((tensor({0.5f, -1.0f, 0.0f}) > 0).to_vector<bool>(),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(tensor({2, 0}).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_TRUE(zeros({0, 3}, boolean).to_vector<bool>().empty());
  EXPECT_THROW(tensor(values, {3}), Error);
}

TEST(Tensor, OperatorsTakeTensorsAndNumbers) {
  Tensor x = tensor({1.0f, 2.0f});
  EXPECT_EQ(numbers(2 * x + 1), (std::vector<float>{3, 5}));
  EXPECT_EQ(numbers(1 - x / 2.0), (std::vector<float>{0.5, 0}));
  EXPECT_EQ(numbers(-x), (std::vector<float>{-1, -2}));
  EXPECT_EQ((x > 1).dtype(), boolean);
  EXPECT_EQ((tensor({3, 4}) * 2).dtype(), i32);
  Tensor y = x;
  y += 1;
  EXPECT_EQ(numbers(x), (std::vector<float>{1, 2})) << "y became another tensor";
  y = x;
  y.assign(x * 10);
  EXPECT_EQ(numbers(x), (std::vector<float>{10, 20})) << "y shares the handle";
}

TEST(Tensor, OptionalOperandsAreLeftOut) {
  Tensor x = tensor({-2.0f, 0.5f, 2.0f});
  EXPECT_EQ(numbers(clip(x, {}, 1)), (std::vector<float>{-2, 0.5, 1}));
  Tensor image = ones({1, 1, 3, 3}), kernel = ones({1, 1, 3, 3});
  EXPECT_EQ(sum(conv2d(image, kernel, {}, {.padding = {1, 1}})).item(), 49);
  EXPECT_EQ(sum(ones({2, 3}), {-1}, true).shape(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(var(tensor({1.0, 3.0}), {}, 1).item(), 2);
}

TEST(Tensor, IsIndexed) {
  Tensor x = reshape(arange(0, 12), {3, 4});
  EXPECT_EQ(numbers(index(x, {at(-1), range(0, open_end, 2)})), (std::vector<float>{8, 10}));
  Tensor rows = tensor<int64_t>({2, 0});
  EXPECT_EQ(numbers(index(x, {by(rows), at(0)})), (std::vector<float>{8, 0}));
  index_put(x, {at(0)}, -1);
  EXPECT_EQ(sum(x).item(), 66 - 6 - 4);
  auto [values, places] = topk(tensor({3.0f, 9.0f, 4.0f}), 2);
  EXPECT_EQ(numbers(values), (std::vector<float>{9, 4}));
  EXPECT_EQ(places.to_vector<int64_t>(), (std::vector<int64_t>{1, 2}));
  Tensors parts = split(x, {1, 2});
  EXPECT_EQ(parts[1].dim(0), 2);
  EXPECT_EQ(numbers(unique_all(tensor({2.0f, 1.0f, 2.0f})).values), (std::vector<float>{1, 2}));
}

TEST(Tensor, HasBracketsAndComparisons) {
  Tensor x = reshape(arange(0, 6), {2, 3});
  EXPECT_EQ(x[1][-1].item(), 5);
  EXPECT_EQ(numbers(x[{range(), at(0)}]), (std::vector<float>{0, 3}));
  EXPECT_THROW(x[2], Error);
  EXPECT_EQ(sum(x == 4).item(), 1);
  EXPECT_EQ(sum(x != 4).item(), 5);
  EXPECT_TRUE(any(x > 4).item<bool>());
  static_assert(!std::is_constructible_v<bool, Tensor>);   // if (x == y) says nothing
  static_assert(!std::is_assignable_v<Tensor&&, Tensor>);  // x[0] = y is lost
  static_assert(std::is_assignable_v<Tensor&, double>);
  EXPECT_TRUE(x.has_value());
  EXPECT_FALSE(Tensor().has_value());
  EXPECT_EQ(tensor({1, 2, 3, 4}, {2, 2}).dim(1), 2);
  EXPECT_THROW(tensor({1, 2, 3}, {2, 2}), Error);
}

TEST(Device, IsAStringOrNothing) {
  Tensor x = ones({2}, f32, "cpu:reference"), y = zeros({2}, f32, x.device());
  EXPECT_EQ((x + y).device(), "cpu:reference");
  EXPECT_EQ(zeros({2}, f32, nullptr).device(), default_device());
  EXPECT_EQ(to_device(x, default_device()).device(), default_device());
  EXPECT_THROW(zeros({2}, f32, "nowhere"), Error);
  LoaderOptions options{.device = x.device()};  // which keeps the name
  EXPECT_EQ(Loader({y}, 1, options).next()[0].device(), "cpu:reference");
}

TEST(Device, IsMadeOfAnyTextAndComparedAsText) {
  char text[] = "cpu";
  const char *name = text, *none = nullptr;
  Device a("cpu"), b{"cpu"}, c(name), d(text), e = std::string(text), nothing(none);
  for (const Device& other : {b, c, d, e, Device(a)}) EXPECT_TRUE(a == other);
  EXPECT_TRUE(a == "cpu" && "cpu" == a && a == name && a == std::string(text));
  EXPECT_TRUE(a != Device("cpu:reference") && a != "cpu:reference" && a != nullptr);
  EXPECT_TRUE(nothing == Device() && nothing == none && nothing == nullptr && nothing != a);
}

TEST(Tensor, BracesAfterItsElementsAreAShape) {
  EXPECT_EQ(tensor({1.0f}, {}).ndim(), 0u);
  EXPECT_EQ(tensor({1.0f}, {1, 1}).ndim(), 2u);
  EXPECT_THROW(tensor({1.0f}, {0}), Error);
  EXPECT_THROW(tensor({1.0f, 2.0f}, {}), Error);
  std::string name = "cpu:reference";
  Device device(name);
  EXPECT_EQ(tensor({1.0f}, "cpu:reference").device(), name);
  EXPECT_EQ(tensor({1.0f}, name).device(), name);
  EXPECT_EQ(tensor({1.0f}, name.c_str()).device(), name);
  EXPECT_EQ(tensor({1.0f}, device).device(), name);
  EXPECT_EQ(tensor<int64_t>({1, 2}, device).dtype(), i64);
  EXPECT_EQ(tensor({1.0f}, {}, device).device(), name);
}

template <class... Axis>
concept HasNorm = requires(Tensor x, Axis... axis) {
  norm(x, axis...);
};

template <class... Argument>
concept HasNormal = requires(Argument... argument) {
  normal(argument...);
};

TEST(Tensor, OneSizeOrAxisNeedsNoBraces) {
  Tensor x = reshape(arange(0, 6, 1), {2, 3});
  EXPECT_EQ(sum(x, 1).to_vector<float>(), (std::vector<float>{3, 12}));
  EXPECT_EQ(argmax(x, -1).to_vector<int64_t>(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(mean(x, 0, true).shape(), (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(zeros(size_t{4}).shape(), (std::vector<int64_t>{4}));
  EXPECT_EQ(reshape(x, -1).shape(), (std::vector<int64_t>{6}));
  static_assert(!std::is_convertible_v<bool, Dims> && !std::is_convertible_v<double, Dims>);
  static_assert(HasNorm<Dims> && !HasNorm<int> && !HasNorm<int, bool>, "an axis or an order?");
  static_assert(HasNormal<int> && HasNormal<Dims, int> && !HasNormal<int, int>, "sizes or bounds?");
}

TEST(Tensor, IsIndexedByAListMadeAtRunTime) {
  Tensor x = reshape(arange(0, 24), {2, 3, 4});
  for (int64_t axis = 0; axis < 3; ++axis) {
    std::vector<Item> items(static_cast<size_t>(axis), range());
    items.push_back(at(1));
    EXPECT_EQ(numbers(index(x, items)), numbers(select(x, axis, 1)));
    Tensor y = copy(x);
    index_put(y, items, 0);
    EXPECT_EQ(sum(select(y, axis, 1)).item(), 0);
  }
}

TEST(Tensor, LooksAtMemoryThatItsOwnerKeeps) {
  auto memory = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  std::weak_ptr<std::vector<float>> watched = memory;
  {
    Tensor x = wrap(std::span<const float>(*memory), {3}, memory);
    memory.reset();
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(sum(x).item(), 6);
  }
  EXPECT_TRUE(watched.expired());
}

TEST(Tensor, LooksAtVectorsAndArrays) {
  std::vector<float> numbers_there{1, 2, 3, 4};
  const int64_t whole[] = {5, 6};
  Tensor x = wrap(numbers_there, {2, 2});
  EXPECT_EQ(x.map<float>().data(), numbers_there.data());
  EXPECT_EQ(wrap(whole, {2})[1].item<int64_t>(), 6);
  EXPECT_THROW(wrap(numbers_there, {3}), Error);
}

TEST(Tensor, NothingIsLeftBehind) {
  int64_t before = used();
  {
    Tensor x = ones({100, 100}), y = x;
    for (int i = 0; i < 10; ++i) y = matmul(x, y) / 100;
    eval({y});
    EXPECT_GT(used(), before);
    mt_scope* scope = mt_scope_begin();  // what is owned here is not the scope's
    y = x + y;
    mt_scope_end(scope);
    EXPECT_NEAR(mean(y).item(), 2, 1e-6);
  }
  EXPECT_EQ(used(), before);
}

TEST(Error, IsThrownWithTheMessageAndCleared) {
  Tensor a = zeros({2, 3}), b = zeros({4, 5});
  try {
    matmul(a, b);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), MT_ESHAPE);
    EXPECT_NE(std::string(error.what()).find("[2,3]"), std::string::npos) << error.what();
  }
  EXPECT_EQ(mt_error(), MT_OK);
  EXPECT_THROW(zeros({2}).dim(7), Error);
  EXPECT_THROW(tensor({1.0f, 2.0f}).item(), Error);
  EXPECT_THROW(tensor(std::vector<float>{1, 2}, {3}), Error);
  EXPECT_THROW(neg({}), Error) << "an empty tensor";
  EXPECT_THROW(zeros(std::vector<int64_t>(20, 1)), Error);
  EXPECT_THROW(load_npy("/nowhere"), Error);
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Linalg, MultipliesBack) {
  Tensor x = reshape(tensor({2.0f, 1.0f, 1.0f, 3.0f}), {2, 2});
  auto near = [&](const Tensor& y) { return max(abs(y - x)).item() < 1e-5; };
  auto [q, r] = qr(x);
  EXPECT_TRUE(near(matmul(q, r)));
  auto [u, s, vh] = svd(x, true);
  EXPECT_TRUE(near(matmul(u * s, vh)));
  auto [values, vectors] = eigh(x);
  EXPECT_TRUE(near(matmul(vectors * values, matrix_transpose(vectors))));
  Tensor l = cholesky(x);
  EXPECT_TRUE(near(matmul(l, matrix_transpose(l))));
  EXPECT_TRUE(near(inv(pinv(x))));
  auto [sign, logabsdet] = slogdet(x);
  EXPECT_NEAR((sign * exp(logabsdet)).item(), det(x).item(), 1e-4);
  EXPECT_EQ(matrix_rank(x, 0.6).item(), 1);
  EXPECT_NEAR(matrix_norm(x, "inf").item(), 4, 1e-6);
  EXPECT_THROW(solve(zeros({2, 2}), ones({2})), Error);
}

TEST(Device, IsDescribedAndChosen) {
  std::vector<std::string> all = devices();
  EXPECT_NE(std::find(all.begin(), all.end(), "cpu:reference"), all.end());
  EXPECT_FALSE(device_description("cpu").empty());
  EXPECT_TRUE(device_available("cpu"));
  EXPECT_FALSE(device_available("none"));
  std::string before = default_device();
  set_default_device("cpu:reference");
  EXPECT_EQ(ones({2}).device(), "cpu:reference");
  set_default_device(before);
  EXPECT_THROW(set_threads(0), Error);
  int64_t used = memory("cpu").used;
  Tensor x = ones({1000}) + 1;
  eval({x});
  EXPECT_GE(memory("cpu").used, used + 4000);
}

TEST(Generator, GoesOnFromItsState) {
  Generator generator(7);
  generator.use();
  Tensor first = uniform({3});
  auto [key, counter] = generator.state();
  EXPECT_EQ(key, 7u);
  double second = uniform({}).item();
  generator.set_state(key, counter);
  EXPECT_EQ(uniform({}).item(), second);
  Generator::use_own();
  Generator(7).use();
  EXPECT_EQ(max(abs(uniform({3}) - first)).item(), 0);
  Generator::use_own();
}

TEST(DType, HasAName) {
  std::ostringstream text;
  text << zeros({1}).dtype() << ' ' << bf16;
  EXPECT_EQ(text.str(), "float32 bfloat16");
}

}  // namespace
}  // namespace mtorch
