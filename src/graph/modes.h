// SPDX-License-Identifier: Apache-2.0
// Modes of recording an operator: whether to remember how to differentiate it and, for debugging,
// whether to run it at once.
#pragma once

#include <atomic>

#include "base/thread.h"

namespace mt {

// Whether new nodes remember how to be differentiated; one flag a thread, true at first.
inline bool gradient_mode() { return current_thread().records_gradients; }
inline void set_gradient_mode(bool enabled) { current_thread().records_gradients = enabled; }
class GradientMode {
 public:
  explicit GradientMode(bool enabled) : previous_(gradient_mode()) { set_gradient_mode(enabled); }
  ~GradientMode() { set_gradient_mode(previous_); }
  GradientMode(const GradientMode&) = delete;

 private:
  bool previous_;
};

namespace detail {
inline constinit std::atomic<bool> runs_at_once{false};
}
// Eager mode runs every operator at its call; initially as MT_EAGER says, then as set.
inline bool eager_mode() { return detail::runs_at_once.load(std::memory_order_relaxed); }
void set_eager_mode(bool enabled);
// Eager, and fails at the first operator that makes a NaN; MT_EAGER=nan.
bool nan_check();
void set_nan_check(bool enabled);

}  // namespace mt
