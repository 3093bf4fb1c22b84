// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/simulator/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/cuda/simulator/clocks.h"
#include "backends/cuda/simulator/scheduler.h"

namespace grid {

size_t memory_limit = size_t{2} << 30;

namespace {

constexpr uint32_t warp = 32;
constexpr size_t most_part = 16;

std::string at(const Moment& moment) {
  return "block " + std::to_string(moment.block) + " thread " + std::to_string(moment.thread);
}

// One block of memory from the device.
struct Mapping {
  size_t bytes;
  std::unique_ptr<char[]> data;
};
// What has been handed out of it.
struct Range {
  uintptr_t begin;
  size_t bytes;
  char* data;
  std::vector<bool> written;
  // For each byte; fresh pages are zero and come into being when touched. Each part has one, of as
  // many bytes as divide all accesses so far.
  Accesses* accesses;
  size_t part = most_part;
  uint64_t launch = 0;  // that accessed it last

  Range(uintptr_t address, size_t size, char* where) : begin(address), bytes(size), data(where) {
    written.resize(size);
    void* pages = mmap(nullptr, size * sizeof(Accesses) + 1, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    accesses = static_cast<Accesses*>(pages);
  }
  ~Range() { munmap(accesses, bytes * sizeof(Accesses) + 1); }
  Range(const Range&) = delete;

  template <class F>
  void for_each_part(size_t offset, size_t size, const Moment& now, F&& f) {
    for (; part > 1 && (offset | size) % part != 0; part /= 2) {
      if (launch == now.launch) split();
    }
    launch = now.launch;
    for (size_t i = offset; i < offset + size; i += part) f(accesses[i]);
  }

 private:
  void split() {
    for (size_t i = 0, half = part / 2; i + half < bytes; i += part) {
      if (!accesses[i].none()) accesses[i + half] = accesses[i];
    }
  }
};

std::map<uintptr_t, Mapping> mappings;
std::map<uintptr_t, std::unique_ptr<Range>> ranges;
std::mutex host_mutex;    // a launch holds it from beginning to end
Range* latest = nullptr;  // most accesses are near the one before
size_t allocated = 0;

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

// The entry that begins at or before the address.
template <class Map>
typename Map::mapped_type* below(Map& map, uintptr_t address) {
  auto next = map.upper_bound(address);
  return next == map.begin() ? nullptr : &std::prev(next)->second;
}

Range& range_of(const void* address, size_t bytes, const Source& where) {
  uintptr_t first = number(address);
  auto within = [&](const Range* range) {
    return range && first >= range->begin && first - range->begin <= range->bytes &&
           bytes <= range->bytes - (first - range->begin);
  };
  if (within(latest)) return *latest;
  std::unique_ptr<Range>* found = below(ranges, first);
  if (!found || !within(found->get())) {
    std::string what = "access to " + std::to_string(bytes) + " bytes outside of all memory";
    if (found && first >= (*found)->begin) {
      what += ", " + std::to_string(first - (*found)->begin) + " bytes into a block of " +
              std::to_string((*found)->bytes);
    }
    fault(what, where);
  }
  latest = found->get();
  return *latest;
}

}  // namespace

bool ordered(const Moment& before, const Moment& now) {
  if (before.launch != now.launch) return true;
  if (before.block != now.block) return false;
  if (before.thread == now.thread || before.barriers < now.barriers) return true;
  if (before.thread / warp == now.thread / warp && before.warp_barriers < now.warp_barriers) {
    return true;
  }
  return knows(now.thread, before);
}

void refuse_race(const char* does, const Moment& other, const char* did, const Source& where) {
  fault("a race: " + std::string(does) + " what " + at(other) + " " + did +
            " without a barrier in between",
        where);
}

std::unique_lock<std::mutex> lock_device() { return std::unique_lock(host_mutex); }

void Accesses::read(const Moment& now, const void*, const Source& where) {
  if (!ordered(writer_, now)) refuse_race("reads", writer_, "wrote", where);
  const bool first = reader_.launch != now.launch;
  if (first || all_before(now)) {
    several_readers_ = other_warps_ = other_blocks_ = false;
  } else {
    const bool here = reader_.block == now.block;
    several_readers_ |= !here || reader_.thread != now.thread;
    other_warps_ |= !here || reader_.thread / warp != now.thread / warp;
    other_blocks_ |= !here;
  }
  reader_ = now;
}

void Accesses::write(const Moment& now, const void*, const Source& where) {
  if (!ordered(writer_, now)) refuse_race("writes", writer_, "wrote", where);
  const bool several = several_readers_ && reader_.launch == now.launch && !all_before(now);
  if (several || !ordered(reader_, now)) refuse_race("writes", reader_, "read", where);
  writer_ = now;
}

// Those before a barrier are ordered with all that follows, whoever comes after it.
bool Accesses::all_before(const Moment& now) const {
  if (other_blocks_ || reader_.block != now.block) return false;
  const bool same_warp = !other_warps_ && reader_.thread / warp == now.thread / warp;
  return reader_.barriers < now.barriers ||
         (same_warp && reader_.warp_barriers < now.warp_barriers);
}

void* allocate(size_t bytes) {
  auto lock = lock_device();
  bytes = (bytes + 4095) / 4096 * 4096;
  if (bytes > memory_limit || allocated > memory_limit - bytes) return nullptr;
  void* address = mmap(nullptr, bytes ? bytes : 4096, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  mappings[number(address)] = {bytes, std::unique_ptr<char[]>(new char[bytes])};
  allocated += bytes;
  return address;
}

void release(void* address) {
  auto lock = lock_device();
  auto found = mappings.find(number(address));
  if (found == mappings.end()) std::abort();
  allocated -= found->second.bytes;
  munmap(address, found->second.bytes ? found->second.bytes : 4096);
  mappings.erase(found);
}

void hand_out(void* address, size_t bytes) {
  auto lock = lock_device();
  auto next = mappings.upper_bound(number(address));
  if (next == mappings.begin()) std::abort();
  auto& [begin, mapping] = *std::prev(next);
  size_t offset = number(address) - begin;
  if (offset + bytes > mapping.bytes) std::abort();
  char* data = mapping.data.get() + offset;
  std::memset(data, 0xff, bytes);  // NaN in every floating type, far out of range as an index
  ranges[number(address)] = std::make_unique<Range>(number(address), bytes, data);
  latest = nullptr;
}

void take_back(void* address) {
  auto lock = lock_device();
  latest = nullptr;
  if (!ranges.erase(number(address))) std::abort();
}

void* exposed(void* address, size_t bytes, bool written) {
  if (bytes == 0) return address;
  auto lock = lock_device();
  Range& range = range_of(address, bytes, Source::current());
  size_t offset = number(address) - range.begin;
  for (size_t i = 0; i < bytes; ++i) {
    if (written) {
      range.written[offset + i] = true;
    } else if (!range.written[offset + i]) {
      fault("a kernel is given memory that nothing has written", Source::current());
    }
  }
  return range.data + offset;
}

void copy_in(void* address, const void* from, size_t bytes) {
  if (bytes == 0) return;
  auto lock = lock_device();
  Range& range = range_of(address, bytes, Source::current());
  size_t offset = number(address) - range.begin;
  std::memcpy(range.data + offset, from, bytes);
  for (size_t i = 0; i < bytes; ++i) range.written[offset + i] = true;
}

void copy_out(void* to, const void* address, size_t bytes) {
  if (bytes == 0) return;
  auto lock = lock_device();
  Range& range = range_of(address, bytes, Source::current());
  std::memcpy(to, range.data + (number(address) - range.begin), bytes);
}

const void* constant(const void* address, size_t bytes, const Source& where) {
  Range& range = range_of(address, bytes, where);
  return range.data + (number(address) - range.begin);
}

const void* readable(const void* address, size_t bytes, const Source& where) {
  Range& range = range_of(address, bytes, where);
  size_t offset = number(address) - range.begin;
  if (number(address) % bytes != 0) fault("a misaligned read", where);
  for (size_t i = 0; i < bytes; ++i) {
    if (!range.written[offset + i]) fault("reads memory that nothing has written", where);
  }
  const Moment moment = now();
  range.for_each_part(offset, bytes, moment,
                      [&](Accesses& part) { part.read(moment, address, where); });
  return range.data + offset;
}

void* writable(void* address, size_t bytes, const Source& where) {
  Range& range = range_of(address, bytes, where);
  size_t offset = number(address) - range.begin;
  if (number(address) % bytes != 0) fault("a misaligned write", where);
  for (size_t i = 0; i < bytes; ++i) range.written[offset + i] = true;
  const Moment moment = now();
  range.for_each_part(offset, bytes, moment,
                      [&](Accesses& part) { part.write(moment, address, where); });
  return range.data + offset;
}

}  // namespace grid
