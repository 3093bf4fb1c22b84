// SPDX-License-Identifier: Apache-2.0
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011), one element
// at a time: a pure function of seed, stream and element, so that any order gives the same numbers.
#pragma once

#include <cstdint>

#include "ops/math/host_device.h"

namespace mt {

struct PhiloxBlock {
  uint32_t word[4];
};

MT_HOST_DEVICE inline PhiloxBlock philox(uint64_t seed, uint64_t stream, uint64_t block) {
  uint32_t c[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                   static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
    uint32_t next[4] = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
                        static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    for (int i = 0; i < 4; ++i) c[i] = next[i];
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c[0], c[1], c[2], c[3]}};
}

// Element i is word i % 4 of block i / 4.
MT_HOST_DEVICE inline uint32_t philox_bits(uint64_t seed, uint64_t stream, uint64_t element) {
  return philox(seed, stream, element / 4).word[element % 4];
}
// In [0, 1), with 24 bits.
MT_HOST_DEVICE inline float philox_uniform32(uint64_t seed, uint64_t stream, uint64_t element) {
  return static_cast<float>(philox_bits(seed, stream, element) >> 8) * 0x1p-24f;
}
// In [0, 1), with 53 bits: element i is made of words 2 (i % 2) and the next of block i / 2.
MT_HOST_DEVICE inline double philox_uniform64(uint64_t seed, uint64_t stream, uint64_t element) {
  PhiloxBlock block = philox(seed, stream, element / 2);
  uint32_t low = block.word[element % 2 * 2], high = block.word[element % 2 * 2 + 1];
  return static_cast<double>(high) * 0x1p-32 + static_cast<double>(low >> 11) * 0x1p-53;
}

}  // namespace mt
