// SPDX-License-Identifier: Apache-2.0
// From a group of items to the program that computes them.
#pragma once

#include "fusion/grouping/grouping.h"

namespace mt {

// Where each item's value lies in the plan: an index into Plan::buffers, or -1.
using BufferOf = std::vector<int>;

// Fills in the group's kind, program, segment and operands. `buffer_of_leaf[l]` and
// `buffer_of_item[i]` are buffers; an item without one lives in registers only.
Group lower(const Region& region, const Grouping& grouping, const Draft& draft,
            const BufferOf& buffer_of_leaf, const BufferOf& buffer_of_item);

// A group of one item: a contraction, or an operator that runs alone.
Group lower_alone(const Region& region, int item, const BufferOf& buffer_of_leaf,
                  const BufferOf& buffer_of_item);

}  // namespace mt
