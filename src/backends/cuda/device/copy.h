// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that go on while a thread does other things (cp.async).
//
//   copy_async(to, i, from, j, within)  to[i] = from[j], or 0 where it is not `within`
//   commit_copies()                     those since the last time are a group
//   wait_for_copies<n>()                all groups but the last n have arrived, for this thread;
//                                       for others after a barrier
#pragma once

#include "backends/cuda/device/grid.h"

namespace mt::cuda {

// What moves at once.
struct alignas(16) Vector {
  uint32_t words[4];
};

#ifdef __CUDACC__
template <class T>
__device__ void copy_async(T* to, int64_t i, const T* from, int64_t j, bool within) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  auto target = static_cast<uint32_t>(__cvta_generic_to_shared(to + i));
  const T* source = within ? from + j : from;
  int bytes = within ? static_cast<int>(sizeof(T)) : 0;
  if constexpr (sizeof(T) == 16) {  // past the first-level cache
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(target), "l"(source), "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :
                 : "r"(target), "l"(source), "n"(static_cast<int>(sizeof(T))), "r"(bytes)
                 : "memory");
  }
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int n>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory");
}
#else
// Simulated: what is copied arrives when it is waited for and no sooner.
template <class T>
void copy_async(Shared<T> to, int64_t i, const T* from, int64_t j, bool within,
                const grid::Source& where = grid::Source::current()) {
  const void* source = within ? grid::readable(from + j, sizeof(T), where) : nullptr;
  grid::begin_copy(to.place(i), source, sizeof(T), where);
}
inline void commit_copies() { grid::commit_copies(); }
template <int n>
void wait_for_copies(const grid::Source& where = grid::Source::current()) {
  grid::wait_for_copies(n, where);
}
#endif

}  // namespace mt::cuda
