// SPDX-License-Identifier: Apache-2.0
// Parallel loops: the one place that knows about threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rounding.h"

namespace mt::cpu {

int thread_count();
void set_thread_count(int count);  // 0: all cores that this process may use

namespace detail {
using Body = void (*)(void* context, int worker, int64_t begin, int64_t end);
void parallel(int64_t count, int64_t grain, int threads, Body body, void* context);

// Defined by pool.cpp or openmp.cpp, of which a build chooses one. run_team splits [0, count)
// evenly between at most `team` threads, including the caller, and each thread's part into at most
// `shares`, no more than most_shares, some of which others may take. It runs serially when called
// from within one of these threads, or if there are none.
constexpr int64_t most_shares = 1 << 12;
int available_threads();
void run_team(int64_t count, int team, int shares, Body body, void* context);
}  // namespace detail

// Calls body(worker, begin, end) over disjoint ranges that cover [0, count), each on one of at most
// `threads` workers, numbered from 0. A worker gets a few ranges, one after another, so that others
// can take some of them. Runs serially, on this thread, when count is at most grain or when called
// from within a parallel region. Which range a worker gets must never influence a value. The body
// must not throw.
template <class F>
void parallel_workers(int64_t count, int64_t grain, int threads, F&& body) {
  if (count <= 0) return;
  if (count <= grain) {
    body(0, int64_t{0}, count);
    return;
  }
  detail::parallel(
      count, grain, threads,
      [](void* context, int worker, int64_t begin, int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(worker, begin, end);
      },
      &body);
}

// The same for bodies that need no worker of their own: body(begin, end).
template <class F>
void parallel_for(int64_t count, int64_t grain, F&& body) {
  parallel_workers(count, grain, thread_count(),
                   [&](int, int64_t begin, int64_t end) { body(begin, end); });
}

// The same over at most as many ranges as there are threads, for bodies that do something for the
// whole range before they begin.
template <class F>
void parallel_shares(int64_t count, int64_t grain, F&& body) {
  const int64_t most = count / std::max<int64_t>(grain, 1) + 1;
  const int64_t shares = std::min<int64_t>(thread_count(), most);
  parallel_for(shares, 1, [&](int64_t begin, int64_t end) {
    begin = count * begin / shares;
    end = count * end / shares;
    if (begin < end) body(begin, end);
  });
}

// Calls body(item, worker) for every item, on one of at most `threads` workers, numbered from 0.
// Each worker has adjacent items of its own, the same ones each time if the threads are the
// library's, so that it finds its data in its caches. It takes them one by one, so that a slow core
// holds up the others for one item only.
template <class F>
void parallel_items(int64_t items, int threads, F&& body) {
  auto run = [&](int worker, int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) body(item, worker);
  };
  const int team = static_cast<int>(std::min<int64_t>(threads, items));
  if (team <= 1) return run(0, 0, items);
  const int64_t shares = std::min(divide_up<int64_t>(items, team), detail::most_shares);
  detail::run_team(
      items, team, static_cast<int>(shares),
      [](void* context, int worker, int64_t begin, int64_t end) {
        (*static_cast<decltype(run)*>(context))(worker, begin, end);
      },
      &run);
}

}  // namespace mt::cpu
