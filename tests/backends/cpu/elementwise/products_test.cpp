// SPDX-License-Identifier: Apache-2.0
// Two products and their sum or difference in one kernel: the same bits as one after the other,
// whichever factors are numbers.
#include "backends/cpu/elementwise/products.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "instruction_sets.h"

namespace mt::cpu {
namespace {

constexpr float infinity = __builtin_inff();

// Numbers whose products round, overflow, underflow and are none.
std::vector<float> numbers(size_t count, unsigned seed) {
  constexpr float special[] = {0, -0.0f, infinity, -infinity, 3e38f, 1e-30f, 1e-45f, -1};
  std::vector<float> result(count);
  for (float& x : result) {
    seed = seed * 1664525 + 1013904223;
    const unsigned choice = seed >> 26;
    x = choice < 8 ? special[choice] : static_cast<float>(static_cast<int>(seed >> 4)) * 1.1e-7f;
  }
  return result;
}

struct Kind {
  Elementwise last;
  bool right, squared;
};
constexpr Kind kinds[] = {{Elementwise::add, false, false},
                          {Elementwise::add, false, true},
                          {Elementwise::sub, false, false},
                          {Elementwise::sub, true, false}};

// The i-th bit of `repeated` says whether operand i is one number for each row.
void check(const Kind& kind, unsigned repeated, int64_t rows, int64_t columns, bool in_place) {
  const Operator together = products_operator(kind.last, kind.right, kind.squared, Compute::f32);
  if (!together) return;
  const auto count = static_cast<size_t>(rows * columns);
  std::vector<float> values[4];
  Input in[4];
  for (unsigned k = 0; k < 4; ++k) {
    values[k] = numbers(count, k + 1);
    const bool one = repeated >> k & 1;
    in[k] = {values[k].data(), (one ? 1 : columns) * int64_t{sizeof(float)}, one};
  }
  auto compute = [&](Elementwise code, const Input& a, const Input& b) {
    std::vector<float> result(count);
    const Input both[] = {a, b};
    elementwise_operator(code, Compute::f32)(result.data(), both, rows, columns);
    return result;
  };
  auto read = [&](const std::vector<float>& x) {
    return Input{x.data(), columns * int64_t{sizeof(float)}};
  };
  const std::vector<float> first = compute(Elementwise::mul, in[0], in[1]);
  const std::vector<float> square = compute(Elementwise::mul, in[2], in[2]);
  const std::vector<float> second =
      compute(Elementwise::mul, kind.squared ? read(square) : in[2], in[3]);
  const std::vector<float> want = kind.right ? compute(kind.last, read(second), read(first))
                                             : compute(kind.last, read(first), read(second));
  std::vector<float> apart(count + 1, 77);
  float* out = in_place ? values[0].data() : apart.data();
  together(out, in, rows, columns);
  for (size_t i = 0; i < count; ++i) {
    const bool none = want[i] != want[i] && out[i] != out[i];
    ASSERT_TRUE(none || std::memcmp(&out[i], &want[i], sizeof(float)) == 0)
        << out[i] << " instead of " << want[i] << " at " << i << " of " << rows << " x " << columns
        << ", repeated " << repeated;
  }
  ASSERT_EQ(apart[count], 77);
}

TEST(Products, HaveTheBitsOfOneAfterTheOther) {
  for_each_instruction_set([] {
    for (const Kind& kind : kinds) {
      for (unsigned repeated = 0; repeated < 16; ++repeated) {
        for (int64_t columns : {1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 1000}) {
          for (int64_t rows : {1, 3}) {
            check(kind, repeated, rows, columns, false);
            if (!(repeated & 1)) check(kind, repeated, rows, columns, true);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace mt::cpu
