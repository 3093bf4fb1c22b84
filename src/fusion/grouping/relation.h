// SPDX-License-Identifier: Apache-2.0
// How values lie to each other: what a group's members read element for element or row for row, and
// the order in which a reduction goes through its input.
#pragma once

#include "fusion/grouping/grouping_state.h"

namespace mt {

// How a consumer in a group reads an item.
enum class Relation { none, element, row };
Relation relation(const GroupingState& state, const ItemGroup& group, int i, const Use& use);

// Whether everything item i reads can be addressed over `iteration`.
bool fits(const GroupingState& state, int i, const Shape& iteration);

// The iteration of a reduction: kept dimensions, then reduced ones; but kept ones that come last
// stay last, so that memory is read in order.
struct ReductionShape {
  Shape outer, reduced, inner;
  Dims permutation;  // empty when the input's own order serves
};
ReductionShape reduction_shape(const GroupingState& state, int i);

// Whether item i is computed from reductions of rows of `columns` elements.
bool comes_from_rows(const GroupingState& state, int i, int64_t columns);
// Whether item i reads something like the sum of its own row, made of the very elements that i
// reads (a softmax: exp(x) / sum(exp(x))): a group of rows then has all of it at hand.
bool completes_rows(const GroupingState& state, int i);
// For each item whether it has one value for each row of something that is reduced to rows, as a
// mean is and a deviation made of it: then it belongs with that, whoever reads it.
std::vector<bool> finished_rows(const GroupingState& state);

// Whether item i, or something that it is computed from element by element, is among the values
// that a group goes through: then its rows are worth having in the group.
bool shares_elements(const GroupingState& state, int i, int group);

}  // namespace mt
