// SPDX-License-Identifier: Apache-2.0
// Recording: how operators add nodes to the graph.
#pragma once

#include "graph/node.h"

namespace mt {

struct Thread;

// Records an operator whose shapes and dtypes have been checked. The inputs lie on one device,
// which is also the result's; operators without inputs are given it.
Tensor record(const Op& op, Dtype dtype, const Shape& shape, Inputs inputs,
              Attributes attributes = {}, const Immediates& immediates = {});
Tensor record_source(const Op& op, Dtype dtype, const Shape& shape, Device& device,
                     Attributes attributes = {}, const Immediates& immediates = {});
// Records a view. `layout` was made from view_layout(input).
Tensor record_view(const Op& op, const Tensor& input, const Layout& layout,
                   Attributes attributes = {});
// The layout that a view of `input` starts from: its elements within its storage or its base.
Layout view_layout(const Tensor& input);
// The base of a pending view; null for a view that is ready and for what is not a view.
Tensor base_of_view(const Tensor& tensor);

// Fast paths. A small operator takes about as long to record as to compute, so the commonest ones
// leave out the checks and moves that record() and record_view() need for the others.
//
// Element-wise: the operands lie on one device and need no conversion, and the result has the shape
// of the first, with elements that are no larger.
Tensor record_same_shape(const Op& op, Dtype dtype, const Tensor& x);
Tensor record_same_shape(const Op& op, Dtype dtype, const Tensor& a, const Tensor& b);
// Views: if the input is ready, and no gradient, trace or tape will ask where the view came from,
// the view is ready at once and nothing is recorded.
bool is_untracked(const Tensor& input, Thread& thread);
Tensor untracked_view(const Op& op, const Tensor& value, const Layout& layout,
                      Attributes&& attributes, Thread& thread);

// Records an operator whose value exists already. The inputs may lie on other devices.
Tensor record_value(const Op& op, Ref<Storage> storage, Dtype dtype, const Layout& layout,
                    Inputs inputs, Attributes attributes = {});

// A node for a value that exists already and was not computed from anything.
Tensor make_leaf(Ref<Storage> storage, Dtype dtype, const Layout& layout);

}  // namespace mt
