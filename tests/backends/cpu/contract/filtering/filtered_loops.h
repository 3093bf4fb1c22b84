// SPDX-License-Identifier: Apache-2.0
// Convolutions and their weights' gradients by minimal filtering (ops/minimal_filtering.h), as
// loops that are read rather than run fast.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "backends/cpu/contract/ordered_sum.h"
#include "ops/minimal_filtering.h"
#include "plan/contraction.h"

namespace mt::cpu {

inline int64_t total(const std::vector<ContractionDim>& dims) {
  int64_t size = 1;
  for (auto& dim : dims) size *= dim.size;
  return size;
}

// One tile's results as ops/minimal_filtering.h says: of windows [channels][9] and elements
// [channels][4][4].
inline std::array<float, 4> filtered_tile(const std::vector<float>& windows,
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

}  // namespace mt::cpu
