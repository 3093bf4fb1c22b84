// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/contract_check.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/cpu/contract/number.h"
#include "ops/minimal_filtering.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

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

// One tile's results as ops/minimal_filtering.h says: of windows [channels][9] and elements
// [channels][4][4].
std::array<float, 4> filtered_tile(const std::vector<float>& windows,
                                   const std::vector<float>& elements) {
  float m[4][4] = {};
  for (size_t channel = 0; channel < windows.size() / 9; ++channel) {
    const float *g = &windows[channel * 9], *x = &elements[channel * 16];
    float weights[4][3], weight[4][4], lines[4][4], tile[4][4];
    auto filter = [](float first, float second, float third, auto&& put) {
      const float sum = first + third;
      put(0, first), put(1, (sum + second) * 0.5f), put(2, (sum - second) * 0.5f), put(3, third);
    };
    auto turn = [](float first, float second, float third, float fourth, auto&& put) {
      put(0, first - third), put(1, second + third), put(2, third - second),
          put(3, second - fourth);
    };
    for (int j = 0; j < 3; ++j) {
      filter(g[j], g[3 + j], g[6 + j], [&](int i, float value) { weights[i][j] = value; });
    }
    for (int j = 0; j < 4; ++j) {
      turn(x[j], x[4 + j], x[8 + j], x[12 + j], [&](int i, float value) { lines[i][j] = value; });
    }
    for (int i = 0; i < 4; ++i) {
      const float *w = weights[i], *l = lines[i];
      filter(w[0], w[1], w[2], [&](int j, float value) { weight[i][j] = value; });
      turn(l[0], l[1], l[2], l[3], [&](int j, float value) { tile[i][j] = value; });
      for (int j = 0; j < 4; ++j) m[i][j] = std::fma(weight[i][j], tile[i][j], m[i][j]);
    }
  }
  float y[2][4];
  for (int j = 0; j < 4; ++j) {
    y[0][j] = m[0][j] + m[1][j] + m[2][j];
    y[1][j] = m[1][j] - m[2][j] - m[3][j];
  }
  return {y[0][0] + y[0][1] + y[0][2], y[0][1] - y[0][2] - y[0][3],  //
          y[1][0] + y[1][1] + y[1][2], y[1][1] - y[1][2] - y[1][3]};
}

// All of a convolution. a_at and b_at load an operand's element of a batch entry, row and term.
template <class A, class B>
std::vector<char> filtered(const Contraction& c, A&& a_at, B&& b_at) {
  const int64_t batch = total(c.batch), m = total(c.m), k = total(c.k);
  const int64_t lines = c.n[0].size, positions = c.n[1].size;
  std::vector<float> out(static_cast<size_t>(batch * m * lines * positions));
  std::vector<float> windows(static_cast<size_t>(k)), elements(static_cast<size_t>(k / 9 * 16));
  for (int64_t i = 0; i < batch * m; ++i) {
    for (int64_t term = 0; term < k; ++term) windows[term] = a_at(i / m, i % m, term);
    for (int64_t line = 0; line < lines; line += 2) {
      for (int64_t position = 0; position < positions; position += 2) {
        for (size_t e = 0; e < elements.size(); ++e) {
          const int64_t channel = static_cast<int64_t>(e / 16), at = static_cast<int64_t>(e % 16);
          const int64_t y = line + at / 4, x = position + at % 4;
          const int64_t of = std::min(y, lines - 1), in = std::min(x, positions - 1);
          elements[e] = y > lines + 1 || x > positions + 1
                            ? 0
                            : b_at(i / m, of * positions + in, channel * 9 + (y - of) * 3 + x - in);
        }
        const std::array<float, 4> tile = filtered_tile(windows, elements);
        for (int64_t at = 0; at < 4; ++at) {
          const int64_t y = line + at / 2, x = position + at % 2;
          if (y < lines && x < positions) out[(i * lines + y) * positions + x] = tile[at];
        }
      }
    }
  }
  std::vector<char> bytes(out.size() * sizeof(float));
  std::memcpy(bytes.data(), out.data(), bytes.size());
  return bytes;
}

// The sums of 3 x 3 elements of a panel of lines of tiles, of one output and channel. x_at and y_at
// find an element of an image's line, or a result's.
template <class X, class Y>
std::array<float, 9> filtered_panel_sums(const Contraction& c, int64_t first, int64_t end, X&& x_at,
                                         Y&& y_at) {
  const int64_t lines = c.k[1].size, positions = c.k[2].size, down = (lines + 1) / 2;
  float m[4][4] = {};
  for (int64_t at = first; at < end; ++at) {
    const int64_t image = at / down, line = at % down * 2;
    for (int64_t position = 0; position < positions; position += 2) {
      float x[4][4], y[4][4], columns[4][4], of_results[4][2];
      for (int64_t i = 0; i < 4; ++i) {
        for (int64_t j = 0; j < 4; ++j) {
          const bool there = line + i < lines + 2 && position + j < positions + 2;
          x[i][j] = there ? x_at(image, line + i, position + j) : 0;
        }
      }
      for (int64_t j = 0; j < 2; ++j) {
        auto result = [&](int64_t i) {
          const bool there = line + i < lines && position + j < positions;
          return there ? y_at(image, line + i, position + j) : 0;
        };
        const float y0 = result(0), y1 = result(1);
        of_results[0][j] = y0, of_results[1][j] = y0 + y1;
        of_results[2][j] = y0 - y1, of_results[3][j] = y1;
      }
      for (int j = 0; j < 4; ++j) {
        columns[0][j] = x[0][j] - x[2][j], columns[1][j] = x[1][j] + x[2][j];
        columns[2][j] = x[2][j] - x[1][j], columns[3][j] = x[1][j] - x[3][j];
      }
      for (int i = 0; i < 4; ++i) {
        const float *l = columns[i], *r = of_results[i];
        x[i][0] = l[0] - l[2], x[i][1] = l[1] + l[2], x[i][2] = l[2] - l[1], x[i][3] = l[1] - l[3];
        y[i][0] = r[0], y[i][1] = r[0] + r[1], y[i][2] = r[0] - r[1], y[i][3] = r[1];
        for (int j = 0; j < 4; ++j) m[i][j] = std::fma(y[i][j], x[i][j], m[i][j]);
      }
    }
  }
  auto gather = [](float first, float second, float third, float fourth, auto&& put) {
    const float mean = (second + third) * 0.5f;
    put(0, first + mean), put(1, (second - third) * 0.5f), put(2, mean - fourth);
  };
  float lines_of[3][4];
  std::array<float, 9> result;
  for (int j = 0; j < 4; ++j) {
    gather(m[0][j], m[1][j], m[2][j], m[3][j], [&](int i, float value) { lines_of[i][j] = value; });
  }
  for (size_t i = 0; i < 3; ++i) {
    const float* l = lines_of[i];
    gather(l[0], l[1], l[2], l[3],
           [&](int j, float value) { result[3 * i + static_cast<size_t>(j)] = value; });
  }
  return result;
}

// All of a weight's gradient.
template <class A, class B>
std::vector<char> filtered_weight(const Contraction& c, A&& a_at, B&& b_at) {
  const int64_t outputs = total(c.m), channels = c.n[0].size, lines = c.k[1].size;
  const int64_t positions = c.k[2].size, all = c.k[0].size * ((lines + 1) / 2);
  const int64_t panel = filtered_panel(outputs, channels, c.k[0].size, lines, positions);
  std::vector<float> out;
  for (int64_t at = 0; at < total(c.batch) * outputs * channels; ++at) {
    const int64_t i = at / channels / outputs, output = at / channels % outputs;
    auto x_at = [&](int64_t image, int64_t line, int64_t position) {
      const int64_t of = std::min(line, lines - 1), in = std::min(position, positions - 1);
      return b_at(i, at % channels * 9 + (line - of) * 3 + position - in,
                  (image * lines + of) * positions + in);
    };
    auto y_at = [&](int64_t image, int64_t line, int64_t position) {
      return a_at(i, output, (image * lines + line) * positions + position);
    };
    std::array<std::vector<float>, 9> sums;
    for (int64_t first = 0; first < all; first += panel) {
      const auto made = filtered_panel_sums(c, first, std::min(first + panel, all), x_at, y_at);
      for (size_t e = 0; e < 9; ++e) sums[e].push_back(made[e]);
    }
    for (const std::vector<float>& panels : sums) out.push_back(pairwise(panels, 0, panels.size()));
  }
  std::vector<char> bytes(out.size() * sizeof(float));
  std::memcpy(bytes.data(), out.data(), bytes.size());
  return bytes;
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
    int64_t m = total(seen.c->m), n = total(seen.c->n);
    int64_t size = static_cast<int64_t>(size_of(seen.c->out));
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      for (int64_t column = tile.column_begin; column < tile.column_end; ++column) {
        int64_t at = (tile.batch * m + row) * n + column;
        seen.times[static_cast<size_t>(at)]++;
        const char* value = seen.out + at * size;
        if (tile.passing) {
          value =
              static_cast<const char*>(tile.passing) + ((row - tile.row_begin) * n + column) * size;
        }
        if (std::memcmp(value, seen.expected + at * size, size_t(size)) != 0) {
          seen.early = true;
        }
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
    const auto run = [&](int threads, bool may_pass) {
      std::vector<char> out(expected.size(), 0x55);
      const PreparedContraction prepared(c, threads, nullptr, may_pass);
      size_t bytes = prepared.scratch();
      void* scratch = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
      std::memset(scratch, 0xff, bytes);  // NaN: what is not written first must not be read
      Seen seen{&c, expected.data(), out.data(), std::vector<std::atomic<int>>(count)};
      Epilogue epilogue{Seen::run, &seen};
      prepared.run(a.zero, b.zero, out.data(), scratch, &epilogue);
      std::free(scratch);
      if (!may_pass) {
        ASSERT_EQ(out, expected) << describe(c) << ", " << threads << " threads, " << target;
      }
      ASSERT_FALSE(seen.early) << describe(c);
      for (auto& times : seen.times) ASSERT_EQ(times, 1) << describe(c);
    };
    for (int threads : thread_counts) {
      for (bool may_pass : {false, true}) {
        run(threads, may_pass);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

}  // namespace mt::cpu
