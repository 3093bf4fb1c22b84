// SPDX-License-Identifier: Apache-2.0
// Products of two matrices for tests of the matrix units.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/contract/contract.h"
#include "base/rounding.h"

namespace mt::cpu {

struct Matrices {
  int64_t batch, m, n, k;
  bool a_along_k = true, b_along_k = false;
  int64_t gap = 0;  // elements between the rows of both
  Contraction contraction(Precision precision) const {
    const int64_t a_rows = a_along_k ? k + gap : 1, a_ks = a_along_k ? 1 : m + gap;
    const int64_t b_rows = b_along_k ? k + gap : 1, b_ks = b_along_k ? 1 : n + gap;
    Contraction c;
    if (batch > 1) c.batch = {{batch, a_size(), b_size()}};
    c.m = {{m, a_rows, 0}};
    c.n = {{n, 0, b_rows}};
    c.k = {{k, a_ks, b_ks}};
    c.a = c.b = c.out = Dtype::float32;
    c.precision = precision;
    return c;
  }
  int64_t a_size() const { return a_along_k ? m * (k + gap) : k * (m + gap); }
  int64_t b_size() const { return b_along_k ? n * (k + gap) : k * (n + gap); }
  int64_t a_at(int64_t i, int64_t row, int64_t j) const {
    return i * a_size() + (a_along_k ? row * (k + gap) + j : j * (m + gap) + row);
  }
  int64_t b_at(int64_t i, int64_t row, int64_t j) const {
    return i * b_size() + (b_along_k ? row * (k + gap) + j : j * (n + gap) + row);
  }
};

inline std::vector<float> uniform(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) x = distribution(random);
  return result;
}

// Counts how often an element is reported final, and squares it.
struct Squares {
  float* out;
  int64_t m, n;
  std::vector<std::atomic<int>> times;
  static void run(void* context, const Tile& tile) {
    Squares& self = *static_cast<Squares*>(context);
    for (int64_t row = tile.row_begin; row < tile.row_end; ++row) {
      for (int64_t column = tile.column_begin; column < tile.column_end; ++column) {
        const int64_t at = (tile.batch * self.m + row) * self.n + column;
        self.times[static_cast<size_t>(at)]++;
        self.out[at] *= self.out[at];
      }
    }
  }
};

template <class T>
std::vector<float> product(const Contraction& c, const std::vector<T>& a, const std::vector<T>& b,
                           int threads, bool squared = false) {
  const int64_t m = size_of_group(c.m), n = size_of_group(c.n);
  std::vector<float> out(static_cast<size_t>(size_of_group(c.batch) * m * n), NAN);
  const PreparedContraction prepared(c, threads);
  const size_t bytes = round_up(static_cast<int64_t>(prepared.scratch()), 64);
  void* scratch = std::aligned_alloc(64, bytes + 64);
  std::memset(scratch, 0xff, bytes);  // what is not written first must not be read
  Squares squares{out.data(), m, n, std::vector<std::atomic<int>>(out.size())};
  const Epilogue epilogue{Squares::run, &squares};
  prepared.run(a.data(), b.data(), out.data(), scratch, squared ? &epilogue : nullptr);
  std::free(scratch);
  for (auto& times : squares.times) EXPECT_EQ(times, squared ? 1 : 0);
  if (c.out == Dtype::bfloat16) {
    std::vector<uint16_t> halves(out.size());
    std::memcpy(halves.data(), out.data(), halves.size() * sizeof(uint16_t));
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = std::bit_cast<float>(uint32_t{halves[i]} << 16);
  }
  return out;
}

inline bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

// The upper halves.
inline std::vector<uint16_t> rounded(const std::vector<float>& numbers) {
  std::vector<uint16_t> result;
  for (float x : numbers) result.push_back(uint16_t(std::bit_cast<uint32_t>(x) >> 16));
  return result;
}

// Where sums of bfloat16 go by pairs.
inline Contraction of_bfloat16(const Matrices& s, Dtype out) {
  Contraction c = s.contraction(Precision::strict);
  c.a = c.b = Dtype::bfloat16;
  c.out = out;
  return c;
}

// Windows that slide over images by `step`, times the weights of `outputs`.
struct Windows {
  int64_t images, outputs, channels, height, width, window, step = 1;
  int64_t lines() const { return (height - window) / step + 1; }
  int64_t positions() const { return (width - window) / step + 1; }  // of a line
  int64_t image() const { return channels * height * width; }
  Contraction contraction(Dtype out) const {
    const int64_t of_window = window * window;
    return {{{images, 0, image()}},
            {{outputs, channels * of_window, 0}},
            {{lines(), 0, step * width}, {positions(), 0, step}},
            {{channels, of_window, height * width}, {window, window, width}, {window, 1, 1}},
            Dtype::bfloat16,
            Dtype::bfloat16,
            out};
  }
  // The gradient to the weights.
  Contraction gradient(Dtype out) const {
    const int64_t all = lines() * positions();
    return {{},
            {{outputs, all, 0}},
            {{channels, 0, height * width}, {window, 0, width}, {window, 0, 1}},
            {{images, outputs * all, image()},
             {lines(), positions(), step * width},
             {positions(), 1, step}},
            Dtype::bfloat16,
            Dtype::bfloat16,
            out};
  }
};

}  // namespace mt::cpu
