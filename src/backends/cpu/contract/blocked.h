// SPDX-License-Identifier: Apache-2.0
// One thread's share of a contraction whose outputs are single chains: a tile of the result over a
// range of k. See blocked.cpp.
#pragma once

#include "backends/cpu/contract/operand.h"
#include "backends/cpu/contract/tile.h"

namespace mt::cpu {

// What lies packed in a thread's scratch, for the next tile with the same columns.
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
  bool passes;               // each row of c is read by the epilogue alone, wherever it lies
  void* scratch;             // block_scratch bytes
  PackedColumns* packed;     // what of them the block before has left
};

// Terms of a sum in a block, so that its panels stay in the second-level cache. Of one or two
// panels that holds for more terms, whose sums are then begun and ended less often.
constexpr int64_t block_k = 512, most_block_k = 1024;
// Of the slivers that run together: a multiple of every kernel's height and of a line of memory.
constexpr int64_t group_rows = 48;
// The same of slivers that are packed in pairs, over block_k terms, from rows that are pages apart:
// hardware foresees the next lines of so long a part of a row, and fetches them as fast as software
// would.
constexpr int64_t paired_rows = 192;

// Rows that are pages apart meet in few sets of a cache, which keeps less of them.
constexpr bool pages_apart(int64_t bytes) { return bytes % 4096 == 0; }

// Bytes of the rows that the epilogue takes while the first-level cache has them.
constexpr int64_t passing_bytes = 16 * 1024;

// What a tile may have at most, for sums of `size` bytes.
constexpr int64_t most_block_columns(size_t size) { return size == 4 ? 512 : 256; }
// Whether a tile of so many rows and columns over k terms, or any smaller one, reads an operand
// where it lies.
bool reads_a_in_place(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k);
bool reads_b_in_place(const MatrixOperand& b, Dtype sum, int64_t rows, int64_t columns, int64_t k);
// For such tiles: the elements that packing a takes, and the bytes in all.
int64_t packed_a_size(const MatrixOperand& a, Dtype sum, int64_t rows, int64_t k);
size_t block_scratch(const MatrixOperand& a, const MatrixOperand& b, Dtype sum, int64_t rows,
                     int64_t columns, int64_t k);

// Up to which this machine is quicker with a few rows over short windows than with its transpose.
ShortWindows most_short_windows();

void run_block(const Block& block, float);
void run_block(const Block& block, double);

// out[j * pitch + i] = from[i * stride + j], for i in [0, rows) and j in [0, columns).
void store_turned(const float* from, int64_t stride, int64_t rows, int64_t columns, float* out,
                  int64_t pitch);
void store_turned(const double* from, int64_t stride, int64_t rows, int64_t columns, double* out,
                  int64_t pitch);

}  // namespace mt::cpu
