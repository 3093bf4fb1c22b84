// SPDX-License-Identifier: Apache-2.0
// One thread's share of a contraction whose outputs are single chains: a tile of the result over a
// range of k. See blocked.cpp.
#pragma once

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"

namespace mt::cpu {

// Which columns of b lie packed in a thread's scratch, for the next tile that has the same ones.
struct PackedColumns {
  const void* data = nullptr;  // null: nothing
  const void* from;            // where the batch entry begins
  int64_t k_begin, k_count, column_begin, columns, panel;
  bool operator==(const PackedColumns&) const = default;
};

struct Block {
  const MatrixOperand* a;
  const MatrixOperand* b;
  const void *a_data, *b_data;  // where the batch entry begins
  int64_t k_begin, k_end;
  Tile tile;
  void* c;                   // element (row_begin, column_begin), float or double
  int64_t c_row;             // c's row stride
  const Epilogue* epilogue;  // run as rows become final; nullptr when c is not the result itself
  bool streamed;             // c is large, written once, and not read again here
  bool passes;               // only the epilogue reads c, so its rows may lie anywhere
  void* scratch;             // block_scratch bytes
  PackedColumns* packed;     // the columns that the previous block left packed
};

// Terms in a block, few enough that its panels stay in the second-level cache. If there are only
// one or two panels, more terms fit there, and sums are begun and ended less often.
constexpr int64_t block_k = 512, most_block_k = 1024;
// Rows of the slivers that run together: a multiple of all kernels' heights, except those for lines
// of five, and of a line of memory.
constexpr int64_t group_rows = 48;
// The same for slivers that are packed in pairs, over block_k terms, from rows of memory that are
// pages apart: in so long a part of a row hardware foresees the next lines, and fetches them as
// fast as software would.
constexpr int64_t paired_rows = 192;

// Rows that are pages apart share few sets of a cache, which therefore keeps less of them.
constexpr bool pages_apart(int64_t bytes) { return bytes % 4096 == 0; }

// Bytes of the rows that the epilogue takes at a time, while they are in the first-level cache.
constexpr int64_t passing_bytes = 16 * 1024;

// The most columns of a tile, for sums of `size` bytes.
constexpr int64_t most_block_columns(size_t size) { return size == 4 ? 512 : 256; }
// Whether a tile of rows x columns over k terms, or any smaller one, reads an operand in place.
bool reads_a_in_place(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k);
bool reads_b_in_place(const MatrixOperand& b, Dtype sum, int64_t rows, int64_t columns, int64_t k);
// The scratch of such tiles: elements for a packed a, and bytes in all.
int64_t packed_a_size(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k);
size_t block_scratch(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                     int64_t columns, int64_t k);

// Limits up to which this machine computes short windows faster than the result's transpose.
ShortWindows most_short_windows();

void run_block(const Block& block, float);
void run_block(const Block& block, double);

// out[j * pitch + i] = from[i * stride + j], for i in [0, rows) and j in [0, columns).
void store_turned(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                  int64_t pitch);
void store_turned(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                  int64_t pitch);

}  // namespace mt::cpu
