// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/simulator/clocks.h"

#include <algorithm>

namespace grid {
namespace {

std::vector<Clock> clocks;  // of the threads; none while they do not run

void join(Clock* to, const Clock& from) {
  for (size_t i = 0; i < to->size(); ++i) (*to)[i] = std::max((*to)[i], from[i]);
}

}  // namespace

void start_clocks(unsigned threads) {
  clocks.assign(threads, Clock(first_carrier + most_carriers, 0));
  for (unsigned t = 0; t < threads; ++t) clocks[t][t] = 1;
}
void stop_clocks() { clocks.clear(); }
bool clocks_run() { return !clocks.empty(); }

uint32_t epoch_of(unsigned thread) { return clocks_run() ? clocks[thread][thread] : 0; }
bool knows(unsigned thread, const Moment& deed) {
  return clocks_run() && clocks[thread][deed.thread] >= deed.epoch;
}

void release(unsigned thread, Clock* to) {
  Clock& own = clocks[thread];
  to->resize(own.size(), 0);
  join(to, own);
  ++own[thread];
}
void acquire(unsigned thread, const Clock& from) {
  if (!from.empty()) join(&clocks[thread], from);
}
void meet(const std::vector<unsigned>& threads) {
  if (!clocks_run()) return;
  Clock all;
  for (unsigned t : threads) release(t, &all);
  for (unsigned t : threads) acquire(t, all);
}

void ClockedAccesses::read(const Moment& now, const Source& where) {
  if (!ordered(writer, now)) refuse_race("reads", writer, "wrote", where);
  for (Moment& reader : readers) {
    if (reader.thread == now.thread) {
      reader = now;
      return;
    }
  }
  readers.push_back(now);
}
void ClockedAccesses::write(const Moment& now, const Source& where) {
  if (!ordered(writer, now)) refuse_race("writes", writer, "wrote", where);
  for (const Moment& reader : readers) {
    if (!ordered(reader, now)) refuse_race("writes", reader, "read", where);
  }
  readers.clear();
  writer = now;
}

}  // namespace grid
