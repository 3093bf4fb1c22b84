// SPDX-License-Identifier: Apache-2.0
// From a group of items to the program that computes them.
#pragma once

#include "fusion/grouping/grouping.h"

namespace mt {

// Where each item's value lies in the plan: an index into Plan::buffers, or -1.
using BufferOf = std::vector<int>;

// A group that runs a program: a map, rows or a reduction. `buffer_of_leaf[l]` and
// `buffer_of_item[i]` are buffers; an item without one lives in registers only.
Group lower(const Region& region, const Grouping& grouping, const ItemGroup& group,
            const BufferOf& buffer_of_leaf, const BufferOf& buffer_of_item);

// Groups of one item: a contraction, and an operator that runs alone.
ContractGroup lower_contraction(const Region& region, int item, const BufferOf& buffer_of_leaf,
                                const BufferOf& buffer_of_item);
CallGroup lower_call(const Region& region, int item, const BufferOf& buffer_of_leaf,
                     const BufferOf& buffer_of_item);

}  // namespace mt
