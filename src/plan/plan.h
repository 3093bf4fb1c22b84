// SPDX-License-Identifier: Apache-2.0
// A plan: what one evaluation does, as plain data. Backends run it; nothing in it points to a
// particular evaluation's values, so that it can be kept and used again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "graph/node.h"
#include "plan/contraction.h"
#include "plan/program.h"

namespace mt {

// A whole operand of a contraction or a call, or a whole result.
struct Operand {
  int buffer = -1;
  Dtype dtype = Dtype::float32;
  Layout layout;
};

// A reduction of each column of a row group over its rows, in column order (ops/order.h).
struct Total {
  Reduction reduction = Reduction::sum;
  Compute type = Compute::f32;
  Operand output;
};

struct FusedProgram {
  Program program;
  std::vector<Segment> segments;  // one, or several that run the same program
  std::vector<Total> totals;      // of row programs only
};

// The kinds of groups. Element by element:
struct MapGroup : FusedProgram {};

// Rows that fit in cache: element-wise, row reductions, and what follows from them.
struct RowGroup : FusedProgram {};

// Element-wise, then one reduction over long rows or over leading dimensions. The elements are
// [outer, reduced, inner] in iteration order. The program's last instruction stands for the
// reduction, which the backend carries out over all of `reduced`.
struct ReduceGroup : FusedProgram {
  Reduction reduction = Reduction::sum;
  Compute type = Compute::f32;
  int64_t outer = 1, reduced = 1, inner = 1;
  bool in_lanes = false;  // row order (ops/order.h), else column order
  Operand output;
};

// A contraction, then perhaps its epilogue: a map or row program over its finished rows.
struct ContractGroup {
  Contraction contraction;
  Operand a, b, output;
  std::optional<FusedProgram> epilogue;
  bool passes = false;  // only the epilogue reads the result, in a buffer private to the group
};

// One operator, by a kernel of its own.
struct CallGroup {
  const Op* op = nullptr;
  Attributes attributes;
  int immediate = -1;  // the item whose immediates it takes
  std::vector<Operand> inputs;
  Operand output;
};

enum class GroupKind : uint8_t { map, row, reduce, contract, call };

struct Group {
  std::variant<MapGroup, RowGroup, ReduceGroup, ContractGroup, CallGroup> work;  // as GroupKind
  std::vector<int> items;  // the region's items computed here, for explain and for errors

  GroupKind kind() const { return static_cast<GroupKind>(work.index()); }
};

// The program that a group runs; nullptr for a call, and for a contraction without an epilogue.
const FusedProgram* fused_program(const Group& group);
FusedProgram* fused_program(Group& group);

// Append the buffers that a group reads or writes, once for each read or write.
void buffers_read(const Group& group, std::vector<int>* buffers);
void buffers_written(const Group& group, std::vector<int>* buffers);

enum class BufferKind : uint8_t { leaf, output, arena };

struct Buffer {
  BufferKind kind;
  int index = -1;  // of the leaf, or of the item
  int64_t bytes = 0;
  int64_t offset = 0;     // in the arena
  int donor = -1;         // output: the leaf whose memory it takes over; -1 for fresh memory
  bool replaced = false;  // leaf: an output takes over its memory, as a weight's new value does
  int within = -1;        // leaf: another one, of which it is a view and which may be replaced
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Group> groups;
  int64_t arena_bytes = 0;

  // Set by the backend: its working memory; what it prepared, and the host memory that takes.
  int64_t scratch_bytes = 0;
  std::shared_ptr<const void> prepared;
  int64_t prepared_bytes = 0;
};

}  // namespace mt
