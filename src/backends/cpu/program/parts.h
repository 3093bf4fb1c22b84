// SPDX-License-Identifier: Apache-2.0
// Runs the last steps of a program over long rows, those after all reductions, on one part of a row
// after another: what they pass to each other then stays in the first-level cache.
#pragma once

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Finds these steps, if there are several, in a program whose tiles are single rows.
void find_parts(const Segment& segment, PreparedProgram* prepared);

}  // namespace mt::cpu
