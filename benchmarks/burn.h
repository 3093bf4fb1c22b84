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
#else
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
