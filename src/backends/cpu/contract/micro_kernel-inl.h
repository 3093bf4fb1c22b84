// SPDX-License-Identifier: Apache-2.0
// The innermost tile: c[R, V vectors] += a[R, k] * b[k, V vectors], held in registers over the
// whole k loop. Each element of c is one chain of fused multiply-adds that continues from what c
// holds, so how k is cut into blocks leaves no trace in the result. a is read by broadcast, b by
// vectors, one row for each k; both may be packed or lie where the user has them.
#if defined(MT_CONTRACT_MICRO_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_MICRO_KERNEL_INL_H
#undef MT_CONTRACT_MICRO_KERNEL_INL_H
#else
#define MT_CONTRACT_MICRO_KERNEL_INL_H
#endif

#include <algorithm>
#include <limits>

#include "backends/cpu/cache.h"
#include "backends/cpu/compress-inl.h"
#include "backends/cpu/contract/four_terms-inl.h"
#include "backends/cpu/contract/micro_tile.h"
#include "backends/cpu/simd-inl.h"
#include "base/rounding.h"

// Where a kernel's loops lie in lines of code makes a few hundredths of its time.
#undef MT_ALIGNED_LOOPS
#if HWY_TARGET == HWY_AVX2 && defined(__GNUC__) && !defined(__clang__)
#define MT_ALIGNED_LOOPS __attribute__((aligned(64), optimize("align-loops=64")))
#else
#define MT_ALIGNED_LOOPS __attribute__((aligned(64)))
#endif

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Registers for the tile: what is left after V vectors of b and the broadcast.
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_NEON
constexpr int tile_registers = 24, most_vectors = 4;
#elif HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128  // small rather than fast
constexpr int tile_registers = 6, most_vectors = 1;
#else
constexpr int tile_registers = 12, most_vectors = 2;
#endif
constexpr int most_rows = 12;
// Whether a packed b, which is read in order, is left to the hardware to fetch. A tile of short
// vectors loads twice for three multiply-adds, so that fetching takes room that loads need, above
// all while another virtual machine runs on the core's second thread.
constexpr bool packed_is_foreseen = HWY_TARGET == HWY_AVX2;
constexpr int narrow_vectors = std::min(most_vectors, 2);  // so few that the most rows run together
constexpr int rows_for(int vectors) {
  return tile_registers / vectors < most_rows ? tile_registers / vectors : most_rows;
}

// As many vectors of columns as the registers hold for these rows: few rows leave room for more.
// With AVX2 two low tiles of two vectors take less time than a high one of one, which loads more
// than it multiplies.
constexpr int fewest_vectors = HWY_TARGET == HWY_AVX2 ? 2 : 1;
template <class T>
int vectors_for(int64_t rows, int64_t columns, int fewest = fewest_vectors) {
  constexpr int64_t lanes = lanes_of<T>;
  int vectors = static_cast<int>(std::min<int64_t>(most_vectors, divide_up(columns, lanes)));
  while (vectors > fewest && rows > rows_for(vectors) && rows <= rows_for(vectors - 1)) --vectors;
  return vectors;
}

template <class T, int R, int V>
HWY_INLINE void fetch_tile(const T* c, int64_t c_row) {
  constexpr int lanes = lanes_of<T>;
  MT_UNROLL for (int i = 0; i < R; ++i, c += c_row) {
    forget(c);
    MT_UNROLL for (int v = 0; v < V; ++v) {
      if (begins_line<T>(v * lanes)) hwy::Prefetch(c + v * lanes);
    }
  }
}

// Begins a tile's sums: at zero, or with the sums so far.
template <class T, int R, int V, class M>
HWY_INLINE void begin_sums(const MicroTile<T>& tile, M mask, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  if (tile.first) {
    MT_UNROLL for (int i = 0; i < R; ++i) {
      MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = hn::Zero(d);
    }
  } else {
    const bool whole = !loads_part_at_once && tile.columns == V * lanes;
    const T* from = tile.from;
    MT_UNROLL for (int i = 0; i < R; ++i, from += tile.from_row) {
      forget(from);
      MT_UNROLL for (int v = 0; v < V - 1; ++v) sum[i][v] = hn::LoadU(d, from + v * lanes);
      const T* last = from + (V - 1) * lanes;
      sum[i][V - 1] = whole ? hn::LoadU(d, last) : load_part(d, mask, last);
    }
  }
  if (tile.fetched != nullptr) fetch_tile<T, R, V>(tile.fetched, tile.c_row);
}

template <class T, int R, int V, class M>
HWY_INLINE void end_sums(const MicroTile<T>& tile, M mask, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  T* c = tile.c;
  const int64_t c_row = tile.c_row;
  const bool whole = !loads_part_at_once && tile.columns == V * lanes;
  MT_UNROLL for (int i = 0; i < R; ++i, c += c_row) {
    forget(c);
    MT_UNROLL for (int v = 0; v < V - 1; ++v) hn::StoreU(sum[i][v], d, c + v * lanes);
    T* last = c + (V - 1) * lanes;
    whole ? hn::StoreU(sum[i][V - 1], d, last) : store_part(sum[i][V - 1], d, mask, last);
  }
}

// Stores the sums past the caches.
template <class T, int R, int V>
HWY_INLINE void end_streamed_sums(const MicroTile<T>& tile, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  T* c = tile.c;
  MT_UNROLL for (int i = 0; i < R; ++i, c += tile.c_row) {
    forget(c);
    MT_UNROLL for (int v = 0; v < V; ++v) {
      hn::Stream(sum[i][v], Vectors<T>(), c + v * lanes_of<T>);
    }
  }
}

// Stores the sums without the lanes in the gaps between columns.
template <class T, int R, int V>
HWY_INLINE void end_kept_sums(const MicroTile<T>& tile, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  const Vectors<T> d;
  T* c = tile.c;
  forget(c);
  const int64_t c_row = tile.c_row;
  MT_UNROLL for (int v = 0; v < V; ++v) {
    const KeptLanes& kept = tile.kept[v];
    const auto front = hn::FirstN(d, kept.count);
    if constexpr (compresses_at_once) {
      const auto mask = hn::LoadMaskBits(d, kept.mask);
      MT_UNROLL for (int i = 0; i < R; ++i) {
        store_part(compress(d, sum[i][v], mask), d, front, c + i * c_row + kept.to);
      }
    } else {
      const bool whole = kept.count == lanes_of<T>;
      const auto from =
          hn::SetTableIndices(d, reinterpret_cast<const hwy::MakeSigned<T>*>(kept.from));
      MT_UNROLL for (int i = 0; i < R; ++i) {
        T* const to = c + i * c_row + kept.to;
        const auto x = hn::TableLookupLanes(sum[i][v], from);
        whole ? hn::StoreU(x, d, to) : store_part(x, d, front, to);
      }
    }
  }
}

// What a strided kernel does about operands that lie farther away than the first-level cache.
enum class Distant {
  fetched,  // ahead of time
  packed,   // the same, and b is packed where the next rows read it nearby; that takes no time of
            // its own, as the multiply-adds leave room for it
  far,      // only b is fetched, in an order of its own
  a,        // only a is fetched: what is read of b lies nearby, or the hardware fetches it
  none,     // nothing: neither is far away, and fetching would only take time from loads
};

// Whether a kernel adds four terms at a time of rows that lie along k. That saves instructions,
// which take time while another virtual machine runs on the core's second thread.
template <class T, int R, int V, Distant distant>
constexpr bool adds_four_terms = std::is_floating_point_v<T>&& HWY_TARGET == HWY_AVX2&& V == 2 &&
                                 R >= 5 && (distant == Distant::a || distant == Distant::none);

// Both operands advance by strides. b has whole vectors, unless partial loads are as fast.
template <class T, int R, int V, Distant distant>
HWY_NOINLINE MT_ALIGNED_LOOPS void strided_kernel(const MicroTile<T>& tile) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const auto mask = hn::FirstN(d, tile.columns - (V - 1) * lanes);
  [[maybe_unused]] const bool whole = tile.columns == V * lanes;
  hn::Vec<Vectors<T>> sum[R][V];
  begin_sums<T>(tile, mask, sum);
  // Three rows share a pointer, as an address can hold up to twice the stride.
  const int64_t a_row = tile.a_row, a_k = tile.a_k, b_k = tile.b_k;
  const T* a[(R + 2) / 3];
  MT_UNROLL for (int i = 0; i < (R + 2) / 3; ++i) a[i] = tile.a + 3 * i * a_row;
  const T* b = tile.b;
  [[maybe_unused]] T* packed = tile.packed;
  [[maybe_unused]] const int64_t a_ahead = tile.a_ahead, b_ahead = tile.b_ahead;
  [[maybe_unused]] const T* coming = tile.coming;
  constexpr bool packs = distant == Distant::packed;
  constexpr bool fetches_a = distant != Distant::none && distant != Distant::far;
  constexpr bool fetches_b = packs || distant == Distant::fetched;
  // A loop for each line takes some ten cycles to begin and end, so only where lines are fetched.
  constexpr int64_t all = std::numeric_limits<int64_t>::max();
  const int64_t line = fetches_a && a_ahead != 0 ? int64_t{64 / sizeof(T)} : all;
  for (int64_t left = tile.k; left > 0; left -= line) {
    if (fetches_a && a_ahead != 0) {
      MT_UNROLL for (int i = 0; i < R; ++i) hwy::Prefetch(a[i / 3] + i % 3 * a_row + a_ahead);
    }
    int64_t k = left < line ? left : line;
    if constexpr (adds_four_terms<T, R, V, distant>) {
      if (a_k == 1) add_fours<T, R, V>(a, a_row, b, b_k, k, sum);
    }
    for (; k > 0; --k) {
      hn::Vec<Vectors<T>> bs[V];
      MT_UNROLL for (int v = 0; v < V; ++v) {
        const bool part = loads_part_at_once && v == V - 1 && !whole;
        bs[v] = part ? load_part(d, mask, b + v * lanes) : hn::LoadU(d, b + v * lanes);
        if (fetches_b && begins_line<T>(v * lanes)) hwy::Prefetch(b + v * lanes + b_ahead);
        if constexpr (distant == Distant::far) fetch_line(coming + v * lanes);
        if constexpr (packs) hn::StoreU(bs[v], d, packed + v * lanes);
      }
      MT_UNROLL for (int i = 0; i < R; ++i) {
        const auto x = hn::Set(d, a[i / 3][i % 3 * a_row]);
        MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = fused(d, x, bs[v], sum[i][v]);
      }
      MT_UNROLL for (int i = 0; i < (R + 2) / 3; ++i) a[i] += a_k;
      b += b_k;
      if constexpr (distant == Distant::far) coming += tile.coming_step;
      if constexpr (packs) packed += V * lanes;
    }
  }
  if constexpr (fetches_a) {
    if (tile.streamed) return end_streamed_sums<T>(tile, sum);
  }
  end_sums<T>(tile, mask, sum);
}

// Adds terms [0, tile.k), of which a is looked up in tables of offsets, and b unless it is packed.
// `part`: the last vector of b is loaded in part. Each row has a pointer that the compiler forgets
// the origin of: left to itself it would compute where a term begins before each row's place.
template <bool b_packed, bool part, class T, int R, int V, class M>
HWY_INLINE void add_indexed(const MicroTile<T>& tile, M mask, hn::Vec<Vectors<T>> (&sum)[R][V]) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const T *a[R], *b = tile.b;
  MT_UNROLL for (int i = 0; i < R; ++i) forget(a[i] = tile.a + tile.a_rows[i]);
  const int64_t *const a_ks = tile.a_ks, *const b_ks = tile.b_ks, terms = tile.k;
  [[maybe_unused]] const int64_t b_row = tile.b_k, b_ahead = tile.b_ahead;
  for (int64_t k = 0; k < terms; ++k) {
    const int64_t at = a_ks[k];
    const T* const from = b_packed ? b : b + b_ks[k];
    hn::Vec<Vectors<T>> bs[V];
    MT_UNROLL for (int v = 0; v < V; ++v) {
      if (b_packed && !packed_is_foreseen && begins_line<T>(v * lanes)) {
        hwy::Prefetch(from + v * lanes + b_ahead);
      }
      bs[v] = part && v == V - 1 ? load_part(d, mask, from + v * lanes)
                                 : hn::LoadU(d, from + v * lanes);
    }
    MT_UNROLL for (int i = 0; i < R; ++i) {
      const auto x = hn::Set(d, a[i][at]);
      MT_UNROLL for (int v = 0; v < V; ++v) sum[i][v] = fused(d, x, bs[v], sum[i][v]);
    }
    if constexpr (b_packed) b += b_row;
  }
}

// Looks up a in tables of offsets, and b unless it is packed. A b that is read in place may end
// within a vector and have gaps.
template <class T, int R, int V, bool b_packed>
HWY_NOINLINE void indexed_kernel(const MicroTile<T>& tile) {
  const Vectors<T> d;
  constexpr int lanes = lanes_of<T>;
  const auto mask = hn::FirstN(d, tile.columns - (V - 1) * lanes);
  hn::Vec<Vectors<T>> sum[R][V];
  begin_sums<T>(tile, mask, sum);
  // With AVX2 whole vectors are loaded as parts are, unless the loop is most of what runs.
  constexpr bool two_loops = HWY_TARGET != HWY_AVX2 || (V == most_vectors && R >= 5);
  const bool whole = two_loops && !loads_part_at_once && tile.columns == V * lanes;
  if (b_packed || whole) {
    add_indexed<b_packed, false>(tile, mask, sum);
  } else {
    add_indexed<b_packed, true>(tile, mask, sum);
  }
  if constexpr (!b_packed) {
    if (tile.kept != nullptr) return end_kept_sums<T>(tile, sum);
  }
  end_sums<T>(tile, mask, sum);
}

// The rows of a are L lines of sliding windows, each of W neighbours, which share an address; b is
// a single vector. An indexed kernel of rows_for(1) rows would look up more than it multiplies.
template <class T, int L, int W>
HWY_NOINLINE void lines_kernel(const MicroTile<T>& tile) {
  const Vectors<T> d;
  constexpr int R = L * W;
  const auto mask = hn::FirstN(d, tile.columns);
  [[maybe_unused]] const bool whole = tile.columns == lanes_of<T>;
  hn::Vec<Vectors<T>> sum[R][1];
  begin_sums<T>(tile, mask, sum);
  const T *a[L], *const b = tile.b;
  MT_UNROLL for (int l = 0; l < L; ++l) forget(a[l] = tile.a + tile.a_rows[l * W]);
  const int64_t *const a_ks = tile.a_ks, *const b_ks = tile.b_ks, terms = tile.k;
  for (int64_t k = 0; k < terms; ++k) {
    const T* const from = b + b_ks[k];
    const auto x = !loads_part_at_once && whole ? hn::LoadU(d, from) : load_part(d, mask, from);
    MT_UNROLL for (int l = 0; l < L; ++l) {
      const T* line = a[l] + a_ks[k];
      MT_UNROLL for (int w = 0; w < W; ++w) {
        sum[l * W + w][0] = fused(d, hn::Set(d, line[w]), x, sum[l * W + w][0]);
      }
    }
  }
  end_sums<T>(tile, mask, sum);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
