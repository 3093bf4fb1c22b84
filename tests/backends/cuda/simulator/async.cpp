// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/simulator/async.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "backends/cuda/simulator/clocks.h"
#include "backends/cuda/simulator/scheduler.h"
#include "backends/cuda/simulator/shared.h"

namespace grid {
namespace {

struct Arrivals {
  unsigned count, left;
  int64_t bytes = 0;  // still to come in this phase
  uint32_t phase = 0;
  unsigned carrier;  // whose deeds are what arrives here (clocks.h)
  Moment made;
  Clock gathered, complete;  // in this phase, and in those before
  std::vector<unsigned> waiting;
};
std::map<size_t, Arrivals> barriers;

struct Product {
  std::function<void(float*)> make;
  uint32_t group;
  float* sums;
};
// Sums of which the thread sees none till it waits.
struct Held {
  std::vector<float> real;
  unsigned products = 0;  // that are under way
};
struct Products {
  std::deque<Product> under_way;
  uint32_t groups = 0;  // that are complete
  std::map<float*, Held> held;
  bool begun = false;  // since registers were the thread's own
  Source where;
};
std::map<unsigned, Products> products;  // by thread

// As bulk copies do it: a tie to even, what is not finite as it is.
void round_to_tf32(char* number) {
  uint32_t bits;
  std::memcpy(&bits, number, sizeof bits);
  if ((bits & 0x7f800000) == 0x7f800000) return;
  bits += 0xfff + (bits >> 13 & 1);
  bits &= ~uint32_t{0x1fff};
  std::memcpy(number, &bits, sizeof bits);
}

Arrivals& barrier_at(size_t at, const Source& where) {
  auto found = barriers.find(at);
  if (found == barriers.end()) fault("an arrival barrier that nobody has made", where);
  if (!ordered(found->second.made, now())) {
    fault("a race: an arrival barrier that is being made", where);
  }
  return found->second;
}

void end_phase(Arrivals& barrier) {
  if (barrier.left > 0 || barrier.bytes != 0) return;
  barrier.left = barrier.count;
  ++barrier.phase;
  barrier.complete = barrier.gathered;
  for (unsigned thread : barrier.waiting) wake(thread);
  barrier.waiting.clear();
}

}  // namespace

void start_async() {
  barriers.clear();
  products.clear();
}

void end_async() {
  for (const auto& [thread, own] : products) {
    if (!own.under_way.empty()) fault("a thread ends while products are under way", own.where);
  }
}

void make_arrivals(size_t at, unsigned count, const Source& where) {
  if (at % 8 != 0) fault("a misaligned arrival barrier", where);
  if (barriers.size() == most_carriers) fault("too many arrival barriers", where);
  track_by_clocks();
  shared_writable(at, 8, where);
  Arrivals barrier{};
  barrier.count = barrier.left = count;
  barrier.carrier = first_carrier + static_cast<unsigned>(barriers.size());
  barrier.made = now();
  if (!barriers.emplace(at, barrier).second) fault("an arrival barrier made twice", where);
}

void arrive_at(size_t at, const Source& where) {
  Arrivals& barrier = barrier_at(at, where);
  if (barrier.left == 0) fault("more arrivals than the barrier counts", where);
  release(now().thread, &barrier.gathered);
  --barrier.left;
  end_phase(barrier);
}

void expect_bytes(size_t at, size_t bytes, const Source& where) {
  barrier_at(at, where).bytes += static_cast<int64_t>(bytes);
}

void wait_for_arrivals(size_t at, unsigned parity, const Source& where) {
  Arrivals& barrier = barrier_at(at, where);
  while ((barrier.phase & 1) == parity) {
    barrier.waiting.push_back(now().thread);
    sleep("waits for arrivals that do not come", where);
  }
  acquire(now().thread, barrier.complete);
}

void copy_box(size_t to, const void* map, const std::vector<int64_t>& first, size_t at,
              const Source& where) {
  Map box;
  std::memcpy(&box, map, sizeof box);
  if (to % 1024 != 0) fault("a misaligned bulk copy", where);
  Arrivals& barrier = barrier_at(at, where);
  if (first.size() != static_cast<size_t>(box.rank)) fault("a box of other dimensions", where);
  const int64_t lines = box.lines;
  auto bytes = static_cast<size_t>(lines * 128);
  std::vector<char> moved(bytes, 0);
  for (int64_t line = 0; line < lines; ++line) {
    for (int64_t i = 0; i < 128 / box.strides[0]; ++i) {
      const char* from = box.data;
      bool within = true;
      for (size_t d = 0; d < first.size(); ++d) {
        int64_t x = first[d] + (d == 0 ? i : d == 1 ? line : 0);
        within = within && x >= 0 && x < box.sizes[d];
        from += x * box.strides[d];
      }
      if (!within) continue;
      const auto each = static_cast<size_t>(box.strides[0]);
      char* place =
          &moved[swizzled(static_cast<size_t>(line * 128) + static_cast<size_t>(i) * each)];
      std::memcpy(place, readable(from, each, where), each);
      if (each == 4) round_to_tf32(place);
    }
  }
  begin_arrival(to, bytes, where);
  Moment by = now();
  by.thread = barrier.carrier;
  by.barriers = std::numeric_limits<uint32_t>::max();  // no other barrier makes it known
  Clock sender;
  release(now().thread, &sender);
  begin_work([=, &barrier, moved = std::move(moved), sender = std::move(sender)] {
    Moment deed = by;
    deed.epoch = barrier.phase + 1;
    settle(to, moved.data(), bytes, deed);
    barrier.gathered.resize(sender.size(), 0);
    for (size_t i = 0; i < sender.size(); ++i) {
      barrier.gathered[i] = std::max(barrier.gathered[i], sender[i]);
    }
    barrier.gathered[barrier.carrier] = deed.epoch;
    barrier.bytes -= static_cast<int64_t>(bytes);
    if (barrier.left == 0 && barrier.bytes < 0) fault("more bytes arrive than are expected", where);
    end_phase(barrier);
  });
}

void begin_products(const Source& where) {
  products[now().thread].begun = true;
  exchange(0xffffffff, nullptr, 0, where);
}
void begin_product(float* sums, size_t count, std::function<void(float*)> make,
                   const Source& where) {
  Products& own = products[now().thread];
  if (!own.begun) fault("a product that begin_products() does not come before", where);
  Held& held = own.held[sums];
  if (held.products++ == 0) {
    held.real.assign(sums, sums + count);
    std::fill(sums, sums + count, std::numeric_limits<float>::quiet_NaN());
  }
  own.where = where;
  own.under_way.push_back({std::move(make), own.groups, sums});
}
void commit_products() { ++products[now().thread].groups; }
void wait_for_products(unsigned groups_left, const Source& where) {
  Products& own = products[now().thread];
  own.begun = false;
  while (!own.under_way.empty() && own.under_way.front().group + groups_left < own.groups) {
    const Product product = std::move(own.under_way.front());
    own.under_way.pop_front();
    Held& held = own.held[product.sums];
    product.make(held.real.data());
    if (--held.products > 0) continue;
    std::copy(held.real.begin(), held.real.end(), product.sums);
    own.held.erase(product.sums);
  }
  exchange(0xffffffff, nullptr, 0, where);
}

}  // namespace grid
