// SPDX-License-Identifier: Apache-2.0
// Packing: a block of an operand, [width rows, count of k] wherever its elements lie, becomes
// out[k][width] in the type of the sums, which the micro-kernel then reads from end to end. What
// the strides allow is done by vectors: rows that are neighbours are copied, runs along k are
// transposed in registers four at a time; all else is gathered element by element.
#if defined(MT_CONTRACT_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_PACK_INL_H
#undef MT_CONTRACT_PACK_INL_H
#else
#define MT_CONTRACT_PACK_INL_H
#endif

#include "backends/cpu/contract/gather.h"
#include "backends/cpu/contract/simd-inl.h"
#include "backends/cpu/elementwise/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
// Row i of the result has 128-bit blocks from rows i, i + step, i + 2 step, ... of the operand,
// step being the elements of a block.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* data, const int64_t* rows) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) <= 16) {
    return hn::LoadU(d, data + rows[0]);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, data, rows + hn::MaxLanes(half)),
                       load_blocks(half, data, rows));
  }
}

// Transposes 16 bytes along k of as many rows as a vector has lanes.
template <class D>
HWY_INLINE void transpose(D d, const float* data, const int64_t* rows, int64_t count, int64_t width,
                          float* out) {
  const hn::Repartition<double, D> wide;
  auto x0 = load_blocks(d, data, rows), x1 = load_blocks(d, data, rows + 1);
  auto x2 = load_blocks(d, data, rows + 2), x3 = load_blocks(d, data, rows + 3);
  auto low01 = hn::BitCast(wide, hn::InterleaveLower(d, x0, x1));
  auto low23 = hn::BitCast(wide, hn::InterleaveLower(d, x2, x3));
  auto high01 = hn::BitCast(wide, hn::InterleaveUpper(d, x0, x1));
  auto high23 = hn::BitCast(wide, hn::InterleaveUpper(d, x2, x3));
  hn::Vec<D> ks[4] = {hn::BitCast(d, hn::InterleaveLower(wide, low01, low23)),
                      hn::BitCast(d, hn::InterleaveUpper(wide, low01, low23)),
                      hn::BitCast(d, hn::InterleaveLower(wide, high01, high23)),
                      hn::BitCast(d, hn::InterleaveUpper(wide, high01, high23))};
  if (count >= static_cast<int64_t>(hn::MaxLanes(d))) {
    MT_UNROLL for (int k = 0; k < 4; ++k) hn::StoreU(ks[k], d, out + k * width);
  } else {
    const auto mask = hn::FirstN(d, static_cast<size_t>(count));
    MT_UNROLL for (int k = 0; k < 4; ++k) store_part(ks[k], d, mask, out + k * width);
  }
}
template <class D>
HWY_INLINE void transpose(D d, const double* data, const int64_t* rows, int64_t count,
                          int64_t width, double* out) {
  auto x0 = load_blocks(d, data, rows), x1 = load_blocks(d, data, rows + 1);
  hn::Vec<D> ks[2] = {hn::InterleaveLower(d, x0, x1), hn::InterleaveUpper(d, x0, x1)};
  if (count >= static_cast<int64_t>(hn::MaxLanes(d))) {
    MT_UNROLL for (int k = 0; k < 2; ++k) hn::StoreU(ks[k], d, out + k * width);
  } else {
    const auto mask = hn::FirstN(d, static_cast<size_t>(count));
    MT_UNROLL for (int k = 0; k < 2; ++k) store_part(ks[k], d, mask, out + k * width);
  }
}

// Up to one vector of rows. rows has as many entries as the vector has lanes, whatever `used` is.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void pack_along_k(D d, const T* data, const int64_t* rows, int64_t used,
                             const int64_t* ks, int64_t k_count, int64_t width, T* out) {
  constexpr int64_t step = 16 / sizeof(T);
  int64_t k = 0;
  while (k < k_count) {
    if (k + step <= k_count && ks[k + step - 1] - ks[k] == step - 1 &&
        ks[k + step / 2] - ks[k] == step / 2 && ks[k + 1] - ks[k] == 1) {
      transpose(d, data + ks[k], rows, used, width, out + k * width);
      k += step;
    } else {
      for (int64_t r = 0; r < used; ++r) out[k * width + r] = data[rows[r] + ks[k]];
      ++k;
    }
  }
}

#endif  // HWY_SCALAR

// Rows that lie one after the other: [begin, end) in the packed row.
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
      int64_t r = runs[i].begin;
      for (; r + lanes <= runs[i].end; r += lanes) hn::StoreU(hn::LoadU(d, from + r), d, out + r);
      if (r < runs[i].end) {
        const auto mask = hn::FirstN(d, static_cast<size_t>(runs[i].end - r));
        store_part(load_part(d, mask, from + r), d, mask, out + r);
      }
    }
  }
}

constexpr int64_t most_width = 64;

// Rows as runs along k: the rows of `data` in groups of one vector.
template <class T>
void pack_rows_along_k(const T* data, const int64_t* rows, int64_t used, const int64_t* ks,
                       int64_t k_count, int64_t width, T* out) {
#if HWY_TARGET == HWY_SCALAR
  gather(dtype_of<T>, data, rows, used, width, ks, k_count, out);
#else
  constexpr int64_t lanes = lanes_of<T>;
  int64_t padded[lanes];
  for (int64_t r = 0; r < used; r += lanes) {
    int64_t left = used - r < lanes ? used - r : lanes;
    for (int64_t i = 0; i < lanes; ++i) padded[i] = rows[r + (i < left ? i : left - 1)];
    if (left * 4 > lanes || lanes <= 4) {
      pack_along_k(Vectors<T>(), data, padded, left, ks, k_count, width, out + r);
    } else {
      const hn::CappedTag<T, 16 / sizeof(T)> narrow;
      pack_along_k(narrow, data, padded, left, ks, k_count, width, out + r);
    }
  }
#endif
}

// 16-bit floats whose k is contiguous: widened in small blocks, which are then as any others.
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
    pack_rows_along_k(block, block_rows, used, block_ks, count, width, out + k * width);
  }
}

// used rows of at most `width`; the rest of each packed row is zero. rows and ks are offsets.
template <class T>
void pack(Dtype dtype, const void* data, const int64_t* rows, int64_t used, int64_t width,
          const int64_t* ks, int64_t k_count, T* out) {
  if (used < width) {
    for (int64_t k = 0; k < k_count; ++k) {
      for (int64_t r = used; r < width; ++r) out[k * width + r] = 0;
    }
  }
  const bool along_k = k_count >= 4 && ks[1] == ks[0] + 1;
  if (dtype != dtype_of<T>) {
    if constexpr (sizeof(T) == 4) {
      if (along_k && is_half(dtype))
        return pack_widened(dtype, data, rows, used, ks, k_count, width, out);
    }
    gather(dtype, data, rows, used, width, ks, k_count, out);
    return;
  }
  const T* values = static_cast<const T*>(data);
  RowRun runs[most_width];
  const int64_t run_count = find_runs(rows, used, runs);
  if (used > 1 && run_count * 2 <= used) {
    pack_along_rows(values, rows, runs, run_count, ks, k_count, width, out);
  } else if (along_k) {
    pack_rows_along_k(values, rows, used, ks, k_count, width, out);
  } else {
    gather(dtype, data, rows, used, width, ks, k_count, out);
  }
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
