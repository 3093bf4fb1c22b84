// SPDX-License-Identifier: Apache-2.0
// What makes a tensor a leaf that requires a gradient.
#pragma once

#include <atomic>

#include "graph/state.h"

namespace mt {

// Where a leaf's gradient is collected. Shared by the handle and by the leaf's value.
class Variable : public Counted<Variable> {
 public:
  StateSlot gradient;

  // The handle is gone, so nobody can ask for the gradient any more. A pending gradient refers to
  // the leaf's value, and that to this object: unless the gradient is dropped, the cycle is never
  // freed.
  void abandon() {
    abandoned_ = true;
    gradient.drop();
  }
  bool abandoned() const { return abandoned_; }

 private:
  std::atomic<bool> abandoned_{false};
};

}  // namespace mt
