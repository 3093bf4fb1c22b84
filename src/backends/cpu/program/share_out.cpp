// SPDX-License-Identifier: Apache-2.0
// Divides a program's tiles among workers: by rows, by panels, or as elements one after another.
#include <algorithm>

#include "backends/cpu/parallel/parallel.h"
#include "backends/cpu/program/program.h"
#include "backends/cpu/program/totals.h"
#include "backends/cpu/strided/panel.h"
#include "base/rounding.h"
#include "tensor/first_byte.h"

namespace mt::cpu {
namespace {

void run_rows(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
              const Immediates* immediates, char* scratch) {
  const int64_t tile = prepared.tile_rows;
  parallel_workers(
      segment.rows, prepared.grain, prepared.threads, [&](int worker, int64_t begin, int64_t end) {
        ProgramRun run(prepared, segment, buffers, immediates,
                       scratch + worker * prepared.scratch_bytes, std::min(tile, end - begin));
        for (int64_t row = begin, rows; row < end; row += rows) {
          // Operands read in pieces are evenly spaced only within whole tiles.
          rows = std::min(prepared.pieced.empty() ? tile : tile - row % tile, end - row);
          run.run(row, rows, std::min(tile, end - row - rows));
        }
      });
}

void run_panels(const PreparedProgram& prepared, const Segment& segment, void* const* buffers,
                const Immediates* immediates, char* scratch) {
  const PanelOrder& order = prepared.panels;
  const Memory& memory = segment.memory[static_cast<size_t>(order.memory)];
  const size_t size = size_of(memory.dtype);
  char* result = static_cast<char*>(buffers[memory.buffer]) + first_byte(memory);
  const int64_t width = std::min(prepared.tile_rows, order.width);
  int64_t at_once = 1;  // rows
  if (order.dense()) at_once = std::clamp<int64_t>(prepared.tile_rows / width, 1, order.together);
  const int64_t blocks = order.blocks_of_rows(), pieces = divide_up(order.columns, width);
  const int64_t grain =
      std::max<int64_t>(1, prepared.grain * prepared.tile_rows / (order.together * width));
  const int64_t items = order.outer * blocks * pieces;
  parallel_workers(items, grain, prepared.threads, [&](int worker, int64_t begin, int64_t end) {
    char* const panel = scratch + worker * prepared.scratch_bytes;
    char* const registers = panel + round_up(panel_bytes, cache_line);
    ProgramRun run(prepared, segment, buffers, immediates, registers, width * at_once);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t block = item / pieces, column = item % pieces * width;
      const int64_t row = block % blocks * order.together;
      const int64_t rows = std::min(order.together, order.rows - row);
      const int64_t columns = std::min(width, order.columns - column);
      const int64_t first = (block / blocks * order.rows + row) * order.columns + column;
      if (!order.of_result) run.read_panel(panel, first, rows, columns);
      for (int64_t r = 0; r < rows; r += at_once) {
        const int64_t from = first + r * order.columns;
        if (order.of_result) {
          // As large a share of the result's lines as these rows are of all rows.
          const int64_t done = r * columns / rows;
          const int64_t share = std::min(r + at_once, rows) * columns / rows - done;
          fetch_result(result, size, order, first + done, rows, share);
          run.move_memory(order.memory, panel + r * order.pitch() * static_cast<int64_t>(size),
                          from);
        }
        run.run(from, columns * std::min(at_once, rows - r));
      }
      if (order.of_result) {
        write_panel(result, panel, size, order, first, rows, columns);
      }
    }
  });
}

// The segments' elements one after another, divided in whole tiles.
void run_elements(const PreparedProgram& prepared, const std::vector<Segment>& segments,
                  void* const* buffers, const Immediates* immediates) {
  const int64_t tile = prepared.tile_rows;
  parallel_for(prepared.tiles, prepared.grain, [&](int64_t begin, int64_t end) {
    alignas(64) char registers[stack_registers];
    auto elements = [&](size_t s) { return segments[s].rows * segments[s].columns; };
    size_t s = 0;
    for (int64_t own; begin >= (own = divide_up(elements(s), tile)); ++s) begin -= own, end -= own;
    const int64_t most = segments.size() > 1 ? tile : std::min(tile, elements(s));
    ProgramRun run(prepared, segments[s], buffers, immediates, registers, most);
    while (true) {
      const int64_t count = elements(s), own = divide_up(count, tile), to = std::min(end, own);
      if (prepared.at_once) run.run(begin * tile, std::min(to * tile, count) - begin * tile);
      for (int64_t t = begin; t < to && !prepared.at_once; ++t) {
        int64_t first = t * tile, rows = std::min(tile, count - first);
        run.run(first, rows, t + 1 < to ? std::min(tile, count - first - rows) : 0);
      }
      begin = 0;
      end -= own;
      if (end <= 0) return;
      do ++s;
      while (elements(s) == 0);
      run.go_on(segments[s], prepared.same_numbers[s], tile);
    }
  });
}

}  // namespace

void run_program(const PreparedProgram& prepared, const FusedProgram& fused, void* const* buffers,
                 const Immediates* immediates, char* scratch) {
  const Segment& segment = prepared.segment_of(fused);
  switch (prepared.walk) {
    case Walk::elements: return run_elements(prepared, fused.segments, buffers, immediates);
    case Walk::panels: return run_panels(prepared, segment, buffers, immediates, scratch);
    case Walk::rows: return run_rows(prepared, segment, buffers, immediates, scratch);
    case Walk::totals: return run_totals(prepared, segment, buffers, immediates, scratch);
  }
}

}  // namespace mt::cpu
