// SPDX-License-Identifier: Apache-2.0
// Numbers and sizes of C++ that int64 does not have, or the type asked for: they are right or
// refused.
#include <cstdint>
#include <limits>

#include "support.h"

namespace mtorch {
namespace {

constexpr uint64_t most = std::numeric_limits<uint64_t>::max();

// The code that a body throws, and whether the message has all of it.
template <class Body>
std::pair<mt_status, std::string> thrown_by(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {MT_OK, "nothing thrown"};
}
template <class Body>
void expect_refused(mt_status code, const std::vector<std::string>& words, Body body) {
  auto [found, message] = thrown_by(body);
  EXPECT_EQ(found, code) << message;
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << message << ": no " << word;
  }
  EXPECT_EQ(mt_error(), MT_OK);
}

TEST(Numbers, BeyondInt64AreThemselvesBesideFloats) {
  EXPECT_EQ((ones({}, f64) * most).item(), 0x1p64);
  EXPECT_EQ((ones({2}, f32) * (most / 2 + 1))[1].item(), 0x1p63);
  EXPECT_EQ((ones({2}, f32) * most).dtype(), f32);
  EXPECT_EQ(clip(tensor({1e30, 5.0}), {}, most).to_vector<double>(),
            (std::vector<double>{0x1p64, 5}));
  Trace twice([](const Tensors& x) { return x[0] + most; });
  for (double number : {1.0, 0x1p64}) {
    EXPECT_EQ(twice({tensor({number})})[0][0].item(), number + 0x1p64);
  }
}

TEST(Numbers, BeyondInt64AreExactBesideUint64) {
  Tensor x = tensor({most, most - 1});
  EXPECT_EQ((x == most).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ((Tensor(most) - x).to_vector<uint64_t>(), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ((tensor({1, 2}) < 5u).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 1}));
  EXPECT_EQ((tensor({1, 2}) + 'a').dtype(), i32) << "a character is a whole number too";
  expect_refused(MT_EDTYPE, {"uint64", "int32"}, [] { tensor({1, 2}) + most; });
}

TEST(Numbers, AreReadAsATypeThatHasThem) {
  expect_refused(MT_EINVAL, {"1000000000000000", "[-2147483648, 2147483647]"},
                 [] { tensor({int64_t{1000000000000000}}).item<int>(); });
  expect_refused(MT_EINVAL, {"300", "[0, 255]"}, [] { tensor({300}).item<unsigned char>(); });
  expect_refused(MT_EINVAL, {"300", "[-128, 127]"}, [] { tensor({300}).item<signed char>(); });
  expect_refused(MT_EINVAL, {"-1", "[0, 18446744073709551615]"},
                 [] { tensor({-1}).item<uint64_t>(); });
  expect_refused(MT_EINVAL, {"-1"}, [] { tensor({-1}).item<char32_t>(); });
  EXPECT_EQ(tensor({255}).item<unsigned char>(), 255);
  EXPECT_EQ(tensor({-128}).item<signed char>(), -128);
  EXPECT_EQ(tensor({97}).item<char>(), 'a');
  EXPECT_EQ(tensor({most / 2}).item<uint64_t>(), most / 2);
  EXPECT_TRUE(tensor({5}).item<bool>()) << "as if (5) says";
  expect_refused(MT_EDTYPE, {"does not fit int64"}, [] { tensor({most}).item<uint64_t>(); });
  expect_refused(MT_EDTYPE, {"float32"}, [] { tensor({1.0f}).item<int>(); });
}

template <class Size>
concept IsSize = requires(Size size) {
  zeros({size, size});
};

TEST(Sizes, AreAnyIntegers) {
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(zeros({values.size(), 3}).shape(), (std::vector<int64_t>{6, 3}));
  EXPECT_EQ(zeros({uint8_t{2}, 3u, short{4}}).shape(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(tensor(values, {values.size() / 3, 3}).dim(0), 2);
  EXPECT_EQ(reshape(tensor(values, {6}), {values.size() / 2, -1}).dim(1), 2);
  enum Side { height = 2, width = 3 };
  EXPECT_EQ(zeros({height, width}).shape(), (std::vector<int64_t>{2, 3}));
  const std::integral_constant<int, 4> four;
  EXPECT_EQ(zeros({four, 1}).shape(), (std::vector<int64_t>{4, 1}));
  EXPECT_EQ(zeros({}).ndim(), 0u);
  static_assert(IsSize<size_t> && IsSize<char> && IsSize<Side>);
  static_assert(!IsSize<double> && !IsSize<float> && !IsSize<std::nullptr_t> && !IsSize<Tensor>);
}

TEST(Sizes, BeyondInt64AreRefused) {
  expect_refused(MT_EINVAL, {"18446744073709551615"}, [] { zeros({2, most}); });
  expect_refused(MT_EINVAL, {"18446744073709551615"}, [] { zeros(most); });
  expect_refused(MT_EINVAL, {"18446744073709551615"}, [] { reshape(zeros({4}), {most}); });
}

TEST(Sizes, AreComparedWithTheirElementsWithoutOverflow) {
  std::vector<float> none, one{1}, four(4);
  expect_refused(MT_ESHAPE, {"wrap: 0 elements", "[4294967296,4294967296]"}, [&] {
    wrap(none, {int64_t{1} << 32, int64_t{1} << 32});
  });
  expect_refused(MT_ESHAPE, {"tensor: 4 elements", "[2,3]"}, [&] { tensor(four, {2, 3}); });
  expect_refused(MT_ESHAPE, {"[]"}, [&] { tensor(four, {}); });
  expect_refused(MT_ESHAPE, {"[-1,-4]"}, [&] { tensor(four, {-1, -4}); });
  expect_refused(MT_ESHAPE, {"[4,0]"}, [&] { tensor(four, {4, 0}); });
  EXPECT_EQ(tensor(none, {3, 0}).size(), 0);
  EXPECT_EQ(wrap(one, {1, 1}).ndim(), 2u);
  EXPECT_EQ(tensor(one, {}).item(), 1);
}

}  // namespace
}  // namespace mtorch
