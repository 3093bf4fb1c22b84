// SPDX-License-Identifier: Apache-2.0
// Prepares a reduction: its panels, the columns of a task, and how much is read at once.
#include <algorithm>

#include "backends/cpu/cache.h"
#include "backends/cpu/program/ahead.h"
#include "backends/cpu/program/join_steps.h"
#include "backends/cpu/program/reduce.h"
#include "backends/cpu/strided/panel.h"
#include "base/rounding.h"
#include "ops/order.h"

namespace mt::cpu {
namespace {

constexpr int64_t fewest_columns = 256;

// The elements are one long row to the program, whatever they mean to the reduction.
Segment flat(const Segment& segment) {
  Segment result = segment;
  result.rows = segment.rows * segment.columns;
  result.columns = 1;
  return result;
}

// Where an operand's rows lie side by side, several are read together, so that each cache line is
// used whole: panels of rows for sums down columns, else as many elements as a cache holds.
void hold_turned_rows(const ReduceGroup& group, PreparedReduction* prepared) {
  constexpr int64_t most = 8 * row_panel;
  PanelOrder order = panel_order(prepared->segment);
  if (order.memory < 0) return;
  if (!group.in_lanes && order.columns == group.inner) {
    prepared->held = order.together * group.inner;
    prepared->held_bytes = panel_bytes;
  } else if (group.in_lanes && order.columns * turned_rows <= most) {
    const Dtype dtype = prepared->segment.memory[static_cast<size_t>(order.memory)].dtype;
    prepared->held = round_up(order.columns * turned_rows, row_panel);
    prepared->held_bytes = prepared->held * static_cast<int64_t>(size_of(dtype));
    order.columns = 1;  // elements lie there one after another
  } else {
    return;
  }
  prepared->elements.panels = order;
}

// Whether elements of one memory are loaded and reduced, and nothing is computed.
bool only_loads(const ReduceGroup& group, const Segment& segment) {
  const std::vector<Instruction>& all = group.program.instructions;
  const std::vector<Memory>& memory = segment.memory;
  return all.size() == 2 && all[0].code == Opcode::load && memory.size() == 1 && !memory[0].row;
}

// The runs in which elements lie, if they are only reduced.
Runs find_runs(const ReduceGroup& group, const Segment& segment) {
  const std::vector<Memory>& memory = segment.memory;
  if (!only_loads(group, segment) || size_of(memory[0].dtype) != size_of(group.type)) return {};
  return runs_of(memory[0].layout, group.reduction);
}

}  // namespace

PreparedReduction prepare_reduction(const ReduceGroup& group, const std::vector<Buffer>& buffers) {
  int64_t size = static_cast<int64_t>(size_of(group.type));
  PreparedReduction prepared;
  prepared.segment = flat(group.segments[0]);
  prepared.elements = prepare_tiles(group.program, prepared.segment, reduced_tile,
                                    group.in_lanes ? Reduced::long_row : Reduced::columns);
  std::vector<Step>& steps = prepared.elements.steps;
  const bool is_one =
      steps.size() == 2 && steps[0].traversal == Traversal::flat && !steps[0].is_pair;
  if (group.in_lanes && is_one) {
    std::vector<Step> joined = steps;
    join_steps(&joined, true);
    if (joined.size() == 1) prepared.whole = joined[0];
  }
  if (steps.back().compact) (steps.size() == 1 ? prepared.whole : prepared.last) = steps.back();
  steps.pop_back();  // the reduction
  fetch_ahead({prepared.segment}, buffers, &prepared.elements);
  if (group.in_lanes) {
    prepared.runs = find_runs(group, prepared.segment);
  } else if (only_loads(group, prepared.segment) && group.reduction == Reduction::sum &&
             group.type == Compute::f32 && prepared.segment.memory[0].contiguous) {
    prepared.halves = column_sum_of_halves(prepared.segment.memory[0].dtype);
  }
  prepared.panel = group.in_lanes ? row_panel : column_panel(group.outer * group.inner);
  prepared.panels = std::max<int64_t>(1, divide_up(group.reduced, prepared.panel));
  hold_turned_rows(group, &prepared);
  // Narrower if there would otherwise not be one for each thread.
  int64_t others = std::max<int64_t>(1, group.outer * prepared.panels);
  int64_t wanted = divide_up<int64_t>(prepared.elements.threads, others);
  prepared.stretch =
      std::clamp(round_up(divide_up(group.inner, wanted), 64), fewest_columns, reduced_tile);
  if (prepared.held > 0)
    prepared.stretch = std::min(prepared.stretch, prepared.elements.panels.width);
  prepared.worker_bytes = prepared.elements.scratch_bytes + prepared.held_bytes;
  // A single panel's result is the reduction's, and no operand lies where that is written.
  const Dtype stored = group.output.dtype;
  const bool as_stored = compute_of(stored) == group.type && size_of(stored) == size_of(group.type);
  if (prepared.panels > 1 || !as_stored) {
    prepared.partial_bytes =
        round_up(group.outer * prepared.panels * group.inner * size, cache_line);
  }
  return prepared;
}

}  // namespace mt::cpu
