// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/program/tile_size.h"

#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/program/ahead.h"

namespace mt::cpu {
namespace {

// Rows, up to most_rows_together, share a tile from many_row_steps steps over row values on, or
// from many_results reductions and many_long_steps long steps, between which memory is prefetched.
constexpr int64_t many_row_steps = 4, many_results = 2, many_long_steps = 3;
constexpr int64_t most_rows_together = 4;
// Rows of a tile for a single step that itself goes row by row.
constexpr int64_t rows_one_by_one = 16;
// Elements of a tile for a step that passes over memory once.
constexpr int64_t most_of_pass = 16 << 10;
// How much of the first-level cache, where addresses decide the place of data, a tile may take:
// measured with AdamW.
constexpr int64_t room_in_cache = first_cache;
// Tiles of each memory in the cache: the current one and, if there is room (ahead.cpp), the next.
int64_t held_tiles() { return small_first_cache ? 1 : 2; }
// With fewer steps a tile is read and written as fast as possible anyway. But each of them
// prefetches much of the next tile at once, and so waits for it, where the tile is longer than
// few_elements and goes to the second-level cache.
constexpr size_t few_steps = 4;
constexpr int64_t few_elements = 512;

// Whether a single step goes over all elements, and reads and writes none of them in registers.
bool is_one_pass(const std::vector<Step>& steps) {
  const auto is_long = [](const Step& step) { return step.is_long(); };
  if (std::count_if(steps.begin(), steps.end(), is_long) != 1) return false;
  const Step& step = *std::find_if(steps.begin(), steps.end(), is_long);
  const bool reduces = step.instruction->code == Opcode::reduce;
  return step.operate && (reduces || step.out < 0) &&
         std::all_of(step.in, step.in + 4,
                     [](const Source& in) { return in.place < 0 || in.repeated; });
}

}  // namespace

int64_t rows_together(const PreparedProgram& prepared, const Segment& segment, int64_t columns) {
  auto of_rows = [](const Step& step) { return !step.is_long(); };
  auto is_result = [](const Step& step) { return step.instruction->code == Opcode::reduce; };
  const std::vector<Step>& steps = prepared.steps;
  if (steps.size() == 1 && steps[0].operate_all) return rows_one_by_one;
  if (is_one_pass(steps)) return std::clamp<int64_t>(most_of_pass / columns, 1, rows_one_by_one);
  const auto row_steps = std::count_if(steps.begin(), steps.end(), of_rows);
  const auto results = std::count_if(steps.begin(), steps.end(), is_result);
  const auto long_steps = static_cast<int64_t>(steps.size()) - row_steps;
  const bool waits = results >= many_results && long_steps >= many_long_steps;
  if (row_steps < many_row_steps && !waits) return 1;
  std::vector<int16_t> own, shared;  // each row's, and those that are the same for all
  for (const Step& step : steps) {
    if (of_rows(step)) continue;
    auto add = [&](const Source& in) {
      if (!in.repeated && in.place != no_place) (in.pitch == 0 ? shared : own).push_back(in.place);
    };
    std::for_each(std::begin(step.in), std::end(step.in), add);
    std::for_each(step.all.begin(), step.all.end(), add);
    if (step.out < 0) own.push_back(step.out);
  }
  auto bytes_of = [&](std::vector<int16_t>& places) {
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    int64_t bytes = 0;
    for (int16_t place : places) {
      const bool in_memory = place < 0;
      bytes += in_memory
                   ? held_tiles() * static_cast<int64_t>(size_of(segment.memory[~place].dtype))
                   : element_bytes(*prepared.program);
    }
    return bytes * columns;
  };
  const int64_t all = bytes_of(shared), row = std::max<int64_t>(bytes_of(own), 1);
  // Two rows pay even if they need the second-level cache, unless the first one is small and no
  // step computes long enough meanwhile, and more of it beside kernels that go over rows by
  // themselves, as those of a layer norm's gradient do.
  const bool joined = std::any_of(steps.begin(), steps.end(),
                                  [](const Step& step) { return step.operate_all != nullptr; });
  const bool waits_on_second =
      small_first_cache && std::none_of(steps.begin(), steps.end(), is_slow);
  const int64_t room = (waits_on_second ? 1 : joined && !small_first_cache ? 3 : 2) * first_cache;
  const bool two = all + 2 * row <= room;
  return std::clamp<int64_t>((first_cache - all) / row, two ? 2 : 1, most_rows_together);
}

int64_t elements_in_cache(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                          const std::vector<Buffer>& buffers, int64_t most) {
  const Program& program = *prepared.program;
  const bool few = prepared.steps.size() < few_steps;
  if (few && !small_first_cache) return most;
  int64_t bytes = 0, of_element = (program.registers - program.once) * element_bytes(program);
  for (const Segment& segment : segments) {
    for (const Memory& memory : segment.memory) {
      if (memory.buffer < 0 || !memory.contiguous) continue;
      bytes += segment.rows * segment.columns * static_cast<int64_t>(size_of(memory.dtype));
      const bool again = buffers[memory.buffer].donor >= 0;
      if (&segment == &segments[0] && !again) {
        of_element += held_tiles() * static_cast<int64_t>(size_of(memory.dtype));
      }
    }
  }
  if (bytes <= last_cache || of_element == 0) return most;
  if (few) most = std::min(most, few_elements);
  return std::clamp<int64_t>(room_in_cache / of_element / 64 * 64, 256, most);
}

}  // namespace mt::cpu
