// SPDX-License-Identifier: Apache-2.0
// A plan's groups as kernels read them: flat structures whose pointers are device addresses. They
// lie together in one block of device memory, which the host fills before each run (block.h).
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace mt {
struct Instruction;  // plan/program.h
struct Magnitudes;   // ops/bfloat16_split.h
}  // namespace mt

namespace mt::cuda {

constexpr int most_dimensions = 16;

// What tensor cores multiply.
enum class Factor : int32_t { bfloat16, float16, tf32 };

// Shape and strides, without more dimensions than needed.
struct LayoutView {
  int32_t rank;
  int64_t shape[most_dimensions], strides[most_dimensions];
};

struct MemoryView {
  char* data;      // the first element
  int64_t offset;  // that element's own position, for iota
  LayoutView layout;
  Dtype dtype;
  bool contiguous;
};

// A constant, or a random key: an evaluation's Immediates.
struct ConstantView {
  uint64_t value[2];
};

struct SegmentView {
  int64_t rows, columns;
  int64_t first_tile;  // tiles of the segments before this one
  const MemoryView* memory;
  const ConstantView* constants;
};

// Elements as [outer, reduced, inner], of which the reduced ones are taken in `count` panels. Each
// panel gives a number: [outer, count, inner]. Of totals these lie one after the other.
struct PanelsView {
  int64_t outer, reduced, inner, panel, count;
  uint64_t* partials;
};

struct ProgramView {
  const Instruction* instructions;
  const SegmentView* segments;
  const PanelsView* panels;  // of a reduction, or of rows that make totals; else nullptr
  int32_t count, once, registers, segment_count;
};

// An operand of a call or a contraction.
struct ArrayView {
  char* data;
  LayoutView layout;
  Dtype dtype;
};

// An operator that runs by itself. The output is contiguous.
struct CallView {
  ArrayView output;
  const ArrayView* inputs;
  const int64_t* attributes;
  int32_t input_count;
  ConstantView immediate;
};

// Dimensions of a contraction's operand that count as one.
struct AxesView {
  int32_t count;
  int64_t size[most_dimensions], stride[most_dimensions];
};

struct ContractionView {
  const char *a, *b;
  char *out, *slabs;
  int64_t batch, m, n, k, panels, panel;
  AxesView a_batch, b_batch, a_rows, b_rows, a_k, b_k;
  Dtype a_dtype, b_dtype, out_dtype;
  bool a_along_k, b_along_k;    // memory is contiguous along k rather than along m or n
  const ProgramView* epilogue;  // element-wise, or nullptr
  // In a precision mode (contract_split.cu), else nullptr: which batch entries are strict after
  // all.
  int32_t* refused;
};

// What such a contraction's operands become: [batch, parts, rows, k] of bfloat16.
struct SplitView {
  ContractionView product;
  int64_t a_part, b_part;  // elements from one part to the next
  Magnitudes* seen;        // by the blocks that split a, then by those that split b
};

}  // namespace mt::cuda
