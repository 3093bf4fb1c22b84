// SPDX-License-Identifier: Apache-2.0
// Packing: a block of an operand, [width rows, count of k] wherever its elements lie, becomes
// out[k][width] in the type of the sums, which the micro-kernel then reads from end to end. What
// the strides allow is done by vectors: rows that are neighbours are copied, runs along k are
// transposed four at a time (transpose-inl.h); all else is gathered element by element.
#if defined(MT_CONTRACT_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_PACK_INL_H
#undef MT_CONTRACT_PACK_INL_H
#else
#define MT_CONTRACT_PACK_INL_H
#endif

#include <algorithm>
#include <numeric>

#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/transpose-inl.h"
#include "backends/cpu/elementwise/kernels.h"
#include "backends/cpu/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Rows that are neighbours in memory: [begin, end) in each packed row.
struct RowRun {
  int64_t begin, end;
};

inline int64_t find_runs(const int64_t* rows, int64_t count, RowRun* runs) {
  int64_t found = 0;
  for (int64_t r = 0; r < count; ++r) {
    if (r == 0 || rows[r] != rows[r - 1] + 1) runs[found++].begin = r;
    runs[found - 1].end = r + 1;
  }
  return found;
}

template <class T>
void pack_along_rows(const T* data, const int64_t* rows, const RowRun* runs, int64_t run_count,
                     const int64_t* ks, int64_t k_count, int64_t width, T* out) {
  const Vectors<T> d;
  constexpr int64_t lanes = lanes_of<T>;
  for (int64_t k = 0; k < k_count; ++k, out += width) {
    for (int64_t i = 0; i < run_count; ++i) {
      const T* from = data + rows[runs[i].begin] + ks[k] - runs[i].begin;
      const T* ahead = from - ks[k] + ks[std::min(k + 8, k_count - 1)];
      int64_t r = runs[i].begin;
      for (; r + lanes <= runs[i].end; r += lanes) {
        hwy::Prefetch(ahead + r);
        hn::StoreU(hn::LoadU(d, from + r), d, out + r);
      }
      if (r < runs[i].end) {
        const auto mask = hn::FirstN(d, runs[i].end - r);
        store_part(load_part(d, mask, from + r), d, mask, out + r);
      }
    }
  }
}

// Packs rows that are neighbours, in groups of a few: each group becomes [k_count, its rows], one
// after the other. Each line of memory, and the page it is in, is looked up once for all groups.
template <class T>
void pack_groups(const T* from, int64_t stride, const int64_t* rows, int64_t groups,
                 int64_t k_count, T* out) {
  const Vectors<T> d;
  constexpr int64_t lanes = lanes_of<T>, line = 64 / sizeof(T), together = 8;
  const bool fetches = !pages_apart(stride * int64_t(sizeof(T)));
  const int64_t width = fetches ? std::accumulate(rows, rows + groups, int64_t{0}) : 0;
  for (int64_t k = 0; k < k_count; k += together, from += together * stride) {
    const int64_t count = std::min(together, k_count - k);
    for (int64_t i = 0; i < together; ++i) {
      for (int64_t r = 0; r < width; r += line) hwy::Prefetch(from + (together + i) * stride + r);
    }
    const T* x = from;
    T* group = out;
    for (int64_t i = 0; i < groups; ++i) {
      const int64_t size = rows[i], whole = size / lanes * lanes;
      const auto mask = hn::FirstN(d, size - whole);
      const T* row = x;
      T* to = group + k * size;
      for (int64_t j = 0; j < count; ++j, row += stride, to += size) {
        for (int64_t r = 0; r < whole; r += lanes) hn::StoreU(hn::LoadU(d, row + r), d, to + r);
        if (whole < size) store_part(load_part(d, mask, row + whole), d, mask, to + whole);
      }
      x += size;
      group += size * k_count;
    }
  }
}

constexpr int64_t most_width = 64;

// Clears the last vector of each packed row, before the elements that exist are stored.
template <class T>
void clear_last_vectors(int64_t k_count, int64_t width, T* out) {
  const Vectors<T> d;
  for (int64_t k = 1; k <= k_count; ++k) {
    hn::StoreU(hn::Zero(d), d, out + k * width - lanes_of<T>);
  }
}

inline bool evenly_apart(const int64_t* rows, int64_t count) {
  for (int64_t i = 2; i < count; ++i) {
    if (rows[i] - rows[i - 1] != rows[1] - rows[0]) return false;
  }
  return true;
}

// Packs rows as runs along k, a vector of rows at a time.
template <class T>
void pack_rows_along_k(const T* data, const int64_t* rows, int64_t used, const int64_t* ks,
                       int64_t k_count, int64_t width, T* out, [[maybe_unused]] bool unbroken) {
#if HWY_TARGET == HWY_SCALAR
  gather(dtype_of<T>, data, rows, used, width, ks, k_count, out);
#else
  constexpr int64_t lanes = lanes_of<T>;
  int64_t turned = sizeof(T) == 4 ? used / lanes * lanes : 0;
  if (turned > 0 && evenly_apart(rows, turned) && (unbroken || neighbours(ks, k_count))) {
    turn_block(data + rows[0] + ks[0], rows[1] - rows[0], turned, k_count, out, width);
  } else {
    turned = 0;
  }
  int64_t padded[lanes];
  for (int64_t r = turned; r < used; r += lanes) {
    const int64_t left = std::min(used - r, lanes);
    const int64_t stored = std::min(width - r, lanes);  // repeating a row is as good as zeros
    if (left == lanes && evenly_apart(rows + r, lanes)) {
      const EvenRows<T> from(data + rows[r], rows[r + 1] - rows[r]);
      pack_along_k(Vectors<T>(), from, lanes, ks, k_count, width, out + r);
      continue;
    }
    for (int64_t i = 0; i < lanes; ++i) padded[i] = rows[r + std::min(i, left - 1)];
    const ScatteredRows<T> from{data, padded};
    if (left * 4 > lanes || lanes <= 4) {
      pack_along_k(Vectors<T>(), from, stored, ks, k_count, width, out + r);
    } else {
      const hn::CappedTag<T, 16 / sizeof(T)> narrow;
      if (left < stored) clear_last_vectors(k_count, width, out);
      pack_along_k(narrow, from, left, ks, k_count, width, out + r);
    }
  }
#endif
}

// Packs 16-bit floats whose k is contiguous: widened in small blocks, which are packed like others.
inline void pack_widened(Dtype dtype, const void* data, const int64_t* rows, int64_t used,
                         const int64_t* ks, int64_t k_count, int64_t width, float* out) {
  constexpr int64_t most = 64;
  HWY_ALIGN float block[most_width * most];
  int64_t block_rows[most_width], block_ks[most];
  for (int64_t r = 0; r < used; ++r) block_rows[r] = r * most;
  for (int64_t i = 0; i < most; ++i) block_ks[i] = i;
  const Kernel load = load_kernel(dtype);
  const char* bytes = static_cast<const char*>(data);
  for (int64_t k = 0; k < k_count; k += most) {
    const int64_t count = k_count - k < most ? k_count - k : most;
    const bool contiguous = neighbours(ks + k, count);
    for (int64_t r = 0; r < used; ++r) {
      if (contiguous) {
        const void* from = bytes + (rows[r] + ks[k]) * 2;
        load(block + r * most, &from, count);
      } else {
        gather(dtype, data, ks + k, count, count, rows + r, 1, block + r * most);
      }
    }
    pack_rows_along_k(block, block_rows, used, block_ks, count, width, out + k * width, true);
  }
}

// Packs `used` rows to a width of `width`, which may be larger to make up whole vectors. What is in
// the rest does not matter, but is overwritten, as it could slow arithmetic down. rows and ks are
// offsets; `unbroken`: ks are known to be consecutive. [[gnu::used]] keeps gcc from making a clone
// in each file that includes this.
template <class T>
[[gnu::used]] void pack(Dtype dtype, const void* data, const int64_t* rows, int64_t used,
                        int64_t width, const int64_t* ks, int64_t k_count, T* out,
                        bool unbroken = false) {
  const bool along_k = k_count >= 4 && ks[1] == ks[0] + 1;
  if (dtype != dtype_of<T>) {
    if constexpr (sizeof(T) == 4) {
      if (along_k && is_half(dtype))
        return pack_widened(dtype, data, rows, used, ks, k_count, width, out);
    }
    if (used < width) clear_last_vectors(k_count, width, out);
    gather(dtype, data, rows, used, width, ks, k_count, out);
    return;
  }
  const T* values = static_cast<const T*>(data);
  RowRun runs[most_width];
  const int64_t run_count = find_runs(rows, used, runs);
  const bool by_runs = used > 1 && run_count * 2 <= used;
  if (along_k && !by_runs) {
    pack_rows_along_k(values, rows, used, ks, k_count, width, out, unbroken);
    return;
  }
  if (used < width) clear_last_vectors(k_count, width, out);
#if HWY_TARGET != HWY_SCALAR
  if (k_count == 2 && ks[1] == ks[0] + 1 && used > 1 && rows[1] == rows[0] + 2 &&
      evenly_apart(rows, used)) {
    return part_pairs(values + rows[0] + ks[0], used, out, width);
  }
#endif
  if (by_runs) {
    pack_along_rows(values, rows, runs, run_count, ks, k_count, width, out);
  } else {
    gather(dtype, data, rows, used, width, ks, k_count, out);
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
