// SPDX-License-Identifier: Apache-2.0
// What of a program's memory is fetched before it is read, and what is written past the caches.
#pragma once

#include <vector>

#include "backends/cpu/program/program.h"

namespace mt::cpu {

constexpr int64_t last_cache = 32 << 20;  // bytes of a result that is written past the caches

// Fresh memory, more of it than the last cache keeps, that operators, conversions and copies write.
std::vector<int16_t> streamed_by(const Program& program, const std::vector<Segment>& segments,
                                 const std::vector<Buffer>& buffers);

// How many elements a tile should have, at most `most`, where memory is more than the last cache
// keeps: as many as stay in the first one, in registers and, the next tile's as well, of memory.
int64_t elements_in_cache(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                          const std::vector<Buffer>& buffers, int64_t most);

// Chooses what is fetched ahead of the tile that reads or writes it: what goes on from tile to
// tile, if it is more than the second cache keeps.
void fetch_ahead(const std::vector<Segment>& segments, const std::vector<Buffer>& buffers,
                 PreparedProgram* prepared);

}  // namespace mt::cpu
