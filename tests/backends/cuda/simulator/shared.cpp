// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/simulator/shared.h"

#include <cstring>
#include <vector>

#include "backends/cuda/simulator/clocks.h"
#include "backends/cuda/simulator/scheduler.h"

namespace grid {
namespace {

// A copy that is under way.
struct Copy {
  size_t offset, bytes;
  uint32_t group;
  char data[16];
};
struct Copies {
  std::vector<Copy> under_way;
  uint32_t groups = 0;  // that are complete
  Source where;
};

std::vector<char> data;
std::vector<bool> written;
std::vector<Accesses> accesses;
std::vector<ClockedAccesses> clocked;  // instead, where clocks run
std::vector<Copies> of_thread;

Copies& own_copies() { return of_thread[now().thread]; }

template <bool writes>
void track(size_t offset, size_t bytes, const Source& where) {
  const Moment moment = now();
  for (size_t i = offset; i < offset + bytes; i += 2) {
    if (clocks_run()) {
      writes ? clocked[i].write(moment, where) : clocked[i].read(moment, where);
    } else {
      writes ? accesses[i].write(moment, nullptr, where) : accesses[i].read(moment, nullptr, where);
    }
  }
}

}  // namespace

void start_shared(size_t bytes, unsigned threads) {
  data.assign(bytes, '\xff');
  written.assign(bytes, false);
  accesses.assign(bytes, {});
  of_thread.resize(threads);
  for (Copies& copies : of_thread) {
    copies.under_way.clear();
    copies.groups = 0;
  }
}

void end_copies(unsigned thread) {
  const Copies& copies = of_thread[thread];
  if (!copies.under_way.empty()) fault("ends while copies are under way", copies.where);
}

const void* shared_readable(size_t offset, size_t bytes, const Source& where) {
  if (offset + bytes > data.size()) fault("reads beyond shared memory", where);
  for (size_t i = 0; i < bytes; ++i) {
    if (!written[offset + i]) fault("reads shared memory that nothing has written", where);
  }
  track<false>(offset, bytes, where);
  return data.data() + offset;
}

void* shared_writable(size_t offset, size_t bytes, const Source& where) {
  if (offset + bytes > data.size()) fault("writes beyond shared memory", where);
  for (size_t i = 0; i < bytes; ++i) written[offset + i] = true;
  track<true>(offset, bytes, where);
  return data.data() + offset;
}

void begin_copy(size_t offset, const void* source, size_t bytes, const Source& where) {
  Copies& own = own_copies();
  Copy copy{offset, bytes, own.groups, {}};
  if (source) std::memcpy(copy.data, source, bytes);
  if (offset % bytes != 0) fault("a misaligned copy", where);
  begin_arrival(offset, bytes, where);
  own.where = where;
  own.under_way.push_back(copy);
}

void commit_copies() { ++own_copies().groups; }

void wait_for_copies(unsigned groups_left, const Source& where) {
  Copies& own = own_copies();
  size_t arrived = 0;
  for (; arrived < own.under_way.size(); ++arrived) {
    const Copy& copy = own.under_way[arrived];
    if (copy.group + groups_left >= own.groups) break;
    std::memcpy(shared_writable(copy.offset, copy.bytes, where), copy.data, copy.bytes);
  }
  own.under_way.erase(own.under_way.begin(),
                      own.under_way.begin() + static_cast<std::ptrdiff_t>(arrived));
}

void track_by_clocks() {
  if (clocks_run()) return;
  start_clocks(static_cast<unsigned>(of_thread.size()));
  clocked.assign(data.size(), {});
}

void begin_arrival(size_t offset, size_t bytes, const Source& where) {
  shared_writable(offset, bytes, where);
  for (size_t i = 0; i < bytes; ++i) written[offset + i] = false;
}

void settle(size_t offset, const void* from, size_t bytes, const Moment& by) {
  std::memcpy(data.data() + offset, from, bytes);
  for (size_t i = offset; i < offset + bytes; ++i) {
    written[i] = true;
    clocked[i].writer = by;
  }
}

const char* shared_bytes(size_t offset) { return data.data() + offset; }

}  // namespace grid
