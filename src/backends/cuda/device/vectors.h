// SPDX-License-Identifier: Apache-2.0
// Numbers that lie next to each other, moved in one access: what generated kernels read and write
// (prepare_vectors.h says which of their memory lies so).
//
// A thread has elements at[0] .. at[together - 1], of which the first `count` are there; `place`
// says where an element lies. Vectors are counted, not found by their first number, of which the
// compiler does not know that it is a multiple.
#pragma once

#include "backends/cuda/device/grid.h"
#include "backends/cuda/device/vector_bytes.h"

namespace mt::cuda {

template <class T, int count>
struct alignas(sizeof(T) * count) Adjacent {
  static_assert(sizeof(T) * count <= vector_bytes);
  T numbers[count];
};

// Each `adjacent` of them lie next to each other.
template <int adjacent, class T, int together, class Place>
__device__ MT_INLINE void read_numbers(const char* data, const int64_t (&at)[together], int count,
                                       T (&x)[together], const Place& place) {
  MT_UNROLL for (int i = 0; i < together; i += adjacent) {
    if (i >= count) continue;
    const auto* vectors = reinterpret_cast<const Adjacent<T, adjacent>*>(data);
    const Adjacent<T, adjacent> vector = load(vectors, place(at[i]) / adjacent);
    MT_UNROLL for (int j = 0; j < adjacent; ++j) x[i + j] = vector.numbers[j];
  }
}

// Each `adjacent` of them are one.
template <int adjacent, class T, int together, class Place>
__device__ MT_INLINE void repeat_numbers(const char* data, const int64_t (&at)[together], int count,
                                         T (&x)[together], const Place& place) {
  MT_UNROLL for (int i = 0; i < together; i += adjacent) {
    if (i >= count) continue;
    const T number = load(reinterpret_cast<const T*>(data), place(at[i]));
    MT_UNROLL for (int j = 0; j < adjacent; ++j) x[i + j] = number;
  }
}

template <int adjacent, class T, int together>
__device__ MT_INLINE void write_numbers(char* data, const int64_t (&at)[together], int count,
                                        const T (&x)[together]) {
  MT_UNROLL for (int i = 0; i < together; i += adjacent) {
    if (i >= count) continue;
    Adjacent<T, adjacent> vector;
    MT_UNROLL for (int j = 0; j < adjacent; ++j) vector.numbers[j] = x[i + j];
    store(reinterpret_cast<Adjacent<T, adjacent>*>(data), at[i] / adjacent, vector);
  }
}

}  // namespace mt::cuda
