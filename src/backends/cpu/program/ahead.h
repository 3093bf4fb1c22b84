// SPDX-License-Identifier: Apache-2.0
// Chooses which of a program's memory is prefetched and which is written past the caches.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Whether a step computes long enough to prefetch memory meanwhile.
bool is_slow(const Step& step);

// Fresh memory, larger than the last-level cache, that operators, conversions and copies write.
std::vector<int16_t> streamed_by(const Program& program, const std::vector<Segment>& segments,
                                 const std::vector<Buffer>& buffers);

// Chooses the memory to prefetch ahead of the tile that reads or writes it: what continues from
// tile to tile, if that is more than the second-level cache holds.
void fetch_ahead(const std::vector<Segment>& segments, const std::vector<Buffer>& buffers,
                 PreparedProgram* prepared);

}  // namespace mt::cpu
