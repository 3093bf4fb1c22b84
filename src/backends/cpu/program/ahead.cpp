// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/ahead.h"

#include <algorithm>

namespace mt::cpu {
namespace {

constexpr int64_t second_cache = 2 << 20;  // bytes beyond which memory is fetched ahead
// Bytes of a tile of which the first-level cache has no room for the next one's.
constexpr int64_t large_tile = 8 << 10;
// Bytes of that cache that a tile may take, as memory's parts are placed in it by their addresses.
constexpr int64_t room_in_cache = 21 << 10;
// Steps, of which there are so few that a tile is read and written as fast as can be anyway.
constexpr size_t few_steps = 4;

int64_t bytes_of(const Segment& segment, const Memory& memory) {
  return segment.rows * segment.columns * static_cast<int64_t>(size_of(memory.dtype));
}

// Whether a step has the time to fetch memory while it computes.
bool is_slow(const Step& step) {
  if (step.is_slow) return true;
  if (!step.operate || step.instruction->code != Opcode::elementwise || step.in[0].repeated ||
      step.extent == Extent::row_values)
    return false;
  return info(static_cast<Elementwise>(step.instruction->detail)).domain == Domain::real;
}

}  // namespace

std::vector<int16_t> streamed_by(const Program& program, const std::vector<Segment>& segments,
                                 const std::vector<Buffer>& buffers) {
  std::vector<int16_t> streamed;
  for (const Instruction& i : program.instructions) {
    const int16_t place = written_by(i);
    if (segments.size() > 1 || !may_stream(i) || i.row || place >= 0) continue;
    const Memory& memory = segments[0].memory[static_cast<size_t>(~place)];
    bool fresh = buffers[static_cast<size_t>(memory.buffer)].donor < 0;
    if (fresh && bytes_of(segments[0], memory) >= last_cache) {
      streamed.push_back(static_cast<int16_t>(~place));
    }
  }
  return streamed;
}

int64_t elements_in_cache(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                          const std::vector<Buffer>& buffers, int64_t most) {
  const Program& program = *prepared.program;
  if (prepared.steps.size() < few_steps) return most;
  int64_t bytes = 0, of_element = (program.registers - program.once) * (program.wide ? 8 : 4);
  for (const Segment& segment : segments) {
    for (const Memory& memory : segment.memory) {
      if (memory.buffer < 0 || !memory.contiguous) continue;
      bytes += bytes_of(segment, memory);
      const bool again = buffers[static_cast<size_t>(memory.buffer)].donor >= 0;
      if (&segment == &segments[0] && !again) {
        of_element += 2 * static_cast<int64_t>(size_of(memory.dtype));
      }
    }
  }
  if (bytes <= last_cache || of_element == 0) return most;
  return std::clamp<int64_t>(room_in_cache / of_element / 64 * 64, 256, most);
}

void fetch_ahead(const std::vector<Segment>& segments, const std::vector<Buffer>& buffers,
                 PreparedProgram* prepared) {
  std::vector<int16_t> ahead;
  const std::vector<int16_t>& streamed = prepared->streamed;
  int64_t bytes = 0;
  for (const Segment& segment : segments) {
    for (size_t m = 0; m < segment.memory.size(); ++m) {
      const Memory& memory = segment.memory[m];
      if (memory.buffer < 0 || !memory.contiguous || memory.row) continue;
      bytes += bytes_of(segment, memory);
      auto index = static_cast<int16_t>(m);
      if (std::find(streamed.begin(), streamed.end(), index) != streamed.end()) continue;
      if (buffers[static_cast<size_t>(memory.buffer)].donor >= 0)
        continue;  // the operand's, fetched
      if (&segment == &segments[0] && ahead.size() < most_ahead) ahead.push_back(index);
    }
  }
  if (bytes <= second_cache) return;
  prepared->long_steps = std::count_if(prepared->steps.begin(), prepared->steps.end(),
                                       [](const Step& s) { return s.is_long(); });
  // A single step reads on and on, as the processor itself foresees.
  if (prepared->long_steps < 2) return;
  const int64_t tile = prepared->tile_rows * segments[0].columns;
  prepared->far_ahead = tile * (prepared->program->wide ? 8 : 4) >= large_tile;
  for (Step& step : prepared->steps) {
    if (ahead.empty() || !is_slow(step)) continue;
    step.fetched = ahead.front();  // what the next tile needs first
    ahead.erase(ahead.begin());
  }
  prepared->ahead = std::move(ahead);
}

}  // namespace mt::cpu
