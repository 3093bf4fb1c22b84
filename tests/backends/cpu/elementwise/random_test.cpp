// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 against its authors' known answers, and that pieces agree with the whole.
#include <cstring>
#include <vector>

#include "backends/cpu/elementwise/kernels.h"
#include "instruction_sets.h"

namespace mt::cpu {
namespace {

struct Answer {
  uint64_t block, stream, seed;
  int64_t words[4];
};
// The counter is (block, stream), low word first.
const Answer answers[] = {
    {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {0x85a308d3243f6a88,
     0x0370734413198a2e,
     0x299f31d0a4093822,
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

// One block in plain scalar code.
void philox(const Answer& at, uint32_t out[4]) {
  uint32_t c[4] = {static_cast<uint32_t>(at.block), static_cast<uint32_t>(at.block >> 32),
                   static_cast<uint32_t>(at.stream), static_cast<uint32_t>(at.stream >> 32)};
  uint32_t k[2] = {static_cast<uint32_t>(at.seed), static_cast<uint32_t>(at.seed >> 32)};
  for (int round = 0; round < 10; ++round) {
    uint64_t p = uint64_t{0xD2511F53} * c[0], q = uint64_t{0xCD9E8D57} * c[2];
    uint32_t next[4] = {static_cast<uint32_t>(q >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(q),
                        static_cast<uint32_t>(p >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p)};
    memcpy(c, next, sizeof(c));
    k[0] += 0x9E3779B9, k[1] += 0xBB67AE85;
  }
  memcpy(out, c, sizeof(c));
}

TEST(Random, KnownAnswers) {
  for (const Answer& answer : answers) {
    uint32_t plain[4];
    philox(answer, plain);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(plain[i], answer.words[i]);
  }
  for_each_instruction_set([&] {
    int64_t words[4];
    bits_source()(words, {0, 0}, 0, 4);
    EXPECT_EQ(0, memcmp(words, answers[0].words, sizeof(words)));
    // Element numbers have 64 bits, so of the second answer's block only the low 62 can be reached.
    Answer at = answers[1];
    at.block &= ~uint64_t{0} >> 2;
    uint32_t plain[4];
    philox(at, plain);
    bits_source()(words, {at.seed, at.stream}, at.block * 4, 4);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words[i], plain[i]);
  });
}

template <class T>
void pieces(RandomSource (*source)(), RandomKey key) {
  std::vector<T> first_seen;
  for_each_instruction_set([&] {
    std::vector<T> whole(1000);
    source()(whole.data(), key, 0, 1000);
    if (first_seen.empty()) first_seen = whole;
    ASSERT_EQ(whole, first_seen);
    for (size_t begin : {0, 1, 2, 3, 5, 97, 500}) {
      for (size_t n : {0, 1, 2, 3, 4, 7, 31, 32, 33, 64, 100, 499}) {
        std::vector<T> part(n + 1, T(2));
        source()(part.data(), key, begin, static_cast<int64_t>(n));
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(part[i], whole[begin + i]) << begin << ", " << n;
        ASSERT_EQ(part[n], T(2));
      }
    }
  });
}
TEST(Random, PiecesAgreeWithTheWhole) {
  RandomKey key = {0x123456789abcdef0, 42};
  pieces<int64_t>(bits_source, key);
  pieces<float>([] { return uniform_source(Compute::f32); }, key);
  pieces<double>([] { return uniform_source(Compute::f64); }, key);
}

TEST(Random, UniformComesFromTheBits) {
  RandomKey key = {77, 5};
  std::vector<int64_t> words(2000);
  std::vector<float> single(2000);
  std::vector<double> wide(1000);
  bits_source()(words.data(), key, 0, 2000);
  uniform_source(Compute::f32)(single.data(), key, 0, 2000);
  uniform_source(Compute::f64)(wide.data(), key, 0, 1000);
  double sum = 0;
  for (size_t i = 0; i < 2000; ++i) {
    EXPECT_EQ(single[i], static_cast<float>(words[i] >> 8) / 16777216.0f);
    EXPECT_LT(single[i], 1.0f);
  }
  for (size_t i = 0; i < 1000; ++i) {
    uint64_t both =
        static_cast<uint64_t>(words[2 * i + 1]) << 32 | static_cast<uint64_t>(words[2 * i]);
    EXPECT_EQ(wide[i], static_cast<double>(both >> 11) * 0x1p-53);
    sum += wide[i];
  }
  EXPECT_NEAR(sum / 1000, 0.5, 0.05);
}

TEST(Random, StreamsDiffer) {
  int64_t a[8], b[8];
  bits_source()(a, {1, 0}, 0, 8);
  bits_source()(b, {1, 1}, 0, 8);
  EXPECT_NE(0, memcmp(a, b, sizeof(a)));
  EXPECT_EQ(uniform_source(Compute::i32), nullptr);
}

}  // namespace
}  // namespace mt::cpu
