// SPDX-License-Identifier: Apache-2.0
// The most arithmetic a core can do.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Fused multiply-adds on registers, in enough chains to hide their latency. Returns FLOPs done.
#if defined(__x86_64__)
__attribute__((noinline, target("avx512f"))) inline double burn_wide(int64_t rounds) {
  __m512 x[16], y = _mm512_set1_ps(0.999f), z = _mm512_set1_ps(1e-3f);
  for (auto& xi : x) xi = z;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 16
    for (auto& xi : x) xi = _mm512_fmadd_ps(xi, y, z);
    asm volatile("" ::"v"(x[0]));
  }
  for (auto& xi : x) asm volatile("" ::"v"(xi));
  return 16.0 * 16 * 2 * static_cast<double>(rounds);
}
__attribute__((noinline, target("avx2,fma"))) inline double burn_narrow(int64_t rounds) {
  __m256 x[12], y = _mm256_set1_ps(0.999f), z = _mm256_set1_ps(1e-3f);
  for (auto& xi : x) xi = z;
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (auto& xi : x) xi = _mm256_fmadd_ps(xi, y, z);
    asm volatile("" ::"x"(x[0]));
  }
  for (auto& xi : x) asm volatile("" ::"x"(xi));
  return 12.0 * 8 * 2 * static_cast<double>(rounds);
}
inline double burn() {
  static const bool wide = __builtin_cpu_supports("avx512f");
  return wide ? burn_wide(100000) : burn_narrow(250000);
}

// The same as a product of matrices has to do it: the registers hold a tile of sums, and each of
// their terms takes a row of vectors and a broadcast column. All of these, 35 KB, are in the
// first-level cache.
struct Operands {
  static constexpr int64_t terms = 128;
  alignas(64) float a[terms][6], b[terms][64];
  Operands() {
    uint32_t state = 1;
    auto next = [&] {
      state = state * 1664525 + 1013904223;
      return static_cast<float>(static_cast<int32_t>(state)) * 0x1p-32f;
    };
    for (auto& row : a) {
      for (float& x : row) x = next();
    }
    for (auto& row : b) {
      for (float& x : row) x = next();
    }
  }
};
__attribute__((noinline, target("avx512f"))) inline double burn_loading(int64_t rounds) {
  static const Operands operands;
  __m512 sum[6][4] = {}, b[4];
  for (int64_t i = 0; i < rounds; ++i) {
    const int64_t k = i % Operands::terms;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) b[v] = _mm512_load_ps(operands.b[k] + 16 * v);
#pragma GCC unroll 6
    for (int r = 0; r < 6; ++r) {
      const __m512 a = _mm512_set1_ps(operands.a[k][r]);
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_fmadd_ps(a, b[v], sum[r][v]);
    }
  }
#pragma GCC unroll 24
  for (int i = 0; i < 24; ++i) asm volatile("" ::"v"(sum[i / 4][i % 4]));
  return 6.0 * 64 * 2 * static_cast<double>(rounds);
}
// 0 where there is no such loop.
inline double burn_loading() { return __builtin_cpu_supports("avx512f") ? burn_loading(66667) : 0; }
#else
inline double burn_loading() { return 0; }
inline double burn() {
  typedef float Vector __attribute__((vector_size(16)));
  Vector x[16] = {}, y = {0.9f, 0.9f, 0.9f, 0.9f};
  for (int64_t i = 0; i < 200000; ++i) {
#pragma GCC unroll 16
    for (auto& xi : x) xi = xi * y + y;
    asm volatile("" ::"w"(x[0]));
  }
  return 16.0 * 4 * 2 * 200000;
}
#endif
