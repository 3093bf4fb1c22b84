// SPDX-License-Identifier: Apache-2.0
// Contractions against a scalar loop written from ops/order.h, bit for bit: random shapes and
// strides, every type, any number of threads, every instruction set.
#include "backends/cpu/contract/contract.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/cpu/contract/number.h"
#include "backends/cpu/elementwise/kernels.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

using Random = std::mt19937;

// Runs f once for each instruction set that this machine has.
template <class F>
void on_every_target(F&& f) {
  for (const char* name : {"AVX3", "AVX2", "NEON", "EMU128", "SCALAR"}) {
    if (set_instruction_set(name)) f(name);
  }
  set_instruction_set(nullptr);
}

int64_t pick(Random& random, std::initializer_list<int64_t> values) {
  return values.begin()[random() % values.size()];
}

int64_t total(const std::vector<ContractionDim>& dims) {
  int64_t size = 1;
  for (auto& dim : dims) size *= dim.size;
  return size;
}

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

template <class T>
T pairwise(const std::vector<T>& panels, size_t first, size_t count) {
  if (count == 1) return panels[first];
  size_t half = 1;
  while (2 * half < count) half *= 2;
  return pairwise(panels, first, half) + pairwise(panels, first + half, count - half);
}

// One output as ops/order.h says. a and b: the operands' chains, in order.
template <class T>
T ordered_sum(const std::vector<T>& a, const std::vector<T>& b, ContractionOrder order) {
  std::vector<T> panels;
  int64_t k = static_cast<int64_t>(a.size());
  for (int64_t begin = 0; begin < k; begin += order.panel) {
    std::vector<T> lanes(static_cast<size_t>(order.lanes), T(0));
    for (int64_t i = begin; i < std::min(begin + order.panel, k); ++i) {
      T& lane = lanes[static_cast<size_t>((i - begin) % order.lanes)];
      lane = std::fma(a[i], b[i], lane);
    }
    for (size_t width = lanes.size() / 2; width > 0; width /= 2) {
      for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    panels.push_back(lanes[0]);
  }
  return panels.empty() ? T(0) : pairwise(panels, 0, panels.size());
}

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
    std::vector<T> row(static_cast<size_t>(k)), column(static_cast<size_t>(k));
    for (int64_t i = 0; i < batch * m * n; ++i) {
      int64_t in = i % n, im = i / n % m, ib = i / n / m;
      auto as = &ContractionDim::a_stride, bs = &ContractionDim::b_stride;
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
    int64_t m = total(seen.c->m), n = total(seen.c->n);
    int64_t size = static_cast<int64_t>(size_of(seen.c->out));
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      for (int64_t column = tile.column_begin; column < tile.column_end; ++column) {
        int64_t at = (tile.batch * m + row) * n + column;
        seen.times[static_cast<size_t>(at)]++;
        if (std::memcmp(seen.out + at * size, seen.expected + at * size, size_t(size)) != 0) {
          seen.early = true;
        }
      }
    }
  }
};

void check(const Contraction& c, Random& random, std::initializer_list<int> thread_counts) {
  Memory a(c, &ContractionDim::a_stride, c.a, random), b(c, &ContractionDim::b_stride, c.b, random);
  std::vector<char> expected = naive(c, a.zero, b.zero);
  size_t count = expected.size() / size_of(c.out);
  on_every_target([&](const char* target) {
    for (int threads : thread_counts) {
      std::vector<char> out(expected.size(), 0x55);
      const PreparedContraction prepared(c, threads);
      size_t bytes = prepared.scratch();
      void* scratch = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
      std::memset(scratch, 0xff, bytes);  // NaN: what is not written first must not be read
      Seen seen{&c, expected.data(), out.data(), std::vector<std::atomic<int>>(count)};
      Epilogue epilogue{Seen::run, &seen};
      prepared.run(a.zero, b.zero, out.data(), scratch, &epilogue);
      std::free(scratch);
      ASSERT_EQ(out, expected) << describe(c) << ", " << threads << " threads, " << target;
      ASSERT_FALSE(seen.early) << describe(c);
      for (auto& times : seen.times) ASSERT_EQ(times, 1) << describe(c);
    }
  });
}

// a[m, k] * b[n, k] with given layouts: each operand contiguous along k or along its rows.
Contraction matrices(int64_t m, int64_t n, int64_t k, bool a_along_k, bool b_along_k, Dtype dtype) {
  return {{},
          {{m, a_along_k ? k : 1, 0}},
          {{n, 0, b_along_k ? k : 1}},
          {{k, a_along_k ? 1 : m, b_along_k ? 1 : n}},
          dtype,
          dtype,
          dtype};
}

std::vector<ContractionDim> random_group(Random& random, int64_t most, bool has_a, bool has_b) {
  std::vector<ContractionDim> dims(random() % 3 + (most > 8));
  int64_t left = most;
  for (auto& dim : dims) {
    dim.size = 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(left));
    left = std::max<int64_t>(1, left / dim.size);
    dim.a_stride = has_a ? pick(random, {0, 1, 1, 1, 2, -1, 3, 17, -40, 64}) : 0;
    dim.b_stride = has_b ? pick(random, {0, 1, 1, 1, 2, -1, 3, 17, -40, 64}) : 0;
  }
  return dims;
}

TEST(Contract, RandomShapesAndStridesMatchTheOrder) {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    bool batch_a = random() % 4, batch_b = random() % 4;
    Contraction c{random_group(random, 4, batch_a, batch_b),
                  random_group(random, pick(random, {1, 4, 30, 90}), true, false),
                  random_group(random, pick(random, {1, 4, 30, 90}), false, true),
                  random_group(random, pick(random, {1, 7, 80, 300}), true, true),
                  Dtype::float32,
                  Dtype::float32,
                  Dtype::float32};
    if (i % 3 == 0) c.a = c.b = c.out = Dtype::float64;
    check(c, random, {1, 3});
    if (HasFatalFailure()) return;
  }
}

TEST(Contract, EveryTypeMatches) {
  Random random(2);
  for (int type = 0; type < dtype_count; ++type) {
    for (auto [m, n, k] : {std::array<int64_t, 3>{5, 7, 9},
                           {40, 70, 66},
                           {90, 9, 30},
                           {1, 130, 100},
                           {3, 2, 5000}}) {
      Contraction c = matrices(m, n, k, n != 9, type % 2, static_cast<Dtype>(type));
      c.batch = {{2, m * k, n * k}};
      check(c, random, {1, 2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, MixedFloatingTypesSumInTheWider) {
  Random random(3);
  Dtype types[] = {Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64};
  for (Dtype a : types) {
    for (Dtype b : types) {
      for (Dtype out : types) {
        Contraction c = matrices(9, 20, 70, true, false, out);
        c.a = a;
        c.b = b;
        check(c, random, {1});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Contract, EveryLayoutAcrossBlockEdges) {
  Random random(4);
  for (auto [m, n, k] : {std::array<int64_t, 3>{150, 200, 300},
                         {64, 64, 64},
                         {13, 530, 257},
                         {200, 10, 300},
                         {10, 200, 520},
                         {1, 300, 700},
                         {300, 4, 700},
                         {2, 2, 64}}) {
    for (int layout = 0; layout < 4; ++layout) {
      check(matrices(m, n, k, layout & 1, layout & 2, Dtype::float32), random, {1, 2, 7});
      check(matrices(m, n, k, layout & 1, layout & 2, Dtype::float64), random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of b so far apart that the first rows of a pack it as they go.
TEST(Contract, PacksWhatLiesFarApart) {
  Random random(14);
  for (auto [m, n, k] : {std::array<int64_t, 3>{80, 300, 530}, {150, 280, 260}}) {
    for (bool a_along_k : {true, false}) {
      for (Dtype dtype : {Dtype::float32, Dtype::float64}) {
        Contraction c = matrices(m, n, k, a_along_k, false, dtype);
        c.k[0].b_stride = 2000;
        check(c, random, {1, 2});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Contract, PanelsOfALongSumAreAddedPairwise) {
  Random random(5);
  for (int64_t k : {4096, 5000, 70001}) {
    for (auto [m, n] : {std::array<int64_t, 2>{1, 1}, {4, 3}, {20, 6}, {50, 7}}) {
      Contraction c = matrices(m, n, k, m % 2, true, Dtype::float32);
      check(c, random, {1, 3});
      c.batch = {{3, 0, 0}};
      c.out = Dtype::bfloat16;
      check(c, random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

// Convolutions of every geometry, forward and backward, read through the sliding windows that they
// are, with either operand as the windows.
TEST(Contract, ConvolutionsReadWindowsInPlace) {
  Random random(6);
  for (int i = 0; i < 60; ++i) {
    const int64_t images = pick(random, {1, 2, 3}), groups = pick(random, {1, 1, 2});
    const int64_t channels = pick(random, {1, 3, 6, i % 10 == 0 ? 130 : 8});
    const int64_t outputs = pick(random, {1, 4, 6, 13, 17, 40});
    const int64_t high = pick(random, {1, 2, 3, 5}), wide = pick(random, {1, 2, 3, 5});
    const int64_t step = pick(random, {1, 1, 1, 2}), dilation = pick(random, {1, 1, 2});
    const int64_t rows = pick(random, {1, 4, 10, 28}), columns = pick(random, {1, 7, 8, 24, 70});
    const int64_t width = (columns - 1) * step + (wide - 1) * dilation + 1;
    const int64_t plane = ((rows - 1) * step + (high - 1) * dilation + 1) * width;
    const int64_t area = high * wide, taps = channels * area, places = rows * columns;
    const bool flipped = random() % 2;
    const int64_t sign = flipped ? -1 : 1;
    Contraction forward{
        {{images, 0, groups * channels * plane}, {groups, outputs * taps, channels * plane}},
        {{outputs, flipped ? area : taps, 0}},
        {{rows, 0, step * width}, {columns, 0, step}},
        {{channels, flipped ? outputs * area : area, plane},
         {high, sign * wide, dilation * width},
         {wide, sign, dilation}},
        Dtype::float32,
        Dtype::float32,
        Dtype::float32};
    Contraction weights{{{groups, outputs * places, channels * plane}},
                        {{outputs, places, 0}},
                        {{channels, 0, plane}, {high, 0, dilation * width}, {wide, 0, dilation}},
                        {{images, groups * outputs * places, groups * channels * plane},
                         {rows, columns, step * width},
                         {columns, 1, step}},
                        Dtype::float32,
                        Dtype::float32,
                        Dtype::float32};
    for (Contraction* c : {&forward, &weights}) {
      if (i % 4 == 0) c->a = c->b = c->out = Dtype::float64;
      if (i % 9 == 1) c->a = c->b = c->out = Dtype::bfloat16;
      if (i % 9 == 2) c->a = Dtype::float16;
      check(*c, random, {1, 3});
      if (HasFatalFailure()) return;
      if (i % 3) continue;
      std::swap(c->m, c->n);
      for (auto* group : {&c->batch, &c->m, &c->n, &c->k}) {
        for (auto& dim : *group) std::swap(dim.a_stride, dim.b_stride);
      }
      std::swap(c->a, c->b);
      check(*c, random, {2});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, AFewRowsOverShortWindows) {
  Random random(8);
  for (int64_t outputs : {5, 6, 7, 8}) {
    for (int64_t wide : {3, 4, 5, 6, 7, 8}) {
      const int64_t channels = pick(random, {1, 2, 3}), high = pick(random, {1, 3, 5});
      const int64_t images = wide == 5 ? 12 : 2, rows = 20, columns = pick(random, {16, 19, 28});
      const int64_t width = columns + wide - 1, plane = (rows + high - 1) * width;
      const int64_t places = rows * columns;
      Contraction weights{{},
                          {{outputs, places, 0}},
                          {{channels, 0, plane}, {high, 0, width}, {wide, 0, 1}},
                          {{images, outputs * places, channels * plane},
                           {rows, columns, width},
                           {columns, 1, 1}},
                          Dtype::float32,
                          Dtype::float32,
                          Dtype::float32};
      check(weights, random, {1, 3});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Contract, DepthwiseConvolutionsGoLineByLine) {
  Random random(7);
  for (int64_t columns : {3, 9, 16, 20, 33, 47, 56, 70, 130}) {
    // The last has so many lines that threads begin within one.
    for (int64_t lines : {3, 9, columns == 70 ? 1000 : 6}) {
      const int64_t images = lines == 1000 ? 1 : 2, channels = lines == 1000 ? 1 : 2;
      const int64_t width = columns + 2, plane = (lines + 2) * width, places = lines * columns;
      Contraction forward{{{images, 0, channels * plane}, {channels, 9, plane}},
                          {{1, 0, 0}},
                          {{lines, 0, width}, {columns, 0, 1}},
                          {{3, 3, width}, {3, 1, 1}},
                          Dtype::float32,
                          Dtype::float32,
                          Dtype::float32};
      Contraction weights{{{channels, places, plane}},
                          {{1, 0, 0}},
                          {{3, 0, width}, {3, 0, 1}},
                          {{images, channels * places, channels * plane},
                           {lines, columns, width},
                           {columns, 1, 1}},
                          Dtype::float32,
                          Dtype::float32,
                          Dtype::float32};
      for (Contraction* c : {&forward, &weights}) {
        if (lines == 9) c->a = c->b = c->out = Dtype::float64;
        check(*c, random, {1, 3});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Contract, LanesKeepTheSignOfZero) {
  // Each product underflows to -0, which a padded +0 would turn into +0.
  Contraction whole = matrices(1, 1, 70, true, true, Dtype::float32), stretches = whole;
  stretches.k = {{2, 40, 40}, {35, 1, 1}};
  std::vector<float> a(75, 1e-30f), b(75, -1e-30f);
  float out = 1;
  for (const Contraction& c : {whole, stretches}) {
    on_every_target([&](const char* target) {
      const PreparedContraction prepared(c, 1);
      void* scratch = std::aligned_alloc(64, (prepared.scratch() + 127) / 64 * 64);
      prepared.run(a.data(), b.data(), &out, scratch);
      std::free(scratch);
      EXPECT_TRUE(out == 0 && std::signbit(out)) << target;
    });
  }
}

TEST(Contract, EmptyGroups) {
  Random random(7);
  Contraction c = matrices(3, 5, 0, true, true, Dtype::float32);
  check(c, random, {1, 2});
  check(matrices(0, 5, 4, true, true, Dtype::float32), random, {1});
  check(matrices(5, 0, 4, true, true, Dtype::float32), random, {1});
  c = matrices(3, 5, 2, true, true, Dtype::float32);
  c.batch = {{0, 1, 1}};
  check(c, random, {1});
}

}  // namespace
}  // namespace mt::cpu
