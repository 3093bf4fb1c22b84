// SPDX-License-Identifier: Apache-2.0
// Recording: how operators add nodes to the graph.
#pragma once

#include "graph/node.h"

namespace mt {

struct Thread;

// Records an operator whose shapes and dtypes have been checked. The inputs lie on one device,
// which is the result's; operators without inputs name it.
Tensor record(const Op& op, Dtype dtype, const Shape& shape, Inputs inputs,
              Attributes attributes = {}, const Immediates& immediates = {});
Tensor record_source(const Op& op, Dtype dtype, const Shape& shape, Device& device,
                     Attributes attributes = {}, const Immediates& immediates = {});
// Records a view. `layout` was made from view_layout(input).
Tensor record_view(const Op& op, const Tensor& input, const Layout& layout,
                   Attributes attributes = {});
// The same of a value in less time, where nobody will ask what it is a view of: no gradient is
// taken, no trace or tape recorded.
bool can_be_seen(const Tensor& input, Thread& thread);
Tensor see_value(const Op& op, const Tensor& value, const Layout& layout, Attributes&& attributes,
                 Thread& thread);
// The layout that a view of `input` starts from: its elements within its storage or its base.
Layout view_layout(const Tensor& input);

// Records an operator whose value exists already. The inputs may lie on other devices.
Tensor record_value(const Op& op, Ref<Storage> storage, Dtype dtype, const Layout& layout,
                    Inputs inputs, Attributes attributes = {});

// A value that exists already, and came from nowhere.
Tensor make_leaf(Ref<Storage> storage, Dtype dtype, const Layout& layout);

// Whether new nodes remember how to be differentiated; one flag a thread, true at first.
bool gradient_mode();
void set_gradient_mode(bool enabled);
class GradientMode {
 public:
  explicit GradientMode(bool enabled) : previous_(gradient_mode()) { set_gradient_mode(enabled); }
  ~GradientMode() { set_gradient_mode(previous_); }
  GradientMode(const GradientMode&) = delete;

 private:
  bool previous_;
};

// Eager mode runs every operator at its call; from MT_EAGER at start, then as set.
bool eager_mode();
void set_eager_mode(bool enabled);
// Eager, and fails at the first operator that makes a NaN; MT_EAGER=nan.
bool nan_check();
void set_nan_check(bool enabled);

}  // namespace mt
