// SPDX-License-Identifier: Apache-2.0
// Arrival barriers in shared memory (mbarrier), from Hopper on. A phase of one ends when as many
// threads have arrived as it counts, and as many bytes as they have said they expect; then the next
// begins. Who waits names the phase by its parity: 0 for the first, 1 for the second, and so on;
// the phase before the first counts as ended. What was done before an arrival is seen after the
// wait.
//
//   make_arrivals(at, count)      a barrier of 8 bytes at that byte of the block's shared memory
//   publish_arrivals()            by who has made them, before a barrier of the block
//   arrive(at)
//   arrive_expecting(at, bytes)   which bulk copies bring (bulk_copy.h)
//   wait_for_arrivals(at, parity)
#pragma once

#include "backends/cuda/device/grid.h"

namespace mt::cuda {

#ifdef __CUDACC__
__device__ inline uint32_t shared_address(size_t at) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared<char>(at)));
}
__device__ inline void make_arrivals(size_t at, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(at)), "r"(count)
               : "memory");
}
// For the unit that copies, too.
__device__ inline void publish_arrivals() {
  asm volatile("fence.mbarrier_init.release.cluster;" : : : "memory");
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
__device__ inline void arrive(size_t at) {
  asm volatile("{ .reg .b64 phase; mbarrier.arrive.shared::cta.b64 phase, [%0]; }"
               :
               : "r"(shared_address(at))
               : "memory");
}
__device__ inline void arrive_expecting(size_t at, unsigned bytes) {
  asm volatile("{ .reg .b64 phase; mbarrier.arrive.expect_tx.shared::cta.b64 phase, [%0], %1; }"
               :
               : "r"(shared_address(at)), "r"(bytes)
               : "memory");
}
__device__ inline void wait_for_arrivals(size_t at, unsigned parity) {
  uint32_t ended = 0;
  while (!ended) {
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
        "selp.u32 %0, 1, 0, p; }"
        : "=r"(ended)
        : "r"(shared_address(at)), "r"(parity)
        : "memory");
  }
}
#else
inline uint32_t shared_address(size_t at) { return static_cast<uint32_t>(at); }
inline void make_arrivals(size_t at, unsigned count,
                          const grid::Source& where = grid::Source::current()) {
  grid::make_arrivals(at, count, where);
}
inline void publish_arrivals() {}
inline void arrive(size_t at, const grid::Source& where = grid::Source::current()) {
  grid::arrive_at(at, where);
}
inline void arrive_expecting(size_t at, unsigned bytes,
                             const grid::Source& where = grid::Source::current()) {
  grid::expect_bytes(at, bytes, where);
  grid::arrive_at(at, where);
}
inline void wait_for_arrivals(size_t at, unsigned parity,
                              const grid::Source& where = grid::Source::current()) {
  grid::wait_for_arrivals(at, parity, where);
}
#endif

// A place in a ring of stages, and how often it has been gone around.
template <int stages>
struct Turn {
  int stage = 0;
  unsigned parity = 0;
  __device__ void next() {
    if (++stage == stages) stage = 0, parity ^= 1;
  }
};

}  // namespace mt::cuda
