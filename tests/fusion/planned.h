// SPDX-License-Identifier: Apache-2.0
// The plan by which a tensor would be computed.
#pragma once

#include "fusion/planning/planner.h"
#include "fusion/select.h"
#include "graph/window.h"

namespace mt::testing {

inline Plan planned(const Tensor& y) {
  Region region;
  Plan plan;
  Window& window = Window::current();
  OwnerLock::Hold hold(window.lock, &current_thread());
  Tensor root = y;
  select(window, &root, 1);
  build_region(window, root.device(), &region);
  make_plan(region, &plan);
  return plan;
}

}  // namespace mt::testing
