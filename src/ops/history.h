// SPDX-License-Identifier: Apache-2.0
// Whether what is recorded may itself be differentiated: what a gradient asks that has a cheaper
// form whose value is right and whose derivative is not.
#pragma once

#include "graph/modes.h"
#include "graph/window.h"

namespace mt {

// A trace's own tape asks for none: what is recorded must be what plain calls compute.
inline bool keeps_history() {
  const Thread& thread = current_thread();
  return thread.records_gradients || Window::current().recording_tapes > (thread.trace ? 1 : 0);
}

}  // namespace mt
