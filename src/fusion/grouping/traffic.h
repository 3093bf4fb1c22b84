// SPDX-License-Identifier: Apache-2.0
// Bytes that groups move: what grouping reduces, and what plans are compared by.
#pragma once

#include <vector>

#include "fusion/grouping/grouping.h"

namespace mt {

// Whether an item's value goes to memory when it is computed along with `items`, which are sorted
// and hold it: it is stored, or something else reads it.
bool is_written(const Region& region, const Readers& readers, const std::vector<int>& items, int i);

// What a group of these items reads from memory and writes to it, each value once.
int64_t bytes_moved(const Region& region, const Readers& readers, const std::vector<int>& items);

// The items of a group, sorted, including the contraction whose epilogue it is.
std::vector<int> members(const ItemGroup& group);

// Bytes moved by all groups of a region, and by one operator at a time.
int64_t bytes_of_groups(const Region& region, const Grouping& grouping);
int64_t bytes_one_by_one(const Region& region);

}  // namespace mt
