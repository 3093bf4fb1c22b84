// SPDX-License-Identifier: Apache-2.0
// What lanes.cpp reads of an operand along k. Included once for each instruction set.
#if defined(MT_CONTRACT_ROWS_ALONG_K_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_ROWS_ALONG_K_INL_H
#undef MT_CONTRACT_ROWS_ALONG_K_INL_H
#else
#define MT_CONTRACT_ROWS_ALONG_K_INL_H
#endif

#include <algorithm>

#include "backends/cpu/contract/lanes.h"
#include "backends/cpu/contract/pack-inl.h"
#include "backends/cpu/contract/windows/stretches-inl.h"
#include "backends/cpu/strided/strided.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Whether elements are 16-bit floats to be widened; and widens `count` of each row, row after row.
template <class T>
bool widens(Dtype dtype) {
  return sizeof(T) == 4 && is_half(dtype);
}
template <class T>
void widen_rows(Kernel widen, const void* from, int64_t stride, int64_t rows, int64_t count,
                T* to) {
  if (stride == count) {
    count *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; ++i, to += count) {
    const void* line = static_cast<const uint16_t*>(from) + i * stride;
    widen(to, &line, count);
  }
}

// Rows of an operand over a block of k, as k-contiguous memory of type T: where they lie if they
// are that already, else a copy in `packed`.
template <class T>
struct RowsAlongK {
  const MatrixOperand& x;
  const void* from;
  T* packed;
  bool direct, stretches;
  Kernel widen = nullptr;  // of 16-bit floats along k
  const T* data = nullptr;
  int64_t stride = lanes_block_k;
  Layout along;  // k
  int64_t ks[lanes_block_k];

  HWY_NOINLINE RowsAlongK(const MatrixOperand& operand, const void* entry, T* scratch)
      : x(operand), from(entry), packed(scratch) {
    direct = x.dtype == dtype_of<T> && x.rows.uniform() && x.k.uniform() &&
             (x.k.stride() == 1 || x.k.size == 1);
    if (direct) stride = x.rows.stride();
    stretches = !direct && x.dtype == dtype_of<T> && has_stretches(x);
    along = {Shape(x.k.sizes, x.k.rank), Strides(x.k.strides, x.k.rank), 0};
    const bool along_k = x.rows.uniform() && x.k.uniform() && x.k.stride() == 1;
    if (along_k && widens<T>(x.dtype)) widen = load_kernel(x.dtype);
  }
  void begin_block(int64_t k, int64_t k_count) {
    if (x.dtype != dtype_of<T> && !widen) x.k.offsets(k, k_count, ks);
  }
  // Where the 16-bit floats that widen() is to read lie.
  const uint16_t* halves(int64_t row, int64_t k) const {
    return static_cast<const uint16_t*>(from) + x.rows.offset(row) + k;
  }
  void load(int64_t row, int64_t rows, int64_t k, int64_t k_count) {
    if (direct) {
      data = static_cast<const T*>(from) + row * stride + k;
    } else {
      copy(row, rows, k, k_count);
    }
  }

 private:
  HWY_NOINLINE void copy(int64_t row, int64_t rows, int64_t k, int64_t k_count) {
    if (stretches) {
      for (int64_t i = 0; i < rows; ++i) load_stretches(x.rows.offset(row + i), i, k, k_count);
      return;
    }
    data = packed;
    if (widen) {
      stride = k_count;
      return widen_rows(widen, halves(row, k), x.rows.stride(), rows, k_count, packed);
    }
    for (int64_t i = 0; i < rows; ++i) {
      int64_t offset = x.rows.offset(row + i);
      T* to = packed + i * lanes_block_k;
      if (x.dtype == dtype_of<T>) {
        gather_strided(to, static_cast<const T*>(from) + offset, sizeof(T), along, k, k_count);
      } else {
        gather(x.dtype, from, ks, k_count, k_count, &offset, 1, to);
      }
    }
  }
  // Loads one row; in place if it is the operand's only row and within one stretch.
  void load_stretches(int64_t offset, int64_t row, int64_t k, int64_t k_count) {
    const T* begin = static_cast<const T*>(from) + offset;
    x.k.for_runs(k, k_count, [&](int64_t position, int64_t first, int64_t length) {
      if (length == k_count && x.rows.size == 1) {
        data = begin + first;
        return;
      }
      data = packed;
      std::copy_n(begin + first, length, packed + row * lanes_block_k + position);
    });
  }
};

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
