// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most: arithmetic on registers, and arrays streamed through memory. A
// module for the runner, which measures the limit of a row between the row's own rounds.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "burn.h"
#include "row.h"

namespace {

typedef float Vector __attribute__((vector_size(16)));
constexpr int most_arrays = 8;
constexpr int64_t piece_floats = 32 << 10;
constexpr int64_t burns = 64;

float* arrays[most_arrays];
int64_t floats = 0;
int thread_count = 1;

// Of one thread its processor time, as for the rows.
double now() {
  timespec time;
  clock_gettime(thread_count == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds until pieces [0, count) are done by whichever threads get to run: on a busy machine
// nobody waits for a thread that has not begun.
template <class F>
double seconds(int64_t count, F&& piece) {
  std::atomic<int64_t> next{0};
  std::vector<double> end(static_cast<size_t>(thread_count));
  double begin = now();
  auto work = [&](size_t t) {
    bool any = false;
    for (int64_t i; (i = next++) < count; any = true) piece(i);
    end[t] = any ? now() : begin;
  };
  std::vector<std::thread> others;
  for (int t = 1; t < thread_count; ++t) others.emplace_back(work, static_cast<size_t>(t));
  work(0);
  for (std::thread& other : others) other.join();
  return *std::max_element(end.begin(), end.end()) - begin;
}

inline Vector load(const float* from) {
  Vector x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

template <bool stream>
inline void store(float* to, Vector value) {
#if defined(__x86_64__)
  if constexpr (stream) {
    _mm_stream_ps(to, value);
    return;
  }
#endif
  std::memcpy(to, &value, sizeof value);
}

// Elements [begin, end) of all arrays: sums what is read, writes the sum.
template <int R, int W, bool stream>
void pass(int64_t begin, int64_t end) {
  float* array[most_arrays];
  std::copy_n(arrays, most_arrays, array);
  Vector total[4] = {};
  for (int64_t i = begin; i < end; i += 16) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      Vector sum = {};
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sum += load(array[r] + i + 4 * k);
      total[k] += sum;
#pragma GCC unroll 8
      for (int w = 0; w < W; ++w) store<stream>(array[(R == 4 ? 0 : R) + w] + i + 4 * k, sum);
    }
  }
  asm volatile("" ::"x"(total[0]), "x"(total[1]), "x"(total[2]), "x"(total[3]) : "memory");
}

// Reading alone is fastest from several places at once.
void read_pass(int64_t begin, int64_t end) {
  const float* from = arrays[0] + begin;
  int64_t quarter = (end - begin) / 4;
  Vector total[4] = {};
  for (int64_t i = 0; i < quarter; i += 16) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      for (int s = 0; s < 4; ++s) total[s] += load(from + s * quarter + i + 4 * k);
    }
  }
  asm volatile("" ::"x"(total[0]), "x"(total[1]), "x"(total[2]), "x"(total[3]) : "memory");
}

using Pass = void (*)(int64_t begin, int64_t end);
Pass chosen = nullptr;

double stream_once() {
  return seconds((floats + piece_floats - 1) / piece_floats, [](int64_t i) {
    chosen(i * piece_floats, std::min((i + 1) * piece_floats, floats));
  });
}

}  // namespace

extern "C" {

BENCH_API void limits_set_threads(int threads) { thread_count = threads; }

// Operations per second of float32, on all threads: on registers alone, or with operands that are
// loaded, as a product's are; 0 where there is no loop for that.
BENCH_API double limits_flops(bool loading) {
  std::atomic<double> done{0};
  double time = seconds(burns, [&](int64_t) { done.fetch_add(loading ? burn_loading() : burn()); });
  return done / time;
}

BENCH_API void limits_close_stream() {
  for (float*& array : arrays) std::free(std::exchange(array, nullptr));
}

// Prepares a pass that reads and writes so many arrays of `bytes` each; with four to be read, the
// first of them are written. Of two ways, ordinary and streaming stores, the faster is
// taken. False for
// numbers that nothing here has.
BENCH_API bool limits_open_stream(int read, int written, int64_t bytes) {
  struct Way {
    int reads, writes;
    Pass passes[2];
  };
  static const Way ways[] = {{1, 0, {pass<1, 0, false>, read_pass}},
                             {0, 1, {pass<0, 1, false>, pass<0, 1, true>}},
                             {1, 1, {pass<1, 1, false>, pass<1, 1, true>}},
                             {2, 1, {pass<2, 1, false>, pass<2, 1, true>}},
                             {4, 3, {pass<4, 3, false>, pass<4, 3, true>}}};
  limits_close_stream();
  const Way* way = std::find_if(std::begin(ways), std::end(ways), [&](const Way& w) {
    return w.reads == read && w.writes == written;
  });
  if (way == std::end(ways)) return false;
  floats = (bytes / 4 + 63) / 64 * 64;
  size_t huge = 2 << 20, size = (static_cast<size_t>(floats) * 4 + huge - 1) / huge * huge;
  for (int i = 0; i < (read == 4 ? 4 : read + written); ++i) {
    arrays[i] = static_cast<float*>(std::aligned_alloc(huge, size));
#if defined(__linux__)
    madvise(arrays[i], size, MADV_HUGEPAGE);
#endif
    std::memset(arrays[i], 0, size);
  }
  double best[2] = {1e9, 1e9};
  for (int round = 0; round < 10; ++round) {
    chosen = way->passes[round % 2];
    best[round % 2] = std::min(best[round % 2], stream_once());
  }
  chosen = way->passes[best[1] < best[0]];
  return true;
}

// Seconds for the pass.
BENCH_API double limits_stream() { return stream_once(); }
}
