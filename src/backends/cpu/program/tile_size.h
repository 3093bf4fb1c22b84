// SPDX-License-Identifier: Apache-2.0
// Chooses how large a program's tiles are, so that they stay in the first-level cache.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// How many rows share the steps over row values, if there are many such steps: as long as a tile's
// working set, with the next tile's part of memory, stays in the cache.
int64_t rows_together(const PreparedProgram& prepared, const Segment& segment, int64_t columns);

// How many elements a tile should have, at most `most`, where memory exceeds the last-level cache:
// as many as fit in the first-level cache with their registers and memory, perhaps also the next
// tile's memory; of few steps, which wait for what they prefetch, fewer if that cache is small.
int64_t elements_in_cache(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                          const std::vector<Buffer>& buffers, int64_t most);

}  // namespace mt::cpu
