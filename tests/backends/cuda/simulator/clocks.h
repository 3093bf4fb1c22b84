// SPDX-License-Identifier: Apache-2.0
// Vector clocks: what of the block's other threads' deeds a thread's own are ordered after. They
// run from the first arrival barrier of a block on, which orders some threads and not others; till
// then the counted barriers of a Moment say all there is to know.
//
// A thread's deeds between two releases have one number, its epoch. Beside the block's threads
// those have a place whose deeds arrive by themselves: one for each arrival barrier.
#pragma once

#include <vector>

#include "backends/cuda/simulator/memory.h"

namespace grid {

constexpr unsigned first_carrier = 1024, most_carriers = 64;
using Clock = std::vector<uint32_t>;

void start_clocks(unsigned threads);
void stop_clocks();
bool clocks_run();

// 0 while no clocks run.
uint32_t epoch_of(unsigned thread);
// Whether what the thread does now is ordered after the deed.
bool knows(unsigned thread, const Moment& deed);

// What the thread has done and knows of goes into `to`; what it does from now on is later.
void release(unsigned thread, Clock* to);
// What is in `from` is known to the thread.
void acquire(unsigned thread, const Clock& from);
// Each of them knows what the others have done.
void meet(const std::vector<unsigned>& threads);

// The accesses to one place of shared memory, while clocks run.
struct ClockedAccesses {
  Moment writer;
  std::vector<Moment> readers;  // since then, each thread's last
  void read(const Moment& now, const Source& where);
  void write(const Moment& now, const Source& where);
};

}  // namespace grid
