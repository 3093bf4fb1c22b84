// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/contract/gather.h"

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
        for (int64_t k = 0; k < k_count; ++k) out[k * width + r] = convert<T>(row[ks[k]]);
      }
    } else {
      for (int64_t k = 0; k < k_count; ++k) {
        auto column = values + ks[k];
        for (int64_t r = 0; r < row_count; ++r) out[k * width + r] = convert<T>(column[rows[r]]);
      }
    }
  });
}

template <class T>
void store_as(Dtype dtype, const T* from, int64_t count, void* to) {
  with_type(dtype, [&](auto type) {
    auto out = static_cast<decltype(type)*>(to);
    for (int64_t i = 0; i < count; ++i) out[i] = convert<decltype(type)>(from[i]);
  });
}

}  // namespace

void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, float* out) {
  gather_as(dtype, data, rows, row_count, width, ks, k_count, out);
}
void gather(Dtype dtype, const void* data, const int64_t* rows, int64_t row_count, int64_t width,
            const int64_t* ks, int64_t k_count, double* out) {
  gather_as(dtype, data, rows, row_count, width, ks, k_count, out);
}

void store_rounded(Dtype dtype, const float* from, int64_t count, void* to) {
  store_as(dtype, from, count, to);
}
void store_rounded(Dtype dtype, const double* from, int64_t count, void* to) {
  store_as(dtype, from, count, to);
}

}  // namespace mt::cpu
