// SPDX-License-Identifier: Apache-2.0
// One thread's share of a contraction whose outputs are single chains: a tile of the result over a
// range of k. See blocked.cpp.
#pragma once

#include "backends/cpu/contract/contract.h"
#include "backends/cpu/contract/operand.h"

namespace mt::cpu {

struct Block {
  const Operand* a;
  const Operand* b;
  int64_t a_base, b_base;  // where the batch entry begins, in elements
  int64_t k_begin, k_end;
  Tile tile;
  void* c;                   // element (row_begin, column_begin), float or double
  int64_t c_row;             // c's row stride
  const Epilogue* epilogue;  // run as rows become final; nullptr when c is not the result itself
  bool streamed;             // c is large, written once, and not read again here
  void* scratch;             // block_scratch bytes
};

// What a tile may have at most, for sums of `size` bytes.
constexpr int64_t most_block_columns(size_t size) { return size == 4 ? 512 : 256; }
// For sums of `size` bytes over k terms, in tiles of so many columns.
size_t block_scratch(size_t size, int64_t k, int64_t columns);

void run_block(const Block& block, float);
void run_block(const Block& block, double);

}  // namespace mt::cpu
