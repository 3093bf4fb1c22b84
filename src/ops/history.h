// SPDX-License-Identifier: Apache-2.0
// Whether what is recorded may itself be differentiated: what a gradient asks that has a cheaper
// form whose value is right and whose derivative is not.
#pragma once

#include "graph/record.h"
#include "graph/window.h"

namespace mt {

inline bool keeps_history() { return gradient_mode() || Window::current().recording_tapes > 0; }

}  // namespace mt
