// SPDX-License-Identifier: Apache-2.0
// How large the tiles of a program are, so that they stay in the first-level cache.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// How many rows share the steps over their own values, if there are many of these: as long as what
// a tile goes through, and of memory the next one's part, stays in the cache.
int64_t rows_together(const PreparedProgram& prepared, const Segment& segment, int64_t columns);

// How many elements a tile should have, at most `most`, where memory is more than the last-level
// cache keeps: as many as stay in the first one, in registers and of memory, of which it
// may hold the next tile's as well.
int64_t elements_in_cache(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                          const std::vector<Buffer>& buffers, int64_t most);

}  // namespace mt::cpu
