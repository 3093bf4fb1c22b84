// SPDX-License-Identifier: Apache-2.0
// What works by itself while threads go on: arrival barriers, bulk copies that arrive at them, and
// products of warpgroups. It ends at a moment of the scheduler's choosing, or as late as it may.
#pragma once

#include <functional>
#include <vector>

#include "backends/cuda/simulator/memory.h"

namespace grid {

void start_async();  // with a block
void end_async();    // with the last thread; faults when something is under way

// Arrival barriers (mbarrier), at a byte of shared memory.
void make_arrivals(size_t at, unsigned count, const Source& where);
void arrive_at(size_t at, const Source& where);
void expect_bytes(size_t at, size_t bytes, const Source& where);
void wait_for_arrivals(size_t at, unsigned parity, const Source& where);

// What a TensorMap of the simulated driver holds: an array of 16-bit numbers, or of float32 that
// become TF32, of three dimensions or four, and how many lines of 128 bytes one copy moves. The
// first dimension's stride is the size of a number.
struct Map {
  const char* data;
  int32_t rank;
  int64_t sizes[4], strides[4];  // in bytes
  int32_t lines;
};
// Copies a box whose lines have 128 bytes to shared memory, exchanging vectors of 16 bytes by the
// line (128-byte swizzle); what lies beyond the array is zero, and float32 are rounded to TF32, a
// tie to even. Its bytes arrive at `barrier`.
void copy_box(size_t to, const void* map, const std::vector<int64_t>& first, size_t barrier,
              const Source& where);
// The byte of shared memory at which what belongs to `at` lies.
inline size_t swizzled(size_t at) { return at ^ ((at >> 7 & 7) << 4); }

// The thread's sums, which are no one's till it waits: make(real) changes them, later. Others of
// its sums may be under way, too.
void begin_products(const Source& where);
void begin_product(float* sums, size_t count, std::function<void(float*)> make,
                   const Source& where);
void commit_products();
void wait_for_products(unsigned groups_left, const Source& where);

}  // namespace grid
