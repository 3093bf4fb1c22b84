// SPDX-License-Identifier: Apache-2.0
// Division of integers goes another way for small numbers, larger ones and very large ones: each
// way alone and side by side, against division as numbers have it.
#include <limits>
#include <random>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "instruction_sets.h"
#include "ops/math/integer.h"

namespace mt::cpu {
namespace {

template <class T>
void expect_exact(const std::vector<T>& a, const std::vector<T>& b, Compute type) {
  const Input inputs[] = {{a.data()}, {b.data()}};
  std::vector<T> quotient(a.size()), rest(a.size());
  int64_t n = static_cast<int64_t>(a.size());
  elementwise_operator(Elementwise::floor_divide, type)(quotient.data(), inputs, 1, n);
  elementwise_operator(Elementwise::remainder, type)(rest.data(), inputs, 1, n);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(quotient[i], integer::floor_divide(a[i], b[i])) << a[i] << " // " << b[i];
    ASSERT_EQ(rest[i], integer::remainder(a[i], b[i])) << a[i] << " % " << b[i];
  }
}

// Numbers of at most `bits` bits; every other dividend is a multiple of its divisor or next to one.
template <class T>
void divides_numbers_of(int bits, Compute type, std::mt19937_64& random) {
  auto draw = [&] {
    int kept = static_cast<int>(random() % static_cast<unsigned>(bits)) + 1;
    return static_cast<T>(static_cast<T>(random()) >> (std::numeric_limits<T>::digits - kept));
  };
  std::vector<T> a(1000), b(1000);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = draw(), b[i] = draw();
    if (i % 2 == 0) {
      T multiple = integer::multiply(b[i], static_cast<T>(integer::floor_divide(a[i], b[i])));
      a[i] = integer::add(multiple, static_cast<T>(random() % 3 - 1));
    }
  }
  expect_exact(a, b, type);
}

template <class T>
void divides_exactly(Compute type) {
  for_each_instruction_set([&] {
    std::mt19937_64 random(17);
    for (int bits = 1; bits <= std::numeric_limits<T>::digits; ++bits) {
      divides_numbers_of<T>(bits, type, random);
    }
    // Around every power of two, divided by all of the others.
    std::vector<T> edges = {0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    for (int bit = 0; bit < std::numeric_limits<T>::digits; ++bit) {
      for (int step : {-1, 0, 1}) {
        T x = integer::add(static_cast<T>(T{1} << bit), static_cast<T>(step));
        edges.push_back(x);
        edges.push_back(integer::subtract(T{0}, x));
      }
    }
    for (T divisor : edges) {
      expect_exact(edges, std::vector<T>(edges.size(), divisor), type);
      for (T dividend : edges) expect_exact<T>({dividend}, {divisor}, type);
    }
  });
}

TEST(IntegerDivision, IsExactForInt32) { divides_exactly<int32_t>(Compute::i32); }
TEST(IntegerDivision, IsExactForInt64) { divides_exactly<int64_t>(Compute::i64); }
TEST(IntegerDivision, IsExactForUint64) { divides_exactly<uint64_t>(Compute::u64); }

}  // namespace
}  // namespace mt::cpu
