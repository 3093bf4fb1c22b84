// SPDX-License-Identifier: Apache-2.0
// The tensor cores' multiply-add of small matrices, a warp at a time, as PTX defines it: d[16, 8]
// += a[16, K] b[K, 8], where a row of K numbers has 32 bytes: mma.m16n8k16 of 16-bit floats, and
// mma.m16n8k8 of float32 that have been rounded to TF32. A word is a float32 or two neighbours
// along k. Lane l holds, with g = l / 4 and t = l % 4,
//
// - in a[0..3] the words t, t, t + 4, t + 4 of the rows g, g + 8, g, g + 8;
// - in b[0..1] the words t, t + 4 of column g;
// - in d[0..3] columns 2 t, 2 t + 1, 2 t, 2 t + 1 of the rows g, g, g + 8, g + 8;
//
// and what brings operands there from shared memory (ldmatrix): four matrices of 8 rows of 16
// bytes, of which lane l gives the address of row l % 8 of matrix l / 8. It receives of each the
// word t of row g; or, transposed, which numbers of 16 bits alone can be, of column g the rows 2 t
// and 2 t + 1. So what a lane holds of d is, rounded to 16 bits, what it has to hold of an a that
// is to be multiplied next.
#pragma once

#include <cmath>

#include "backends/cuda/device/numbers.h"
#include "backends/cuda/device/views.h"

namespace mt::cuda {

constexpr int bytes_of(Factor factor) { return factor == Factor::tf32 ? 4 : 2; }

#ifdef __CUDACC__
template <Factor factor>
__device__ void matrix_multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#define MT_MULTIPLY(shape_and_types)                                     \
  asm("mma.sync.aligned." shape_and_types                                \
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("m16n8k16.row.col.f32.bf16.bf16.f32");
  } else if constexpr (factor == Factor::float16) {
    MT_MULTIPLY("m16n8k16.row.col.f32.f16.f16.f32");
  } else {
    MT_MULTIPLY("m16n8k8.row.col.f32.tf32.tf32.f32");
  }
#undef MT_MULTIPLY
}
// Of the bits of a float32.
__device__ inline uint32_t round_to_tf32(uint32_t bits) {
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
  return rounded;
}
// Two neighbours along k, each rounded to nearest even.
template <Factor factor>
__device__ uint32_t round_pair(float first, float second) {
  uint32_t pair;
  if constexpr (factor == Factor::bfloat16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  }
  return pair;
}
template <bool transposed>
__device__ void load_matrices(uint32_t (&r)[4], size_t row) {
  auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared<char>(row)));
  if constexpr (transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
  }
}
#else
// Simulated: the lanes hand each other what they hold, and each makes its own four sums, one
// product after another, as the CPU does. A GPU cuts off what float32 cannot hold of all of them
// together, which a test can ask for.

// A factor of these bits; a GPU does not look at those of float32 that TF32 has not.
template <Factor factor>
float factor_of(uint32_t bits, const grid::Source& where) {
  if constexpr (factor == Factor::tf32) {
    const float number = unpack<float>(bits);
    if (bits & 0x1fff && number == number) {
      grid::fault("a factor that is not rounded to TF32", where);
    }
    return number;
  }
  const auto half = static_cast<uint16_t>(bits);
  return factor == Factor::bfloat16 ? bfloat16_to_float(half) : float16_to_float(half);
}
// A sum that a unit goes on with.
class UnitSum {
 public:
  explicit UnitSum(float begin) : rounded_(begin), exact_(double{begin}) {}
  void add(float x, float y) {
    rounded_ = fmaf(x, y, rounded_);
    exact_ += double{x} * double{y};
  }
  float value() const {
    if (!grid::units_truncate) return rounded_;
    const auto near = static_cast<float>(exact_);
    return std::fabs(double{near}) > std::fabs(exact_) ? std::nextafter(near, 0.0f) : near;
  }

 private:
  float rounded_;
  double exact_;
};
template <Factor factor>
void matrix_multiply_add(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                         const grid::Source& where = grid::Source::current()) {
  uint32_t own[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
  grid::exchange(0xffffffff, own, sizeof own, where);
  auto held = [&](unsigned lane, int i, int place) {
    uint32_t registers[6];
    std::memcpy(registers, grid::exchanged(lane, where), sizeof registers);
    return factor_of<factor>(registers[i] >> 16 * place, where);
  };
  constexpr int in_word = 4 / bytes_of(factor);
  unsigned lane = grid::now().thread % 32;
  for (int i = 0; i < 4; ++i) {
    unsigned row = lane / 4, column = lane % 4 * 2 + static_cast<unsigned>(i % 2);
    UnitSum sum(d[i]);
    for (int k = 0; k < 8 * in_word; ++k) {
      int word = k / in_word;
      unsigned t = static_cast<unsigned>(word % 4);
      float x = held(row * 4 + t, i / 2 + word / 4 * 2, k % in_word),
            y = held(column * 4 + t, 4 + word / 4, k % in_word);
      sum.add(x, y);
    }
    d[i] = sum.value();
  }
}
inline uint32_t round_to_tf32(uint32_t bits) {
  constexpr uint32_t infinity = 0x7f800000, dropped = 0x1fff, half = 0x1000;
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > infinity) return infinity | 1 << 22;
  if (magnitude < infinity) magnitude = (magnitude + half) & ~dropped;
  return (bits & 0x80000000) | magnitude;
}
template <Factor factor>
uint32_t round_pair(float first, float second) {
  auto bits = [](float x) -> uint32_t {
    return factor == Factor::bfloat16 ? float_to_bfloat16(x) : float_to_float16(x);
  };
  return bits(first) | bits(second) << 16;
}
template <bool transposed>
void load_matrices(uint32_t (&r)[4], size_t row,
                   const grid::Source& where = grid::Source::current()) {
  if (row % 16 != 0) grid::fault("a misaligned row of a matrix", where);
  grid::exchange(0xffffffff, &row, sizeof row, where);
  size_t rows[32];
  for (unsigned l = 0; l < 32; ++l) std::memcpy(&rows[l], grid::exchanged(l, where), sizeof row);
  unsigned lane = grid::now().thread % 32, g = lane / 4, t = lane % 4;
  for (unsigned i = 0; i < 4; ++i) {
    auto number = [&](unsigned from, unsigned column) {
      uint16_t bits;
      size_t at = rows[8 * i + from] + 2 * column;
      std::memcpy(&bits, grid::shared_readable(at, sizeof bits, where), sizeof bits);
      return uint32_t{bits};
    };
    r[i] = transposed ? number(2 * t, g) | number(2 * t + 1, g) << 16
                      : number(g, 2 * t) | number(g, 2 * t + 1) << 16;
  }
}
#endif

// A fragment of 16 rows and 32 bytes along k, or two of 8 rows, of an operand in shared memory
// whose lines are `pitch` numbers long and lie along k, or else along the rows. Its four matrices
// are (row, k), (row + 8, k), (row, k + 16 bytes), (row + 8, k + 16 bytes), or with the second and
// third exchanged.
template <Factor factor, bool left, bool along_k>
__device__ void take_fragment(uint32_t (&to)[4], size_t from, int pitch, int row, int step) {
  int lane = static_cast<int>(threadIdx.x % 32), matrix = lane / 8, line = lane % 8;
  int r = row + (left ? matrix % 2 : matrix / 2) * 8;
  int s = step + (left ? matrix / 2 : matrix % 2) * (16 / bytes_of(factor));
  int at = along_k ? (r + line) * pitch + s : (s + line) * pitch + r;
  load_matrices<!along_k>(to, from + static_cast<size_t>(at * bytes_of(factor)));
}

}  // namespace mt::cuda
