// SPDX-License-Identifier: Apache-2.0
// A hash map from objects' addresses to numbers, for passes over nodes that cannot be marked
// because several threads may read them at once. All entries lie in one block of memory, which is
// kept from one pass to the next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mt {

class PointerIndex {
 public:
  struct Entry {
    const void* object;
    int64_t number;
  };
  struct Place {
    Entry* entry;  // valid until the next one is added
    bool is_new;
  };

  void clear() {
    // Shrink after small passes, so that they soon stop paying for a large one.
    if (8 * count_ < entries_.size() && entries_.size() > least)
      entries_.resize(entries_.size() / 2);
    std::fill(entries_.begin(), entries_.end(), Entry());
    count_ = 0;
  }

  // -1: it has none.
  int64_t find(const void* object) const {
    if (count_ == 0) return -1;
    const Entry& entry = entries_[place_of(object)];
    return entry.object ? entry.number : -1;
  }

  // The object's entry, with `number` if it is new.
  Place find_or_add(const void* object, int64_t number) {
    if (2 * count_ >= entries_.size()) grow();
    Entry& entry = entries_[place_of(object)];
    if (entry.object) return {&entry, false};
    entry = {object, number};
    ++count_;
    return {&entry, true};
  }

 private:
  static constexpr size_t least = 64;

  // Where the object is, or would be.
  size_t place_of(const void* object) const {
    size_t at = (reinterpret_cast<uintptr_t>(object) * 0x9E3779B97F4A7C15u) >> 32;
    while (true) {
      at &= entries_.size() - 1;
      if (!entries_[at].object || entries_[at].object == object) return at;
      ++at;
    }
  }

  void grow() {
    std::vector<Entry> old(entries_.empty() ? least : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.object) entries_[place_of(entry.object)] = entry;
    }
  }

  std::vector<Entry> entries_;  // a power of two, at most half of them taken
  size_t count_ = 0;
};

}  // namespace mt
