// SPDX-License-Identifier: Apache-2.0
// Copies of whole boxes of an array to shared memory (cp.async.bulk.tensor), from Hopper on. One
// thread asks for one; a unit of its own finds the addresses, from a TensorMap that the host has
// made (driver.h), fills what lies beyond the array with zeros, and says at an arrival barrier how
// many bytes have come (arrival.h).
//
// A box is [1, lines, 64] numbers of 16 bits, or [1, lines, 32] of 32, which may be rounded to TF32
// on the way: lines of 128 bytes, eight of them in 1024 bytes, which it must begin at a multiple
// of. So that eight lines of one column lie in different banks,
// vector v of line l lies in the place of vector v ^ l % 8 (the 128-byte swizzle).
#pragma once

#include "backends/cuda/device/arrival.h"
#include "backends/cuda/driver/tensor_map.h"

namespace mt::cuda {

constexpr int box_line = 64;

#ifdef __CUDACC__
// The box that begins at [z, y, x] of the array.
__device__ inline void copy_box(size_t to, const TensorMap& map, int64_t x, int64_t y, int64_t z,
                                size_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4}], [%5];"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(static_cast<int>(x)), "r"(static_cast<int>(y)),
        "r"(static_cast<int>(z)), "r"(shared_address(barrier))
      : "memory");
}
// The same of an array of four dimensions, at [outer, z, y, x].
__device__ inline void copy_box(size_t to, const TensorMap& map, int64_t x, int64_t y, int64_t z,
                                int64_t outer, size_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3, %4, %5}], [%6];"
      :
      : "r"(shared_address(to)), "l"(&map), "r"(static_cast<int>(x)), "r"(static_cast<int>(y)),
        "r"(static_cast<int>(z)), "r"(static_cast<int>(outer)), "r"(shared_address(barrier))
      : "memory");
}
#else
inline void copy_box(size_t to, const TensorMap& map, int64_t x, int64_t y, int64_t z,
                     size_t barrier, const grid::Source& where = grid::Source::current()) {
  grid::copy_box(to, &map, {x, y, z}, barrier, where);
}
inline void copy_box(size_t to, const TensorMap& map, int64_t x, int64_t y, int64_t z,
                     int64_t outer, size_t barrier,
                     const grid::Source& where = grid::Source::current()) {
  grid::copy_box(to, &map, {x, y, z, outer}, barrier, where);
}
#endif

}  // namespace mt::cuda
