// SPDX-License-Identifier: Apache-2.0
// The one place that knows threads.
#pragma once

#include <cstdint>
#include <utility>

namespace mt::cpu {

int thread_count();
void set_thread_count(int count);  // 0: all cores that this process may use

namespace detail {
using Body = void (*)(void* context, int64_t begin, int64_t end);
void parallel(int64_t count, int64_t grain, Body body, void* context);
}  // namespace detail

// Calls body(begin, end) over disjoint ranges that cover [0, count). Runs serially, on this
// thread, when count is at most grain or when called from within a parallel range. Which range a
// thread gets must never influence a value. The body must not throw.
template <class F>
void parallel_for(int64_t count, int64_t grain, F&& body) {
  if (count <= 0) return;
  if (count <= grain) {
    body(int64_t{0}, count);
    return;
  }
  detail::parallel(
      count, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      &body);
}

}  // namespace mt::cpu
