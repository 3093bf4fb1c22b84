// SPDX-License-Identifier: Apache-2.0
// The micro-kernel for a tile's rows, columns and operands.
#if defined(MT_CONTRACT_FIND_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_CONTRACT_FIND_KERNEL_INL_H
#undef MT_CONTRACT_FIND_KERNEL_INL_H
#else
#define MT_CONTRACT_FIND_KERNEL_INL_H
#endif

#include <array>
#include <utility>

#include "backends/cpu/contract/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mt::cpu::HWY_NAMESPACE {

// Which lines, of `width` elements, have kernels: only those of float, as others are rare; and how
// many lines a kernel takes at most.
template <class T>
constexpr bool has_lines_kernels = sizeof(T) == 4 && HWY_TARGET != HWY_SCALAR;
template <class T>
constexpr bool has_lines_kernel(int64_t width) {
  return has_lines_kernels<T> && (width == 3 || width == 5);
}
constexpr int lines_for(int64_t width) { return (tile_registers + 1) / static_cast<int>(width); }
template <class T, int W, int... I>
constexpr std::array<MicroKernel<T>, sizeof...(I)> lines_kernels(std::integer_sequence<int, I...>) {
  return {lines_kernel<T, I + 1, W>...};
}
template <class T>
MicroKernel<T> lines_kernel_for(int64_t lines, int64_t width) {
  if constexpr (has_lines_kernels<T>) {
    static constexpr auto threes =
        lines_kernels<T, 3>(std::make_integer_sequence<int, lines_for(3)>());
    static constexpr auto fives =
        lines_kernels<T, 5>(std::make_integer_sequence<int, lines_for(5)>());
    return width == 3 ? threes[lines - 1] : fives[lines - 1];
  }
  return nullptr;
}

// How a kernel reads its operands: both through tables of offsets; only a, as b is packed; both by
// strides; the same, but b is not fetched ahead.
enum class Reads { indexed, a_indexed, strided, b_unfetched };
template <class T, int R, int V, Reads reads>
constexpr MicroKernel<T> micro_kernel() {
  constexpr Distant distant = reads == Reads::b_unfetched ? Distant::a : Distant::fetched;
  if constexpr (reads == Reads::indexed || reads == Reads::a_indexed) {
    return indexed_kernel<T, R, V, reads == Reads::a_indexed>;
  } else {
    return strided_kernel<T, R, V, distant>;
  }
}
template <class T, int V, Reads reads, int... I>
constexpr std::array<MicroKernel<T>, most_rows> micro_kernel_rows(
    std::integer_sequence<int, I...>) {
  return {micro_kernel<T, I + 1, V, reads>()...};
}
template <class T, Reads reads, int... V>
constexpr std::array<std::array<MicroKernel<T>, most_rows>, most_vectors> micro_kernel_table(
    std::integer_sequence<int, V...>) {
  return {
      micro_kernel_rows<T, V + 1, reads>(std::make_integer_sequence<int, rows_for(V + 1)>())...};
}

// Kernels that pack have as many rows as others of most_vectors have at most; with AVX2, where few
// rows of a are packed for, or fewer.
constexpr int most_packing_rows = rows_for(most_vectors);
constexpr int fewest_packing_rows = HWY_TARGET == HWY_AVX2 ? 4 : most_packing_rows;
template <class T, int R, int... V>
constexpr std::array<MicroKernel<T>, most_vectors> packing_kernels(
    std::integer_sequence<int, V...>) {
  return {strided_kernel<T, R, V + 1, Distant::packed>...};
}
template <class T, int... I>
constexpr std::array<std::array<MicroKernel<T>, most_vectors>, sizeof...(I)> packing_kernel_table(
    std::integer_sequence<int, I...>) {
  using Widths = std::make_integer_sequence<int, most_vectors>;
  return {packing_kernels<T, fewest_packing_rows + I>(Widths())...};
}
template <class T>
MicroKernel<T> packing_kernel_for(int rows, int vectors) {
  constexpr int heights = most_packing_rows - fewest_packing_rows + 1;
  static constexpr auto table = packing_kernel_table<T>(std::make_integer_sequence<int, heights>());
  return table[rows - fewest_packing_rows][vectors - 1];
}

// The kernel for `rows` rows (at most rows_for(vectors)) and `vectors` vectors of columns.
template <class T>
MicroKernel<T> micro_kernel_for(int rows, int vectors, Reads reads) {
  using Widths = std::make_integer_sequence<int, most_vectors>;
  static constexpr std::array tables = {micro_kernel_table<T, Reads::indexed>(Widths()),
                                        micro_kernel_table<T, Reads::a_indexed>(Widths()),
                                        micro_kernel_table<T, Reads::strided>(Widths()),
                                        micro_kernel_table<T, Reads::b_unfetched>(Widths())};
  return tables[static_cast<size_t>(reads)][vectors - 1][rows - 1];
}

// The same where operands are read by strides and lie near by.
template <class T, int... I>
constexpr std::array<MicroKernel<T>, sizeof...(I)> near_kernel_table(
    std::integer_sequence<int, I...>) {
  return {strided_kernel<T, I + 1, most_vectors, Distant::none>...};
}
template <class T>
MicroKernel<T> near_kernel_for(int rows, int vectors) {
  static constexpr auto table =
      near_kernel_table<T>(std::make_integer_sequence<int, rows_for(most_vectors)>());
  return vectors == most_vectors ? table[rows - 1]
                                 : micro_kernel_for<T>(rows, vectors, Reads::b_unfetched);
}

// The same where b comes from far away: for narrow panels, which request lines at an even pace.
constexpr int fewest_far_rows = 4;
template <class T, int... I>
constexpr std::array<MicroKernel<T>, sizeof...(I)> far_kernel_table(
    std::integer_sequence<int, I...>) {
  return {strided_kernel<T, fewest_far_rows + I, narrow_vectors, Distant::far>...};
}
template <class T>
MicroKernel<T> far_kernel_for(int rows, int vectors) {
  constexpr int heights = narrow_vectors == 2 ? rows_for(narrow_vectors) - fewest_far_rows + 1 : 0;
  if constexpr (heights > 0) {
    static constexpr auto table = far_kernel_table<T>(std::make_integer_sequence<int, heights>());
    if (vectors == narrow_vectors && rows >= fewest_far_rows) return table[rows - fewest_far_rows];
  }
  return micro_kernel_for<T>(rows, vectors, Reads::strided);
}

}  // namespace mt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
