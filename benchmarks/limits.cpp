// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most: arithmetic on registers, arrays read and written, and lines of
// memory handed from core to core. A module for the runner, which measures the limit of a row
// between the row's own rounds.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#include <sys/mman.h>
#endif

#include "burn.h"
#include "module.h"

namespace {

typedef int32_t Line __attribute__((vector_size(64), may_alias));  // of memory
constexpr int64_t places = 4;          // of an array that are gone through at once
constexpr int64_t unit = places * 64;  // sizes are rounded up to it
constexpr int64_t piece_bytes = 256 << 10;
constexpr int64_t burns = 64;
constexpr int64_t round_trips = 200, batches = 10;

struct Array {
  char* data;
  int64_t units;
  char how;  // 'r'ead, 'w'ritten, 'u'pdated
};
std::vector<Array> arrays;
// How to go through them: in turn, so many bytes of each at a time, which lets some processors read
// and write at once; fetching so many bytes ahead, or nothing; past the caches what is written.
struct Way {
  int64_t block, ahead;
  bool past_caches;
};
constexpr Way ways[] = {
    {piece_bytes, 4096, false}, {piece_bytes, 4096, true}, {piece_bytes, 0, false},
    {piece_bytes, 0, true},     {4096, 0, false},          {2048, 0, true},
    {1024, 4096, true},
};
Way way = ways[0];
int thread_count = 1;

// Of one thread its processor time, as for the rows.
double now() {
  timespec time;
  clock_gettime(thread_count == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// While it lives its thread is on one core, the same for each index, where there are enough: what
// is read again then lies in that core's caches, of which two chips have their own.
class OnCore {
 public:
#if defined(__linux__)
  explicit OnCore(size_t index) {
    known_ = sched_getaffinity(0, sizeof all_, &all_) == 0 && CPU_COUNT(&all_) >= thread_count;
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int core = 0; known_ && core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &all_) && index-- == 0) CPU_SET(core, &one);
    }
    if (known_) sched_setaffinity(0, sizeof one, &one);
  }
  ~OnCore() {
    if (known_) sched_setaffinity(0, sizeof all_, &all_);
  }

 private:
  cpu_set_t all_;
  bool known_;
#else
  explicit OnCore(size_t) {}
  ~OnCore() {}
#endif
};

// A loop over pieces, which threads take from parts of their own first: what one has read it reads
// again, but on a busy machine nobody waits for a thread that has not begun.
class Pieces {
 public:
  explicit Pieces(int64_t count) : parts_(static_cast<size_t>(thread_count)) {
    for (int64_t t = 0; t < thread_count; ++t) {
      Part& part = parts_[static_cast<size_t>(t)];
      part.begin = count * t / thread_count;
      part.count = count * (t + 1) / thread_count - part.begin;
    }
  }

  // Seconds for all pieces so many times, from when all threads run; they do not wait for each
  // other in between.
  template <class F>
  double run(int64_t times, F&& piece) {
    std::vector<double> end(parts_.size());
    auto work = [&](size_t t) {
      for (size_t i = 0; i < parts_.size(); ++i) {
        Part& part = parts_[(t + i) % parts_.size()];
        for (int64_t k; (k = part.taken++) < part.count * times; end[t] = now()) {
          piece(part.begin + k % part.count);
        }
      }
    };
    std::atomic<size_t> running{1};
    std::atomic<bool> begun{false};
    std::vector<std::thread> others;
    for (size_t t = 1; t < parts_.size(); ++t) {
      others.emplace_back([&, t] {
        const OnCore core(t);
        ++running;
        while (!begun) {
        }
        work(t);
      });
    }
    const OnCore core(0);
    while (running < parts_.size()) {
    }
    const double begin = now();
    std::fill(end.begin(), end.end(), begin);
    begun = true;
    work(0);
    for (std::thread& other : others) other.join();
    return *std::max_element(end.begin(), end.end()) - begin;
  }

 private:
  struct alignas(64) Part {
    int64_t begin, count;
    std::atomic<int64_t> taken{0};
  };
  std::vector<Part> parts_;
};

#if defined(__x86_64__) && defined(__GLIBC__)
#define ON_EACH_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ON_EACH_PROCESSOR
#endif

// The fastest that we know for one core, whose lines under way are few: several places at once.
ON_EACH_PROCESSOR void read(const char* from, int64_t part, int64_t ahead) {
  Line total[places] = {};
  for (int64_t i = 0; i < part; i += 64) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < places; ++p) {
      const char* line = from + p * part + i;
      __builtin_prefetch(line + ahead);
      total[p] += *reinterpret_cast<const Line*>(line);
    }
  }
  asm volatile("" ::"m"(total));
}

ON_EACH_PROCESSOR void update(char* at, int64_t part, int64_t ahead) {
  for (int64_t i = 0; i < part; i += 64) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < places; ++p) {
      char* line = at + p * part + i;
      __builtin_prefetch(line + ahead, 1);
      *reinterpret_cast<Line*>(line) += 1;
    }
  }
}

// Not zeros: some processors write lines of zeros past the caches three times as fast as others.
constexpr int32_t written = 0x3fc01234;

ON_EACH_PROCESSOR void write(char* to, int64_t part) {
  const Line value = Line{} + written;
  for (int64_t i = 0; i < part; i += 64) {
#pragma GCC unroll 4
    for (int64_t p = 0; p < places; ++p) {
      *reinterpret_cast<Line*>(to + p * part + i) = value;
    }
    asm volatile("" ::: "memory");  // or it becomes memset, which is slower
  }
}

#if defined(__x86_64__)
__attribute__((target("avx512f"))) void write_lines_past_caches(char* to, int64_t bytes) {
  const __m512i value = _mm512_set1_epi32(written);
  for (int64_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), value);
  }
}
#endif

void write_past_caches(char* to, int64_t part) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return write_lines_past_caches(to, places * part);
  for (int64_t i = 0; i < places * part; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_set1_epi32(written));
  }
#else
  write(to, part);
#endif
}

// One of so many blocks of each array, in turn.
void stream_block(int64_t i, int64_t count) {
  for (const Array& array : arrays) {
    const int64_t begin = array.units * i / count, end = array.units * (i + 1) / count;
    char* data = array.data + begin * unit;
    const int64_t part = (end - begin) * unit / places;
    if (array.how == 'r') {
      read(data, part, way.ahead);
    } else if (array.how == 'u') {
      update(data, part, way.ahead);
    } else if (way.past_caches) {
      write_past_caches(data, part);
    } else {
      write(data, part);
    }
  }
}

double stream(int64_t times) {
  int64_t units = 0;
  for (const Array& array : arrays) units = std::max(units, array.units);
  const int64_t count = std::max(units * unit / piece_bytes, int64_t{4} * thread_count);
  const int64_t blocks = std::max<int64_t>(units * unit / count / way.block, 1);
  return Pieces(count).run(times, [&](int64_t i) {
    for (int64_t b = i * blocks; b < (i + 1) * blocks; ++b) stream_block(b, count * blocks);
  });
}

}  // namespace

extern "C" {

BENCH_API void limits_set_threads(int threads) { thread_count = threads; }

// Operations per second of float32, on all threads: on registers alone, or with operands that are
// loaded, as a product's are; 0 where there is no loop for that.
BENCH_API double limits_flops(bool loading) {
  std::atomic<double> done{0};
  const double seconds =
      Pieces(burns).run(1, [&](int64_t) { done.fetch_add(loading ? burn_loading() : burn()); });
  return done / seconds;
}

// Seconds for a line of memory to go from one core to another and back, as two threads hand it to
// each other. Where a host moves a machine's processors it may change fourfold from one second to
// the next, and whatever two threads share with it.
BENCH_API double limits_round_trip() {
  alignas(64) std::atomic<int64_t> turn{0};
  auto play = [&](int64_t first) {
    for (int64_t i = first; i < first + 2 * round_trips; i += 2) {
      while (turn.load(std::memory_order_acquire) != i) {
      }
      turn.store(i + 1, std::memory_order_release);
    }
  };
  std::atomic<bool> there{false};
  std::thread other([&] {
    there = true;
    for (int64_t b = 0; b < batches; ++b) play(2 * b * round_trips + 1);
  });
  while (!there) {
  }
  double best = 1e9;  // both may begin on one core
  for (int64_t b = 0; b < batches; ++b) {
    const auto begin = std::chrono::steady_clock::now();
    play(2 * b * round_trips);
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    best = std::min(best, all.count() / round_trips);
  }
  other.join();
  return best;
}

BENCH_API void limits_close_stream() {
  for (const Array& array : arrays) std::free(array.data);
  arrays.clear();
}

// Prepares passes over arrays of so many bytes, each 'r'ead, 'w'ritten or 'u'pdated, in the way
// that is fastest for them.
BENCH_API void limits_open_stream(const int64_t* bytes, const char* how) {
  limits_close_stream();
  for (; *how; ++how, ++bytes) {
    const Array array{nullptr, (*bytes + unit - 1) / unit, *how};
    const size_t huge = 2 << 20, needed = static_cast<size_t>(array.units * unit);
    const size_t size = (needed + huge - 1) / huge * huge;
    arrays.push_back(array);
    char*& data = arrays.back().data = static_cast<char*>(std::aligned_alloc(huge, size));
#if defined(__linux__)
    madvise(data, size, MADV_HUGEPAGE);
#endif
    std::memset(data, 1, size);
  }
  double best[std::size(ways)];
  std::fill(std::begin(best), std::end(best), 1e9);
  for (int round = 0; round < 3; ++round) {
    for (size_t w = 0; w < std::size(ways); ++w) {
      way = ways[w];
      stream(4);  // brings the arrays to where they stay
      best[w] = std::min(best[w], stream(4));
    }
  }
  way = ways[std::min_element(std::begin(best), std::end(best)) - std::begin(best)];
}

// Goes through them so many times; returns the seconds from when all threads run.
BENCH_API double limits_stream(int64_t times) { return stream(times); }
}
