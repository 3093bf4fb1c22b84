// SPDX-License-Identifier: Apache-2.0
// What of a program's memory is fetched before it is read, and what is written past the caches.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

// Fresh memory, more of it than the last cache keeps, that operators, conversions and copies write.
std::vector<int16_t> streamed_by(const Program& program, const std::vector<Segment>& segments,
                                 const std::vector<Buffer>& buffers);

// Chooses what is fetched ahead of the tile that reads or writes it: what goes on from tile to
// tile, if it is more than the second-level cache keeps.
void fetch_ahead(const std::vector<Segment>& segments, const std::vector<Buffer>& buffers,
                 PreparedProgram* prepared);

}  // namespace mt::cpu
