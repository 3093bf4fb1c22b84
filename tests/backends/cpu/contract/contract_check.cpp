// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/contract_check.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/contract/filtering/filtered_loops.h"
#include "backends/cpu/contract/number.h"
#include "backends/cpu/contract/ordered_sum.h"
#include "ops/minimal_filtering.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

int64_t offset(const std::vector<ContractionDim>& dims, int64_t ContractionDim::*stride,
               int64_t index) {
  int64_t result = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    result += index % dims[d].size * (dims[d].*stride);
    index /= dims[d].size;
  }
  return result;
}

// The lowest and highest offset that an operand of c reaches.
std::pair<int64_t, int64_t> reach(const Contraction& c, int64_t ContractionDim::*stride) {
  int64_t low = 0, high = 0;
  for (auto* group : {&c.batch, &c.m, &c.n, &c.k}) {
    for (auto& dim : *group) {
      if (dim.size == 0) continue;
      int64_t last = (dim.size - 1) * (dim.*stride);
      (last < 0 ? low : high) += last;
    }
  }
  return {low, high};
}

// The memory that an operand needs, exactly, and where its element zero lies. Exact sizes let the
// address sanitizer see any read past the end.
struct Memory {
  std::vector<char> bytes;
  char* zero;
  Memory(const Contraction& c, int64_t ContractionDim::*stride, Dtype dtype, Random& random) {
    auto [low, high] = reach(c, stride);
    int64_t size = static_cast<int64_t>(size_of(dtype));
    bytes.resize(static_cast<size_t>((high - low + 1) * size));
    zero = bytes.data() - low * size;
    with_type(dtype, [&](auto type) {
      using S = decltype(type);
      for (size_t i = 0; i < bytes.size() / sizeof(S); ++i) {
        S value;
        if constexpr (std::is_integral_v<S>) {
          value = static_cast<S>(sizeof(S) == 1 ? random() % 3 : random());
        } else {
          value = number<S>(std::uniform_real_distribution<float>(-1, 1)(random));
        }
        std::memcpy(bytes.data() + i * sizeof(S), &value, sizeof(S));
      }
    });
  }
};

// Calls f with the type in which sums of c are kept.
template <class F>
void with_sum_type(const Contraction& c, F&& f) {
  if (!is_floating(c.out)) {
    f(uint64_t());
  } else if (c.a == Dtype::float64 || c.b == Dtype::float64 || c.out == Dtype::float64) {
    f(double());
  } else {
    f(float());
  }
}

std::vector<char> naive(const Contraction& c, const char* a, const char* b) {
  int64_t batch = total(c.batch), m = total(c.m), n = total(c.n), k = total(c.k);
  std::vector<char> out(static_cast<size_t>(batch * m * n) * size_of(c.out));
  ContractionOrder order = contraction_order(m, n, k, c.out);
  with_sum_type(c, [&](auto sum_type) {
    using T = decltype(sum_type);
    auto load = [](Dtype dtype, const char* data, int64_t index) {
      return with_type(dtype, [&](auto type) {
        decltype(type) value;
        std::memcpy(&value, data + index * int64_t(sizeof(value)), sizeof(value));
        return number<T>(value);
      });
    };
    auto as = &ContractionDim::a_stride, bs = &ContractionDim::b_stride;
    if constexpr (std::is_same_v<T, float>) {
      auto element = [&](Dtype dtype, const char* data, auto rows, auto stride) {
        return [&c, &load, dtype, data, rows, stride](int64_t i, int64_t in, int64_t term) {
          return load(
              dtype, data,
              offset(c.batch, stride, i) + offset(c.*rows, stride, in) + offset(c.k, stride, term));
        };
      };
      if (c.precision == minimal_filtering) {
        out =
            filtered(c, element(c.a, a, &Contraction::m, as), element(c.b, b, &Contraction::n, bs));
        return;
      }
      if (c.precision == minimal_filtering_of_weight) {
        out = filtered_weight(c, element(c.a, a, &Contraction::m, as),
                              element(c.b, b, &Contraction::n, bs));
        return;
      }
    }
    std::vector<T> row(static_cast<size_t>(k)), column(static_cast<size_t>(k));
    for (int64_t i = 0; i < batch * m * n; ++i) {
      int64_t in = i % n, im = i / n % m, ib = i / n / m;
      for (int64_t j = 0; j < k; ++j) {
        row[j] = load(c.a, a, offset(c.batch, as, ib) + offset(c.m, as, im) + offset(c.k, as, j));
        column[j] =
            load(c.b, b, offset(c.batch, bs, ib) + offset(c.n, bs, in) + offset(c.k, bs, j));
      }
      T sum = 0;
      if constexpr (std::is_integral_v<T>) {
        for (int64_t j = 0; j < k; ++j) {
          sum = c.out == Dtype::boolean ? sum | (row[j] != 0 && column[j] != 0)
                                        : sum + row[j] * column[j];
        }
      } else {
        sum = ordered_sum(row, column, order);
      }
      with_type(c.out, [&](auto type) {
        auto value = number<decltype(type)>(sum);
        std::memcpy(out.data() + i * int64_t(sizeof(value)), &value, sizeof(value));
      });
    }
  });
  return out;
}

std::string describe(const Contraction& c) {
  std::string text;
  auto add = [&](const char* name, const std::vector<ContractionDim>& dims) {
    text += name;
    for (auto& d : dims) {
      text += " " + std::to_string(d.size) + "(" + std::to_string(d.a_stride) + "," +
              std::to_string(d.b_stride) + ")";
    }
  };
  add("batch", c.batch);
  add(" m", c.m);
  add(" n", c.n);
  add(" k", c.k);
  return text + " " + name_of(c.a) + " " + name_of(c.b) + " " + name_of(c.out);
}

// Each tile is reported once, and holds final values when it is.
struct Seen {
  const Contraction* c;
  const char* expected;
  const char* out;
  std::vector<std::atomic<int>> times;
  std::atomic<bool> early{false};

  static void run(void* context, const Tile& tile) {
    Seen& seen = *static_cast<Seen*>(context);
    for (int64_t i = 0; i < tile.entries; ++i) seen.look(tile, tile.batch + i);
  }

  void look(const Tile& tile, int64_t batch) {
    int64_t m = total(c->m), n = total(c->n), size = static_cast<int64_t>(size_of(c->out));
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      for (int64_t column = tile.column_begin; column < tile.column_end; ++column) {
        int64_t at = (batch * m + row) * n + column;
        times[static_cast<size_t>(at)]++;
        const char* value = out + at * size;
        if (tile.passing) {
          value =
              static_cast<const char*>(tile.passing) + ((row - tile.row_begin) * n + column) * size;
        }
        if (std::memcmp(value, expected + at * size, size_t(size)) != 0) early = true;
      }
    }
  }
};

}  // namespace

void check(const Contraction& c, Random& random, const std::vector<int>& thread_counts) {
  Memory a(c, &ContractionDim::a_stride, c.a, random), b(c, &ContractionDim::b_stride, c.b, random);
  std::vector<char> expected = naive(c, a.zero, b.zero);
  size_t count = expected.size() / size_of(c.out);
  on_every_target([&](const char* target) {
    const auto run = [&](int threads, bool in_plan) {
      std::vector<char> out(expected.size(), 0x55);
      const PreparedContraction prepared(c, threads, Surroundings{nullptr, in_plan, in_plan});
      size_t bytes = prepared.scratch();
      void* scratch = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
      std::memset(scratch, 0xff, bytes);  // NaN: what is not written first must not be read
      Seen seen{&c, expected.data(), out.data(), std::vector<std::atomic<int>>(count)};
      Epilogue epilogue{Seen::run, &seen};
      prepared.run(a.zero, b.zero, out.data(), scratch, &epilogue);
      std::free(scratch);
      if (!in_plan) {  // rows may lie anywhere
        ASSERT_EQ(out, expected) << describe(c) << ", " << threads << " threads, " << target;
      }
      ASSERT_FALSE(seen.early) << describe(c);
      for (auto& times : seen.times) ASSERT_EQ(times, 1) << describe(c);
    };
    for (int threads : thread_counts) {
      for (bool in_plan : {false, true}) {
        run(threads, in_plan);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

}  // namespace mt::cpu
