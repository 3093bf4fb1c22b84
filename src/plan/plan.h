// SPDX-License-Identifier: Apache-2.0
// A plan: what one evaluation does, as plain data. Backends run it; nothing in it points to a
// particular evaluation's values, so that it can be kept and used again.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/node.h"
#include "plan/contraction.h"
#include "plan/program.h"

namespace mt {

enum class GroupKind : uint8_t {
  map,       // element by element; one or several segments
  row,       // rows that fit in cache: element-wise, row reductions, and what follows from them
  reduce,    // element-wise, then one reduction over long rows or over leading dimensions
  contract,  // a contraction, then its epilogue, a map or row program over its finished rows
  call,      // one operator by a kernel of its own
};

// An operand of a contraction or a call.
struct Operand {
  int buffer = -1;
  Dtype dtype = Dtype::float32;
  Layout layout;
};

// What each column of a row group's elements is reduced to, in column order (ops/order.h).
struct Total {
  Reduction reduction = Reduction::sum;
  Compute type = Compute::f32;
  Operand output;
};

struct Group {
  GroupKind kind;
  Program program;
  std::vector<Segment> segments;  // one, or several that run the same program

  // reduce: elements are [outer, reduced, inner] in iteration order; the reduced value is
  // register `result`, of type `type`.
  Reduction reduction = Reduction::sum;
  Compute type = Compute::f32;
  int64_t outer = 1, reduced = 1, inner = 1;
  bool in_lanes = false;  // row order (ops/order.h), else column order

  std::vector<Total> totals;  // row

  // contract and call
  const Op* op = nullptr;
  Contraction contraction;
  Attributes attributes;
  std::vector<Operand> inputs;
  Operand output;
  int immediate = -1;
  bool has_epilogue = false;

  std::vector<int> items;  // the region's items computed here, for explain and for errors
};

enum class BufferKind : uint8_t { leaf, output, arena };

struct Buffer {
  BufferKind kind;
  int index = -1;  // of the leaf, or of the item that is stored
  int64_t bytes = 0;
  int64_t offset = 0;  // in the arena
  int donor = -1;      // output: the leaf whose memory it takes over; -1 for fresh memory
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Group> groups;
  int64_t arena_bytes = 0;

  // Set by the backend: its working memory, and what it prepared, with the host memory that takes.
  int64_t scratch_bytes = 0;
  std::shared_ptr<const void> prepared;
  int64_t prepared_bytes = 0;
};

}  // namespace mt
