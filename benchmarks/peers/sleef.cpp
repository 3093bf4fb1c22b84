// SPDX-License-Identifier: Apache-2.0
// SLEEF's functions of 1.0 ulp on arrays that stay in the cache, in the widest vectors there are,
// or that our side is held to.
#include <immintrin.h>
#include <sleef.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "../module.h"
#include "lines.h"

#define WIDE __attribute__((target("avx512f")))
#define NARROW __attribute__((target("avx2,fma")))

// sleef.h declares only what the whole file is compiled for.
extern "C" {
WIDE __m512 Sleef_expf16_u10avx512f(__m512), Sleef_logf16_u10avx512f(__m512);
WIDE __m512 Sleef_tanhf16_u10avx512f(__m512), Sleef_erff16_u10avx512f(__m512);
WIDE __m512 Sleef_sinf16_u10avx512f(__m512), Sleef_powf16_u10avx512f(__m512, __m512);
NARROW __m256 Sleef_expf8_u10avx2(__m256), Sleef_logf8_u10avx2(__m256);
NARROW __m256 Sleef_tanhf8_u10avx2(__m256), Sleef_erff8_u10avx2(__m256);
NARROW __m256 Sleef_sinf8_u10avx2(__m256), Sleef_powf8_u10avx2(__m256, __m256);
}

namespace {

WIDE __m512 exp16(__m512 x, __m512) { return Sleef_expf16_u10avx512f(x); }
WIDE __m512 log16(__m512 x, __m512) { return Sleef_logf16_u10avx512f(x); }
WIDE __m512 tanh16(__m512 x, __m512) { return Sleef_tanhf16_u10avx512f(x); }
WIDE __m512 erf16(__m512 x, __m512) { return Sleef_erff16_u10avx512f(x); }
WIDE __m512 sin16(__m512 x, __m512) { return Sleef_sinf16_u10avx512f(x); }
WIDE __m512 pow16(__m512 x, __m512 z) { return Sleef_powf16_u10avx512f(x, z); }
// The sigmoid is its formula with SLEEF's exponential.
WIDE __m512 sigmoid16(__m512 x, __m512) {
  __m512 one = _mm512_set1_ps(1), e = exp16(_mm512_sub_ps(_mm512_setzero_ps(), x), x);
  return _mm512_div_ps(one, _mm512_add_ps(one, e));
}

NARROW __m256 exp8(__m256 x, __m256) { return Sleef_expf8_u10avx2(x); }
NARROW __m256 log8(__m256 x, __m256) { return Sleef_logf8_u10avx2(x); }
NARROW __m256 tanh8(__m256 x, __m256) { return Sleef_tanhf8_u10avx2(x); }
NARROW __m256 erf8(__m256 x, __m256) { return Sleef_erff8_u10avx2(x); }
NARROW __m256 sin8(__m256 x, __m256) { return Sleef_sinf8_u10avx2(x); }
NARROW __m256 pow8(__m256 x, __m256 z) { return Sleef_powf8_u10avx2(x, z); }
NARROW __m256 sigmoid8(__m256 x, __m256) {
  __m256 one = _mm256_set1_ps(1), e = exp8(_mm256_sub_ps(_mm256_setzero_ps(), x), x);
  return _mm256_div_ps(one, _mm256_add_ps(one, e));
}

template <__m512 (*f)(__m512, __m512)>
WIDE void wide(const float* x, const float* z, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    _mm512_storeu_ps(y + i, f(_mm512_loadu_ps(x + i), _mm512_loadu_ps(z + i)));
  }
}
template <__m256 (*f)(__m256, __m256)>
NARROW void narrow(const float* x, const float* z, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i += 8) {
    _mm256_storeu_ps(y + i, f(_mm256_loadu_ps(x + i), _mm256_loadu_ps(z + i)));
  }
}

struct Function {
  const char* name;
  using Pass = void (*)(const float* x, const float* z, float* y, int64_t n);
  Pass wide, narrow;
};

const Function functions[] = {
    {"exp", wide<exp16>, narrow<exp8>},    {"log", wide<log16>, narrow<log8>},
    {"tanh", wide<tanh16>, narrow<tanh8>}, {"erf", wide<erf16>, narrow<erf8>},
    {"sin", wide<sin16>, narrow<sin8>},    {"sigmoid", wide<sigmoid16>, narrow<sigmoid8>},
    {"pow", wide<pow16>, narrow<pow8>},
};

}  // namespace

struct bench {
  Function::Pass pass;
  Lines<float> x, z, y;
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
const char* bench_version() {
  return TEXT(SLEEF_VERSION_MAJOR) "." TEXT(SLEEF_VERSION_MINOR) "." TEXT(SLEEF_VERSION_PATCHLEVEL);
}

void bench_set_threads(int) {}

bench* bench_open(const char* name, const bench_array* arrays, int64_t count) {
  const Function* found =
      std::find_if(std::begin(functions), std::end(functions),
                   [&](const Function& f) { return !std::strcmp(f.name, name); });
  if (found == std::end(functions) || arrays[0].dims[0] % 16) return nullptr;
  auto array = [&](int64_t i) {
    const auto* data = static_cast<const float*>(arrays[i].data);
    return Lines<float>(data, data + arrays[i].dims[0]);
  };
  const char* target = std::getenv("MT_CPU_TARGET");
  const bool held = (target && !std::strcmp(target, "AVX2")) || !__builtin_cpu_supports("avx512f");
  auto* made = new bench{held ? found->narrow : found->wide, array(0), array(count - 1), {}};
  made->y.resize(made->x.size());
  return made;
}

void bench_run(bench* bench, int64_t times) {
  for (int64_t i = 0; i < times; ++i) {
    bench->pass(bench->x.data(), bench->z.data(), bench->y.data(),
                static_cast<int64_t>(bench->x.size()));
  }
}

int64_t bench_result(bench* bench, double* results, int64_t room) {
  if (static_cast<int64_t>(bench->y.size()) > room) return -1;
  bench_run(bench, 1);
  std::copy(bench->y.begin(), bench->y.end(), results);
  return static_cast<int64_t>(bench->y.size());
}

void bench_close(bench* bench) { delete bench; }

const char* bench_message() { return ""; }
