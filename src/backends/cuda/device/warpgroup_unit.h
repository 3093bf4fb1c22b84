// SPDX-License-Identifier: Apache-2.0
// Hopper's multiply-add for a warpgroup, which is 128 threads (wgmma): sums[64, columns] += a[64,
// K] b[K, columns], where a row of K numbers has 32 bytes: 16-bit floats, or float32 that have been
// rounded to TF32; both operands from shared memory, while the threads go on. Warp w of the group
// has rows 16 w to 16 w + 15; with g = lane / 4 and t = lane % 4, a lane holds in
//
//   sums[4 j .. 4 j + 3]  rows g, g, g + 8, g + 8 of columns 8 j + 2 t, 8 j + 2 t + 1, and again
//
// Operands are boxes as bulk copies bring them (bulk_copy.h): lines of 128 bytes, along k for as
// many rows as there are, or, of 16-bit floats alone, along the rows for 64 steps of k, and then
// another box for the next 64 rows. operand<along_k>(at, step) says where one begins, for
// multiply_group().
//
//   settle(a), settle(sums)   before begin_products(), what has been made in registers: no compiler
//                             makes it later
//   begin_products()          before the first product of some
//   multiply_group(sums, ...) `add`: or else the sums begin with it
//   multiply_registers(sums, a, ...)  the same; a lane holds of a what matrix_unit.h says, which
//                             must not change before the wait
//   commit_products()         those since the last time are a group
//   wait_for_products<n>()    all groups but the last n have read their operands and made their
//                             sums
//   take_products(sums)       after the last wait, before the sums are looked at
#pragma once

#include "backends/cuda/device/bulk_copy.h"
#include "backends/cuda/device/matrix_unit.h"

// In the simulator, and in the code for Hopper alone.
#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MT_ON_HOPPER 1
#else
#define MT_ON_HOPPER 0
#endif

namespace mt::cuda {

constexpr size_t most_hopper_bytes = 227 << 10;  // of a block
constexpr int most_hopper_registers = 512;       // of a thread of each warpgroup, together
constexpr int group_threads = 128, group_rows = 64, group_depth = 16;
constexpr size_t box_bytes = 64 * 128;  // of 64 lines
constexpr int group_depth_of(Factor factor) { return 32 / bytes_of(factor); }

// Beside the address: 1024 bytes from eight lines to the next eight, and, along the rows, how far
// from a box to the next; 1 in the last two bits says how vectors are exchanged.
template <bool along_k, size_t to_next_box = box_bytes, int bytes_each = 2>
__device__ uint64_t operand(size_t at, int step) {
  static_assert(along_k || bytes_each == 2);
  uint32_t begin = shared_address(at) + static_cast<uint32_t>(step) * (along_k ? bytes_each : 128);
  uint64_t next_box = along_k ? 1 : to_next_box / 16, next_lines = 1024 / 16;
  return (begin & 0x3ffff) >> 4 | next_box << 16 | next_lines << 32 | uint64_t{1} << 62;
}
#ifdef __CUDACC__
template <int count>
__device__ void settle(float (&sums)[count]) {
  MT_UNROLL for (int i = 0; i < count; ++i) asm volatile("" : "+f"(sums[i]));
}
template <int count>
__device__ void settle(uint32_t (&a)[count][4]) {
  MT_UNROLL for (int i = 0; i < 4 * count; ++i) asm volatile("" : "+r"(a[i / 4][i % 4]));
}
__device__ inline void begin_products() {
  asm volatile("wgmma.fence.sync.aligned;" : : : "memory");
}
__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
template <int n>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" : : "n"(n) : "memory");
}
template <int count>
__device__ void take_products(float (&sums)[count]) {
  MT_UNROLL for (float& sum : sums) asm volatile("" : "+f"(sum) : : "memory");
}

// The registers by their numbers, and as operands.
#define MT_FIRST_32                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MT_FIRST_64                                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MT_SECOND_64                                                                             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MT_8(i)                                                                               \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
      "+f"(d[i + 6]), "+f"(d[i + 7])
#define MT_64(i)                                                                              \
  MT_8(i), MT_8(i + 8), MT_8(i + 16), MT_8(i + 24), MT_8(i + 32), MT_8(i + 40), MT_8(i + 48), \
      MT_8(i + 56)
#define MT_32(i) MT_8(i), MT_8(i + 8), MT_8(i + 16), MT_8(i + 24)
// `across`: the operands that say whether a and b lie along the rows, which TF32 cannot.
#define MT_MULTIPLY(shape_and_types, registers, a_at, b_at, add_at, across, ...)               \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %" add_at                                       \
               ", 0; wgmma.mma_async.sync.aligned." shape_and_types " {" registers "}, %" a_at \
               ", %" b_at ", p, 1, 1" across "; }"                                             \
               : __VA_ARGS__                                                                   \
               : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(!a_along_k), "n"(!b_along_k))

template <Factor factor, bool a_along_k, bool b_along_k>
__device__ void multiply_group(float (&d)[32], uint64_t a, uint64_t b, bool add) {
  static_assert(factor != Factor::tf32);
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("m64n64k16.f32.bf16.bf16", MT_FIRST_32, "32", "33", "34", ", %35, %36", MT_32(0));
  } else {
    MT_MULTIPLY("m64n64k16.f32.f16.f16", MT_FIRST_32, "32", "33", "34", ", %35, %36", MT_32(0));
  }
}
template <Factor factor, bool a_along_k, bool b_along_k>
__device__ void multiply_group(float (&d)[64], uint64_t a, uint64_t b, bool add) {
  static_assert(factor != Factor::tf32 || (a_along_k && b_along_k));
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("m64n128k16.f32.bf16.bf16", MT_FIRST_64, "64", "65", "66", ", %67, %68", MT_64(0));
  } else if constexpr (factor == Factor::float16) {
    MT_MULTIPLY("m64n128k16.f32.f16.f16", MT_FIRST_64, "64", "65", "66", ", %67, %68", MT_64(0));
  } else {
    MT_MULTIPLY("m64n128k8.f32.tf32.tf32", MT_FIRST_64, "64", "65", "66", "", MT_64(0));
  }
}
template <Factor factor, bool a_along_k, bool b_along_k>
__device__ void multiply_group(float (&d)[128], uint64_t a, uint64_t b, bool add) {
  static_assert(factor != Factor::tf32 || (a_along_k && b_along_k));
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("m64n256k16.f32.bf16.bf16", MT_FIRST_64 ", " MT_SECOND_64, "128", "129", "130",
                ", %131, %132", MT_64(0), MT_64(64));
  } else if constexpr (factor == Factor::float16) {
    MT_MULTIPLY("m64n256k16.f32.f16.f16", MT_FIRST_64 ", " MT_SECOND_64, "128", "129", "130",
                ", %131, %132", MT_64(0), MT_64(64));
  } else {
    MT_MULTIPLY("m64n256k8.f32.tf32.tf32", MT_FIRST_64 ", " MT_SECOND_64, "128", "129", "130", "",
                MT_64(0), MT_64(64));
  }
}
#undef MT_MULTIPLY

#define MT_MULTIPLY(columns, type, registers, a_at, b_at, add_at, b_across_at, ...)              \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %" add_at                                         \
               ", 0; wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type         \
               " {" registers "}, {" a_at "}, %" b_at ", p, 1, 1, %" b_across_at "; }"           \
               : __VA_ARGS__                                                                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)), \
                 "n"(!b_along_k))

template <Factor factor, bool b_along_k>
__device__ void multiply_registers(float (&d)[32], const uint32_t (&a)[4], uint64_t b, bool add) {
  static_assert(factor != Factor::tf32);
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("64", "bf16", MT_FIRST_32, "%32, %33, %34, %35", "36", "37", "38", MT_32(0));
  } else {
    MT_MULTIPLY("64", "f16", MT_FIRST_32, "%32, %33, %34, %35", "36", "37", "38", MT_32(0));
  }
}
template <Factor factor, bool b_along_k>
__device__ void multiply_registers(float (&d)[64], const uint32_t (&a)[4], uint64_t b, bool add) {
  static_assert(factor != Factor::tf32);
  if constexpr (factor == Factor::bfloat16) {
    MT_MULTIPLY("128", "bf16", MT_FIRST_64, "%64, %65, %66, %67", "68", "69", "70", MT_64(0));
  } else {
    MT_MULTIPLY("128", "f16", MT_FIRST_64, "%64, %65, %66, %67", "68", "69", "70", MT_64(0));
  }
}
#undef MT_MULTIPLY
#undef MT_32
#undef MT_FIRST_32

// By all warps of a warpgroup: it needs at most so many registers from now on, and others may have
// them; or it waits till it has so many.
template <int count>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(count));
}
template <int count>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(count));
}
#undef MT_64
#undef MT_8
#undef MT_SECOND_64
#undef MT_FIRST_64
#else
// Simulated: what the unit reads and sums, it does when it is waited for and no sooner.
template <class T>
void settle(T&) {}
inline void begin_products(const grid::Source& where = grid::Source::current()) {
  grid::begin_products(where);
}
inline void commit_products() { grid::commit_products(); }
template <int n>
void wait_for_products(const grid::Source& where = grid::Source::current()) {
  grid::wait_for_products(n, where);
}
template <int count>
void take_products(float (&)[count]) {}
template <int count>
void give_registers() {}
template <int count>
void take_registers() {}

// The byte of the number in that row (or column) and step of an operand.
template <bool along_k, int bytes_each = 2>
size_t place_in_operand(uint64_t operand, int row, int step) {
  auto field = [&](int bit) { return static_cast<size_t>(operand >> bit & 0x3fff) << 4; };
  auto r = static_cast<size_t>(row), s = static_cast<size_t>(step);
  size_t in_lines = along_k ? r / 8 * field(32) + r % 8 * 128 + s * bytes_each
                            : r / 64 * field(16) + s / 8 * field(32) + s % 8 * 128 + r % 64 * 2;
  return grid::swizzled(field(0) + in_lines);
}

// What a lane does: left[2][depth] are its rows' numbers, right(column, k) those of b.
template <int count, int depth, class Right>
void add_products(float* d, const float (&left)[2][depth], bool add, Right&& right) {
  int lane = static_cast<int>(grid::now().thread) % 32;
  for (int i = 0; i < count; i += i % 2 ? 3 : 1) {  // and the same column's i + 2
    int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    UnitSum upper(add ? d[i] : 0), lower(add ? d[i + 2] : 0);
    for (int k = 0; k < depth; ++k) {
      float factor = right(column, k);
      upper.add(left[0][k], factor);
      lower.add(left[1][k], factor);
    }
    d[i] = upper.value();
    d[i + 2] = lower.value();
  }
}
template <Factor factor>
float shared_number(size_t at, const grid::Source& where) {
  uint32_t bits = 0;
  std::memcpy(&bits, grid::shared_bytes(at), bytes_of(factor));
  return factor_of<factor>(bits, where);
}

template <Factor factor, bool a_along_k, bool b_along_k, int count>
void multiply_group(float (&sums)[count], uint64_t a, uint64_t b, bool add,
                    const grid::Source& where = grid::Source::current()) {
  constexpr int bytes_each = bytes_of(factor), depth = group_depth_of(factor);
  grid::begin_product(
      sums, count,
      [=](float* d) {
        int thread = static_cast<int>(grid::now().thread) % group_threads, lane = thread % 32;
        int first = thread / 32 * 16, row = first + lane / 4;
        auto of_a = [&](int r, int k) { return place_in_operand<a_along_k, bytes_each>(a, r, k); };
        auto of_b = [&](int c, int k) { return place_in_operand<b_along_k, bytes_each>(b, c, k); };
        auto check = [&](size_t at) { grid::shared_readable(at, bytes_each, where); };
        // A warp reads its own rows and all columns; one lane says so for it.
        for (int k = 0; k < depth && lane == 0; ++k) {
          for (int r = 0; r < 16; ++r) check(of_a(first + r, k));
          for (int c = 0; c < 2 * count; ++c) check(of_b(c, k));
        }
        float left[2][depth];
        for (int k = 0; k < depth; ++k) {
          left[0][k] = shared_number<factor>(of_a(row, k), where);
          left[1][k] = shared_number<factor>(of_a(row + 8, k), where);
        }
        add_products<count>(d, left, add, [&](int column, int k) {
          return shared_number<factor>(of_b(column, k), where);
        });
      },
      where);
}

template <Factor factor, bool b_along_k, int count>
void multiply_registers(float (&sums)[count], const uint32_t (&a)[4], uint64_t b, bool add,
                        const grid::Source& where = grid::Source::current()) {
  // Four lanes have a row between them.
  grid::exchange(0xffffffff, a, sizeof a, where);
  uint32_t held[4][4];
  unsigned thread = grid::now().thread % 32;
  for (unsigned t = 0; t < 4; ++t) {
    std::memcpy(held[t], grid::exchanged(thread / 4 * 4 + t, where), sizeof held[t]);
  }
  const uint32_t* own = a;
  grid::begin_product(
      sums, count,
      [=](float* d) {
        unsigned lane = grid::now().thread % 32;
        if (std::memcmp(own, held[lane % 4], sizeof held[0]) != 0) {
          grid::fault("an operand in registers that changes while a product is under way", where);
        }
        for (int k = 0; k < group_depth && lane == 0; ++k) {
          for (int c = 0; c < 2 * count; ++c) {
            grid::shared_readable(place_in_operand<b_along_k>(b, c, k), 2, where);
          }
        }
        float left[2][group_depth];
        for (unsigned k = 0; k < group_depth; ++k) {
          for (unsigned below = 0; below < 2; ++below) {
            uint32_t pair = held[k % 8 / 2][below + k / 8 * 2];
            left[below][k] = factor_of<factor>(pair >> 16 * (k % 2), where);
          }
        }
        add_products<count>(d, left, add, [&](int column, int k) {
          return shared_number<factor>(place_in_operand<b_along_k>(b, column, k), where);
        });
      },
      where);
}
#endif

}  // namespace mt::cuda
