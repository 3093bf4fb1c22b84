// SPDX-License-Identifier: Apache-2.0
// Memory of dead objects of one type, kept by a thread for the next ones.
#pragma once

#include <cstddef>
#include <new>

namespace mt {

template <class T, int most>
class FreeList {
 public:
  // Room for one object; throws std::bad_alloc.
  void* take() { return first_ ? pop() : ::operator new(sizeof(T), alignment); }
  void keep(void* memory) {
    if (count_ >= limit_) {
      ::operator delete(memory, alignment);
      return;
    }
    *static_cast<void**>(memory) = first_;
    first_ = memory;
    ++count_;
  }

  // Nothing is kept before open() or after close(). Whoever opens the list ensures that close()
  // is called when the thread ends.
  bool unopened() const { return limit_ < 0; }
  void open() { limit_ = kept; }
  void close() {
    limit_ = 0;
    while (first_) ::operator delete(pop(), alignment);
  }

 private:
  static constexpr std::align_val_t alignment{alignof(T)};
#ifdef __SANITIZE_ADDRESS__
  static constexpr int kept = 0;  // so that it sees uses after release
#else
  static constexpr int kept = most;
#endif
  void* pop() {
    void* memory = first_;
    first_ = *static_cast<void**>(memory);
    --count_;
    return memory;
  }

  void* first_ = nullptr;
  int count_ = 0;
  int limit_ = -1;
};

}  // namespace mt
