// SPDX-License-Identifier: Apache-2.0
// Four terms at a time of a tile whose rows of a lie along k, with AVX2: 21 instructions a term
// rather than the 24 of the micro-kernel's own loop.
#if defined(MT_CONTRACT_FOUR_TERMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_FOUR_TERMS_INL_H
#undef MT_CONTRACT_FOUR_TERMS_INL_H
#else
#define MT_CONTRACT_FOUR_TERMS_INL_H
#endif

#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX2
// sum += x * y in place: left to itself, gcc 12 lets the sums change registers in an unrolled loop,
// and then has to move some of them through memory.
template <class V>
HWY_INLINE void add_product(V x, V y, V& sum) {
  if constexpr (sizeof(hn::TFromV<V>) == 4) {
    asm("vfmadd231ps %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(y.raw));
  } else {
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum.raw) : "x"(x.raw), "x"(y.raw));
  }
}

// sum[R, V vectors] += a[R, k] * b[k, V vectors] for whole fours of terms; leaves a, b and k at the
// remaining ones.
template <class T, int R, int V>
HWY_INLINE void add_fours(const T* (&a)[(R + 2) / 3], int64_t a_row, const T*& b, int64_t b_k,
                          int64_t& k, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>, terms = 4;
  int64_t one = a_row, two = 2 * a_row;
  for (; k >= terms; k -= terms) {
    asm("" : "+r"(one), "+r"(two));  // or each sum with a constant would be kept in a register
    MT_UNROLL for (int term = 0; term < terms; ++term) {
      hn::Vec<Vectors<T>> bs[V];
      MT_UNROLL for (int v = 0; v < V; ++v) bs[v] = hn::LoadU(d, b + v * lanes);
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const int64_t row = i % 3 == 0 ? 0 : i % 3 == 1 ? one : two;
        const auto x = hn::Set(d, a[i / 3][row + term]);
        MT_UNROLL for (int v = 0; v < V; ++v) add_product(x, bs[v], sum[i][v]);
      }
      b += b_k;
    }
    MT_UNROLL for (int i = 0; i < (R + 2) / 3; ++i) a[i] += terms;
  }
}
#endif

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
