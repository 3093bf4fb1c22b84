// SPDX-License-Identifier: Apache-2.0
// The innermost tile: c[R, V vectors] += a[R, k] * b[k, V vectors], held in registers over the
// whole k loop. Each element of c is one chain of fused multiply-adds that continues from what c
// holds, so how k is cut into blocks leaves no trace in the result. a is read by broadcast, with
// any row and k strides; b by vectors, one row for each k; both may be packed or lie where the user
// has them.
#if defined(MT_CONTRACT_MICRO_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_MICRO_KERNEL_INL_H
#undef MT_CONTRACT_MICRO_KERNEL_INL_H
#else
#define MT_CONTRACT_MICRO_KERNEL_INL_H
#endif

#include <array>
#include <utility>

#include "backends/cpu/contract/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Registers for the tile: what is left after V vectors of b and the broadcast.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int tile_registers = 24, most_vectors = 4;
#else
constexpr int tile_registers = 12, most_vectors = 2;
#endif
constexpr int most_rows = 12;
constexpr int rows_for(int vectors) {
  return tile_registers / vectors < most_rows ? tile_registers / vectors : most_rows;
}

template <class T>
struct MicroTile {
  int64_t k;
  const T* a;
  int64_t a_row, a_k;
  const T* b;
  int64_t b_k;
  T* c;
  const T* c_next;  // the tile that comes next, fetched meanwhile
  int64_t c_row;
  int64_t columns;  // at most V vectors, more than V - 1
  bool first;       // c holds nothing yet: begin at zero
  bool streamed;    // c is written past the caches; whole aligned vectors only
  int64_t a_ahead;  // how far ahead to prefetch a, each 64 bytes along k, and b, each k
  int64_t b_ahead;
};

// Masked: the last vector of b ends where the user's memory does.
template <class T, int R, int V, bool Masked>
HWY_NOINLINE void micro_kernel(const MicroTile<T>& tile) {
  const Vectors<T> d;
  using Vector = hn::Vec<Vectors<T>>;
  constexpr int lanes = lanes_of<T>;
  const auto mask = hn::FirstN(d, static_cast<size_t>(tile.columns - (V - 1) * lanes));
  const bool whole = tile.columns == V * lanes;
  Vector sum[R][V];
  T* c = tile.c;
  const int64_t c_row = tile.c_row;
  if (tile.first) {
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        sum[i][v] = hn::Zero(d);
        if (!tile.streamed) hwy::Prefetch(c + i * c_row + v * lanes);
      }
    }
  } else {
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < V; ++v) {
        const T* from = c + i * c_row + v * lanes;
        sum[i][v] = v < V - 1 || whole ? hn::LoadU(d, from) : load_part(d, mask, from);
      }
    }
  }
  // Three rows share a pointer: one to three times the stride is what an address can hold.
  const int64_t a_row = tile.a_row, a_k = tile.a_k, b_k = tile.b_k;
  const T* a[(R + 2) / 3];
  MT_UNROLL for (int i = 0; i < (R + 2) / 3; ++i) a[i] = tile.a + 3 * i * a_row;
  const T* b = tile.b;
  const int64_t a_ahead = tile.a_ahead, b_ahead = tile.b_ahead;
  constexpr int64_t line = 64 / sizeof(T);
  for (int64_t left = tile.k; left > 0; left -= line) {
    MT_UNROLL for (int i = 0; i < R; ++i) hwy::Prefetch(a[i / 3] + i % 3 * a_row + a_ahead);
    for (int64_t k = left < line ? left : line; k > 0; --k) {
      Vector bs[V];
      MT_UNROLL for (int v = 0; v < V; ++v) {
        if (Masked && v == V - 1) {
          bs[v] = load_part(d, mask, b + v * lanes);
        } else {
          bs[v] = hn::LoadU(d, b + v * lanes);
        }
        hwy::Prefetch(b + v * lanes + b_ahead);
      }
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const Vector x = hn::Set(d, a[i / 3][i % 3 * a_row]);
        MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = fused(d, x, bs[v], sum[i][v]);
      }
      MT_UNROLL for (int i = 0; i < (R + 2) / 3; ++i) a[i] += a_k;
      b += b_k;
    }
  }
  forget(c);
  if (tile.streamed) {
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < V; ++v) hn::Stream(sum[i][v], d, c + i * c_row + v * lanes);
    }
    return;
  }
  MT_UNROLL for (int i = 0; i < R; ++i) {
    MT_UNROLL for (int v = 0; v < V; ++v) {
      T* to = c + i * c_row + v * lanes;
      if (v < V - 1 || whole) {
        hn::StoreU(sum[i][v], d, to);
      } else {
        store_part(sum[i][v], d, mask, to);
      }
    }
  }
}

template <class T>
using MicroKernel = void (*)(const MicroTile<T>&);

template <class T, int V, bool Masked, int... I>
constexpr std::array<MicroKernel<T>, most_rows> micro_kernel_rows(
    std::integer_sequence<int, I...>) {
  return {micro_kernel<T, I + 1, V, Masked>...};
}
template <class T, int V, bool Masked>
constexpr auto micro_kernel_rows() {
  return micro_kernel_rows<T, V, Masked>(std::make_integer_sequence<int, rows_for(V)>());
}

// The kernel for `rows` rows (at most rows_for(vectors)) and `vectors` vectors of columns.
template <class T>
MicroKernel<T> micro_kernel_for(int rows, int vectors, bool masked) {
  static constexpr std::array<MicroKernel<T>, most_rows> table[2][most_vectors] = {
      {micro_kernel_rows<T, 1, false>(), micro_kernel_rows<T, 2, false>(),
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
       micro_kernel_rows<T, 3, false>(), micro_kernel_rows<T, 4, false>()
#endif
      },
      {micro_kernel_rows<T, 1, true>(), micro_kernel_rows<T, 2, true>(),
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
       micro_kernel_rows<T, 3, true>(), micro_kernel_rows<T, 4, true>()
#endif
      }};
  return table[masked][vectors - 1][rows - 1];
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
