// SPDX-License-Identifier: Apache-2.0
// Which items of a region run together.
#pragma once

#include <vector>

#include "fusion/region.h"
#include "plan/plan.h"

namespace mt {

// A group while it is being formed. Its iteration is row_shape x column_shape.
struct Draft {
  GroupKind kind;
  Shape row_shape, column_shape;
  // Non-empty: element values are read in this order of dimensions, all having this shape.
  Dims permutation;
  Shape permuted_shape;
  std::vector<int> items;  // in recorded order; the last one started the group
  int64_t inner = 1;       // a reduction's kept elements that come after the reduced ones
  int contraction = -1;    // the contract item whose epilogue this group is

  int64_t rows() const { return element_count(row_shape); }
  int64_t columns() const { return element_count(column_shape); }
};

struct Grouping {
  std::vector<Draft> drafts;         // in an order in which they can run
  std::vector<int> group_of;         // for each item; -1: inlined wherever it is read
  std::vector<bool> row_valued;      // for each item, within its group
  std::vector<const char*> refusal;  // for each item: why it did not join a consumer, or nullptr
};

Grouping group_items(const Region& region);

}  // namespace mt
