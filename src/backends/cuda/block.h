// SPDX-License-Identifier: Apache-2.0
// The block of device memory in which a plan's kernels find their descriptions. It is laid out
// once; before each run it is copied, with that run's addresses and numbers in their places, to the
// device in one piece.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/rounding.h"
#include "graph/node.h"

namespace mt::cuda {

class Block {
 public:
  // Appends a structure or an array and returns where it lies, in bytes from the beginning.
  template <class T>
  int64_t add(const T* values, size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 16);
    bytes_.resize(round_up(bytes_.size(), 16));
    size_t at = bytes_.size();
    bytes_.resize(at + count * sizeof(T));
    if (count) std::memcpy(bytes_.data() + at, values, count * sizeof(T));
    return static_cast<int64_t>(at);
  }
  template <class T>
  int64_t add(const std::vector<T>& values) {
    return add(values.data(), values.size());
  }
  template <class T>
  int64_t add(const T& value) {
    return add(&value, 1);
  }

  // The pointer at `at` is to show a place of this block, of a buffer or of the scratch memory.
  void show_block(int64_t at, int64_t place) { add_pointer(at, this_block, place); }
  void show_buffer(int64_t at, int buffer, int64_t byte) { add_pointer(at, buffer, byte); }
  void show_scratch(int64_t at, int64_t byte) { add_pointer(at, scratch, byte); }
  // The 16 bytes at `at` are an immediate.
  void take_immediate(int64_t at, int index) { immediates_.push_back({at, index}); }

  size_t bytes() const { return bytes_.size(); }

  // Writes the block for one run to host memory.
  void write(char* to, char* own_address, void* const* buffers, char* scratch_address,
             const Immediates* immediates) const {
    std::copy(bytes_.begin(), bytes_.end(), to);  // of a plan that launches nothing there are none
    for (const Pointer& pointer : pointers_) {
      char* base = pointer.base == this_block ? own_address
                   : pointer.base == scratch  ? scratch_address
                                              : static_cast<char*>(buffers[pointer.base]);
      base += pointer.byte;
      std::memcpy(to + pointer.at, &base, sizeof base);
    }
    for (const Immediate& immediate : immediates_) {
      std::memcpy(to + immediate.at, immediates[immediate.index].value, 16);
    }
  }

 private:
  static constexpr int this_block = -1, scratch = -2;
  struct Pointer {
    int64_t at;
    int base;
    int64_t byte;
  };
  struct Immediate {
    int64_t at;
    int index;
  };
  void add_pointer(int64_t at, int base, int64_t byte) { pointers_.push_back({at, base, byte}); }

  std::vector<char> bytes_;
  std::vector<Pointer> pointers_;
  std::vector<Immediate> immediates_;
};

}  // namespace mt::cuda
