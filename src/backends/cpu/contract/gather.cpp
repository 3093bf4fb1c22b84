// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/gather.h"

#include "backends/cpu/elementwise/kernels.h"

namespace mt::cpu {
namespace {

template <class T>
void gather_as(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
               const int64_t* ks, int64_t k_count, T* out) {
  with_type(dtype, [&](auto type) {
    auto values = static_cast<const decltype(type)*>(data);
    // Along k first where that walks through memory, else along the rows.
    if (k_count > 1 && ks[1] - ks[0] == 1) {
      for (int64_t r = 0; r < row_count; ++r) {
        auto row = values + rows[r];
        for (int64_t k = 0; k < k_count; ++k) out[k * width + r] = number<T>(row[ks[k]]);
      }
    } else {
      for (int64_t k = 0; k < k_count; ++k) {
        auto column = values + ks[k];
        for (int64_t r = 0; r < row_count; ++r) out[k * width + r] = number<T>(column[rows[r]]);
      }
    }
  });
}

}  // namespace

bool neighbours(const int64_t* offsets, int64_t count) {
  for (int64_t r = 1; r < count; ++r) {
    if (offsets[r] != offsets[r - 1] + 1) return false;
  }
  return true;
}

void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, float* out) {
  if (compute_of(dtype) != Compute::f32 || !neighbours(rows, row_count)) {
    gather_as(dtype, data, rows, row_count, width, ks, k_count, out);
    return;
  }
  const Kernel load = load_kernel(dtype);
  for (int64_t k = 0; k < k_count; ++k) {
    const void* from = static_cast<const char*>(data) + (rows[0] + ks[k]) * int64_t(size_of(dtype));
    load(out + k * width, &from, row_count);
  }
}
void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, double* out) {
  gather_as(dtype, data, rows, row_count, width, ks, k_count, out);
}

void store_rounded(Dtype dtype, const float* from, int64_t count, void* to) {
  const void* inputs[] = {from};
  store_kernel(dtype)(to, inputs, count);
}
void store_rounded(Dtype dtype, const double* from, int64_t count, void* to) {
  with_type(dtype, [&](auto type) {
    auto out = static_cast<decltype(type)*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = number<decltype(type)>(from[i]);
  });
}

}  // namespace mt::cpu
