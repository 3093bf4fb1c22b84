// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/ahead.h"

#include <algorithm>

#include "backends/cpu/cache.h"
#include "base/rounding.h"

namespace mt::cpu {
namespace {

// A tile this large leaves the first-level cache no room for the next one, which is then prefetched
// to the second-level cache.
constexpr int64_t large_tile = first_cache / 4;
// How many bytes ahead a step that only reduces prefetches. With it, Zen 5 reads up to three times
// as fast; 4 KB gain half of that, and 16 KB slow down nearby memory by a tenth.
constexpr int64_t reading_ahead = 12 << 10;
constexpr int64_t short_row = 256;  // columns

int64_t bytes_of(const Segment& segment, const Memory& memory) {
  return segment.rows * segment.columns * static_cast<int64_t>(size_of(memory.dtype));
}

}  // namespace

bool is_slow(const Step& step) {
  if (step.is_slow) return true;
  if (!step.operate || step.instruction->code != Opcode::elementwise || step.in[0].repeated ||
      step.traversal == Traversal::row_values)
    return false;
  return info(static_cast<Elementwise>(step.instruction->detail)).domain == Domain::real;
}

std::vector<int16_t> streamed_by(const Program& program, const std::vector<Segment>& segments,
                                 const std::vector<Buffer>& buffers) {
  std::vector<int16_t> streamed;
  for (const Instruction& i : program.instructions) {
    const int16_t place = written_by(i);
    if (segments.size() > 1 || !may_stream(i) || i.row || place >= 0) continue;
    const Memory& memory = segments[0].memory[~place];
    bool fresh = buffers[memory.buffer].donor < 0;
    if (fresh && bytes_of(segments[0], memory) >= last_cache) {
      streamed.push_back(static_cast<int16_t>(~place));
    }
  }
  return streamed;
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
      if (buffers[memory.buffer].donor >= 0) continue;  // prefetched as an operand
      if (&segment == &segments[0] && ahead.size() < most_ahead) ahead.push_back(index);
    }
  }
  if (bytes <= second_cache) return;
  for (const Step& step : prepared->steps) {  // these prefetch what they read themselves
    if (!step.operate_all) continue;
    auto is_read = [&](int16_t index) { return step.reads(static_cast<int16_t>(~index)); };
    ahead.erase(std::remove_if(ahead.begin(), ahead.end(), is_read), ahead.end());
  }
  const auto is_long = [](const Step& step) { return step.is_long(); };
  const std::vector<Step>& steps = prepared->steps;
  prepared->long_steps = std::count_if(steps.begin(), steps.end(), is_long);
  // Rows that are only reduced are read faster than the hardware prefetches. But with a small
  // first-level cache, prefetching slows down short rows, which are reduced one by one.
  const bool foreseen = small_first_cache && segments[0].columns <= short_row;
  if (prepared->long_steps == 1 && !ahead.empty() && !foreseen) {
    for (Step& step : prepared->steps) {
      if (step.is_long() && step.instruction->code == Opcode::reduce) step.further = reading_ahead;
    }
  }
  // Any other single step reads sequentially, which the hardware prefetches, also if a copy past
  // the caches comes in between; a large first-level cache gets the next tile prefetched even then.
  const auto copies = static_cast<int64_t>(small_first_cache ? streamed.size() : 0);
  if (prepared->long_steps - copies < 2) return;
  const int64_t tile = prepared->tile_rows * segments[0].columns;
  const bool small_cache = small_first_cache && prepared->totals.empty();
  prepared->far_ahead = small_cache || tile * element_bytes(*prepared->program) >= large_tile;
  for (Step& step : prepared->steps) {
    if (ahead.empty() || !is_slow(step)) continue;
    step.fetched = ahead.front();  // what the next tile needs first
    ahead.erase(ahead.begin());
  }
  prepared->ahead = std::move(ahead);
  if (prepared->part > 0) {  // whose steps run once for each part
    const int64_t again = divide_up(segments[0].columns, prepared->part) - 1;
    prepared->long_steps += again * static_cast<int64_t>(steps.size() - prepared->first_in_parts);
  }
}

}  // namespace mt::cpu
