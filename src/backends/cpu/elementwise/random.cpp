// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 (Salmon et al. 2011), one block in each 64-bit lane.
#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/elementwise/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/random.cpp"
#include "hwy/foreach_target.h"

#include "backends/cpu/elementwise/vector_math.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu {
namespace HWY_NAMESPACE {

constexpr size_t blocks = lane_count<uint64_t>;
using Words = hn::Vec<Tag<uint64_t>>;

HWY_INLINE Words product32(Words a, uint32_t factor) {
  constexpr Tag<uint32_t> narrow;
  return hn::MulEven(hn::BitCast(narrow, a), hn::Set(narrow, factor));
}

// The key of each round, one word in each element.
struct RoundKeys {
  uint64_t keys[10][2];
  uint64_t stream;
};
RoundKeys round_keys_of(RandomKey key) {
  RoundKeys keys;
  keys.stream = key.stream;
  uint32_t k0 = static_cast<uint32_t>(key.seed), k1 = static_cast<uint32_t>(key.seed >> 32);
  for (auto& round : keys.keys) {
    round[0] = k0, round[1] = k1;
    k0 += 0x9E3779B9, k1 += 0xBB67AE85;
  }
  return keys;
}

// The four words of blocks [block, block + blocks), each in the low half of its lane.
HWY_INLINE void generate(const RoundKeys& keys, uint64_t block, Words words[4]) {
  constexpr Tag<uint64_t> d;
  // Multiplications read low halves only, so the upper halves may hold anything until the end.
  Words c0 = hn::Iota(d, block), c1 = hn::ShiftRight<32>(c0);
  Words c2 = hn::Set(d, keys.stream), c3 = hn::Set(d, keys.stream >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    Words p0 = product32(c0, 0xD2511F53), p1 = product32(c2, 0xCD9E8D57);
    c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1), hn::Set(d, keys.keys[round][0]));
    c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3), hn::Set(d, keys.keys[round][1]));
    c1 = p1;
    c3 = p0;
  }
  auto low = hn::Set(d, uint64_t{0xffffffff});
  words[0] = hn::And(c0, low);
  words[1] = hn::And(c1, low);
  words[2] = hn::And(c2, low);
  words[3] = hn::And(c3, low);
}

// Each source writes the elements of `blocks` blocks, `per_block` from each.
struct BitsSource {
  using Element = int64_t;
  static constexpr uint64_t per_block = 4;
  static HWY_INLINE void write(const Words words[4], int64_t* out) {
    constexpr Tag<int64_t> d;
    hn::StoreInterleaved4(hn::BitCast(d, words[0]), hn::BitCast(d, words[1]),
                          hn::BitCast(d, words[2]), hn::BitCast(d, words[3]), d, out);
  }
};
struct FloatSource {
  using Element = float;
  static constexpr uint64_t per_block = 4;
  static HWY_INLINE void write(const Words words[4], float* out) {
    constexpr hn::Rebind<uint32_t, Tag<uint64_t>> narrow;
    constexpr hn::Rebind<int32_t, Tag<uint64_t>> integer;
    constexpr hn::Rebind<float, Tag<uint64_t>> d;
    auto uniform = [&](Words w) HWY_ATTR {
      auto bits24 = hn::ShiftRight<8>(hn::TruncateTo(narrow, w));
      return hn::Mul(hn::ConvertTo(d, hn::BitCast(integer, bits24)), hn::Set(d, 0x1p-24f));
    };
    hn::StoreInterleaved4(uniform(words[0]), uniform(words[1]), uniform(words[2]),
                          uniform(words[3]), d, out);
  }
};
struct DoubleSource {
  using Element = double;
  static constexpr uint64_t per_block = 2;
  static HWY_INLINE void write(const Words words[4], double* out) {
    constexpr Tag<uint64_t> integer;
    constexpr Tag<double> d;
    // 32 bits and 21 bits become doubles by standing in the mantissa of 2^52.
    auto to_double = [&](Words w) HWY_ATTR {
      auto magic = hn::Set(d, 0x1p52);
      return hn::Sub(hn::BitCast(d, hn::Or(w, hn::BitCast(integer, magic))), magic);
    };
    auto uniform = [&](Words low, Words high) HWY_ATTR {
      auto upper = hn::Mul(to_double(high), hn::Set(d, 0x1p-32));
      return hn::Add(upper, hn::Mul(to_double(hn::ShiftRight<11>(low)), hn::Set(d, 0x1p-53)));
    };
    hn::StoreInterleaved2(uniform(words[0], words[1]), uniform(words[2], words[3]), d, out);
  }
};

template <class Source>
void random_elements(void* out, RandomKey key, uint64_t first, int64_t n) {
  using Element = typename Source::Element;
  constexpr uint64_t group = blocks * Source::per_block;
  Element* y = static_cast<Element*>(out);
  const RoundKeys keys = round_keys_of(key);
  uint64_t left = static_cast<uint64_t>(n);
  while (left > 0) {
    Words words[4];
    generate(keys, first / Source::per_block, words);
    uint64_t skip = first % Source::per_block, count = group;
    if (skip == 0 && left >= group) {
      Source::write(words, y);
    } else {
      alignas(HWY_MAX_BYTES) Element buffer[group];
      Source::write(words, buffer);
      count = std::min(left, group - skip);
      memcpy(y, buffer + skip, count * sizeof(Element));
    }
    y += count;
    first += count;
    left -= count;
  }
}

RandomSource uniform_of(Compute type) {
  switch (type) {
    case Compute::f32: return &random_elements<FloatSource>;
    case Compute::f64: return &random_elements<DoubleSource>;
    default: return nullptr;
  }
}
RandomSource bits_of() { return &random_elements<BitsSource>; }

}  // namespace HWY_NAMESPACE
}  // namespace mt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mt::cpu {
HWY_EXPORT(uniform_of);
HWY_EXPORT(bits_of);
RandomSource uniform_source(Compute type) { return HWY_DYNAMIC_DISPATCH(uniform_of)(type); }
RandomSource bits_source() { return HWY_DYNAMIC_DISPATCH(bits_of)(); }
}  // namespace mt::cpu
#endif
