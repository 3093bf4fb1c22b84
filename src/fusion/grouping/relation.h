// SPDX-License-Identifier: Apache-2.0
// How values relate: whether a group's members read one element for element or row for row, and in
// which order a reduction reads its input.
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
// Whether item i reads something like the sum of its own row, made of the same elements that i
// reads (a softmax: exp(x) / sum(exp(x))): a group of rows then has everything at hand.
bool completes_rows(const GroupingState& state, int i);
// For each item: whether it has one value for each row of something reduced by rows, such as a mean
// or a deviation made from it. It then belongs with that reduction, whoever reads it.
std::vector<bool> finished_rows(const GroupingState& state);

// Whether item i reads, perhaps through element-wise operators, a value that the group iterates
// over: its rows are then worth having in the group.
bool shares_elements(const GroupingState& state, int i, int group);

}  // namespace mt
