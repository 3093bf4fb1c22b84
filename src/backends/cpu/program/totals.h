// SPDX-License-Identifier: Apache-2.0
// Column totals of rows (ops/order.h): chains over the rows of a panel, whose results are combined
// pairwise.
#pragma once

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// The operator that adds an element to a chain.
Elementwise combiner(Reduction reduction);
// Fills `count` chains with the value that they begin with.
void fill_identity(Reduction reduction, Compute type, void* chains, int64_t count);
// Combines the results [0, count) of panels, of `width` elements each, into the first.
void combine_panels(Operator operate, char* panels, int64_t count, int64_t width, int64_t size);

// Runs a row group that has totals, panel by panel. `scratch` is run_program's.
void run_totals(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
                const Immediates* immediates, char* scratch);
// Bytes of scratch that run_totals() needs besides each worker's.
int64_t totals_bytes(const PreparedProgram& prepared, const Segment& segment);

}  // namespace mt::cpu
