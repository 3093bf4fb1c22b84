// SPDX-License-Identifier: Apache-2.0
// What blocked.cpp reads where it lies, and the scratch for packing the rest.
#include <algorithm>
#include <cstdlib>

#include "backends/cpu/cache.h"
#include "backends/cpu/contract/blocked.h"
#include "backends/cpu/contract/number.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

constexpr int64_t panel_unit = 64;  // columns that scratch for b is counted in: the widest panel
// Rows too few to repay packing b; and where rows of b share few sets of the caches, of which a
// small second-level cache keeps too little for the next rows of a to find it there. Any that do
// not go as one sliver repay it where b is not so large that it has to come from afar.
constexpr int64_t few_rows = 72, few_rows_of_shared_sets = 18, one_sliver = 6;

// A b is read in place if it has at most `least` bytes; or has `little` or spans `spanning_little`,
// if its rows begin with a line of memory and do not share one or two first-level cache sets. Where
// the second-level cache is small, only if there are few terms.
constexpr int64_t kib = 1024, least = 64 * kib, little = 256 * kib, spanning_little = 1024 * kib;
constexpr int64_t afar = 4096 * kib;

// With at most few_terms terms, packed panels stay in the first-level cache, and many_rows rows
// repay packing them, as the first rows pack as they go.
constexpr int64_t few_terms = 128, many_rows = 240;

}  // namespace

bool reads_a_in_place(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k) {
  const bool near = a.k.size == 1 || std::abs(a.k.stride()) == 1 || a.slides(gathered_often) ||
                    rows * k * int64_t(size_of(sum)) <= first_cache;
  return lies_as(a.dtype, sum) && near;
}

bool reads_b_in_place(const MatrixOperand& b, Dtype sum, int64_t rows, int64_t columns, int64_t k) {
  const bool neighbours = columns == 1 || (b.rows.uniform() && b.rows.stride() == 1);
  const int64_t size = size_of(sum), step = std::abs(b.k.stride()) * size;
  const bool shares_sets = b.k.uniform() && step % 2048 == 0;
  const bool passes_often = small_second_cache && b.k.size > few_terms;
  const bool aligned = b.k.uniform() && step % 64 == 0 && !shares_sets && !passes_often;
  const int64_t few = !small_second_cache || !shares_sets ? few_rows
                      : b.k.size * step <= afar           ? one_sliver
                                                          : few_rows_of_shared_sets;
  const bool small =
      k * columns * size <= (aligned ? little : least) || (aligned && k * step <= spanning_little);
  const bool stays = b.k.uniform() && b.k.size <= few_terms && rows >= many_rows &&
                     columns * size > 256;  // more than a panel
  return lies_as(b.dtype, sum) && neighbours && (rows <= few || (small && !stays) || b.slides());
}

static_assert(group_rows * most_block_k <= paired_rows * block_k);
int64_t packed_a_size(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k) {
  return reads_a_in_place(a, sum, rows, k) ? 0 : paired_rows * std::min(k, block_k);
}

size_t block_scratch(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                     int64_t columns, int64_t k) {
  const size_t size = size_of(sum);
  int64_t packed_b = 0;
  if (columns <= most_block_columns(size) && !reads_b_in_place(b, sum, rows, columns, k)) {
    packed_b = std::min(std::min(k, most_block_k) * round_up(columns, panel_unit),
                        block_k * most_block_columns(size));
  }
  return static_cast<size_t>(packed_a_size(a, sum, rows, k) + packed_b) * size;
}

}  // namespace mt::cpu
