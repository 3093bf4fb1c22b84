// SPDX-License-Identifier: Apache-2.0
// Arrays that begin with a line of memory, as the libraries' own allocators place them.
#ifndef BENCHMARKS_PEERS_LINES_H_
#define BENCHMARKS_PEERS_LINES_H_

#include <cstddef>
#include <new>
#include <vector>

template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};

  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), line)); }
  void deallocate(T* array, size_t) { ::operator delete(array, line); }
  bool operator==(const LineAllocator&) const { return true; }
};

template <class T>
using Lines = std::vector<T, LineAllocator<T>>;

#endif
