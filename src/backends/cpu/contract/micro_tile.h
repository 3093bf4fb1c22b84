// SPDX-License-Identifier: Apache-2.0
// The arguments of a micro-kernel (micro_kernel-inl.h); the kernels of the instruction set in use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tensor/dtype.h"

namespace mt::cpu {

// Whether the first-level cache keeps what is read of b (`terms` rows, `step` elements apart) while
// slivers of `rows` rows of a pass, each of which is fetched during the previous one.
inline bool stays_near(int64_t terms, int64_t step, int64_t rows, size_t size) {
  return terms * (std::abs(step) + 2 * rows) * static_cast<int64_t>(size) <= 40 * 1024;
}

// Which lanes of a vector are results, and where in a row of c they go, side by side.
struct KeptLanes {
  uint8_t mask[8];
  alignas(32) uint8_t from[32];  // the same as indices, as wide as lanes, for kernels that permute
  int64_t to, count;
};

template <class T>
struct MicroTile {
  int64_t k;
  const T *a, *b;
  int64_t a_row, a_k, b_k;              // strides
  const int64_t *a_rows, *a_ks, *b_ks;  // or tables of offsets
  T* c;
  int64_t c_row;
  const T* from;  // where the sums so far are: c, unless there are gaps
  int64_t from_row;
  const KeptLanes* kept;  // one for each vector, or nullptr: all lanes; never where b is packed
  const T* fetched;  // lines of c to fetch as they are used next, as many as the tile's; or nullptr
  int64_t columns;   // at most V vectors, more than V - 1
  bool first;        // c holds nothing yet: begin at zero
  bool streamed;     // c is written past the caches; whole aligned vectors only
  int64_t a_ahead;   // how far ahead to prefetch a, once for each 64 bytes along k,
  int64_t b_ahead;   // and b, for each k
  T* packed;         // where a packing kernel leaves its vectors of b, one after the other
  // For a distant b, instead of b_ahead: what to fetch at the first k, as many columns as the tile
  // has, and how far from there at each following k.
  const T* coming;
  int64_t coming_step;
};

template <class T>
using MicroKernel = void (*)(const MicroTile<T>&);
using AnyKernel = void (*)();  // a MicroKernel
template <class T>
void run_kernel(AnyKernel kernel, const MicroTile<T>& tile) {
  reinterpret_cast<MicroKernel<T>>(kernel)(tile);
}

// The kernels that read both operands by strides.
struct StridedKernels {
  // Transposes rows of k neighbours, which begin `step` elements apart, to k rows of whole vectors.
  using Pack = void (*)(const void* from, int64_t step, int64_t rows, int64_t k, void* to);

  int lanes;
  bool take_part;  // whether the last vector of columns may be loaded in part
  // As many vectors of columns as the registers hold for these rows: few rows leave room for more.
  int (*vectors_for)(int64_t rows, int64_t columns);
  int (*rows_for)(int vectors);
  // near: what the kernel reads is in the first-level cache.
  AnyKernel (*find)(int rows, int vectors, bool near);
  Pack pack;  // for at most a panel's columns and block_k terms
};
// By the type of the sums: float32, float64, or int32 and int64, whose kernels' T is unsigned.
StridedKernels strided_kernels(Dtype sum);

}  // namespace mt::cpu
